import { expect, test } from "vitest";
import type { ReplyAttachment } from "./actions.ts";
import { renderAttachment } from "./actions.ts";

test.each<[ReplyAttachment, string | undefined]>([
  [{ type: "card", title: "A" }, '```json\n{\n  "type": "card",\n  "title": "A"\n}\n```'],
  [
    { type: "email_draft", to: ["a@x.example", "b@x.example"], subject: "Hi" },
    "To: a@x.example, b@x.example\nSubject: Hi"
  ],
  [{ type: "email_draft", to: "a@x.example", cc: [], body: "Text" }, "To: a@x.example\n\nText"],
  [{ type: "email_draft", to: [1, null], subject: {} }, undefined],
  [{ type: "voice_note", url: "x" }, undefined],
  [{ type: "custom" }, undefined]
])("%j has the text it should have", (attachment, text) => {
  expect(renderAttachment(attachment)).toBe(text);
});
