import { expect, test } from "vitest";
import type { ReplyAttachment } from "../../feature/approval-contract.ts";
import type { ChannelText } from "../../feature/channel-text.ts";
import { renderAttachment } from "./render-attachment.ts";

const card = { type: "card" as const, title: "A", children: [{ type: "text", content: "B" }] };
const fenced = (value: object) => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;

test.each<[ReplyAttachment, ChannelText | undefined]>([
  [{ type: "card", payload: { a: [1] } }, { markdown: fenced({ a: [1] }) }],
  [{ type: "card", title: "A" }, { markdown: fenced({ type: "card", title: "A" }) }],
  [
    { type: "card", payload: card },
    { markdown: fenced(card), card }
  ],
  [card, { markdown: fenced(card), card }],
  [
    { type: "email_draft", to: ["a@x.example", "b@x.example"], subject: "Hi" },
    { markdown: "**Email draft**\n\nTo: a@x.example, b@x.example\nSubject: Hi" }
  ],
  [
    { type: "email_draft", to: "a@x.example", cc: [], body: "Text" },
    { markdown: "**Email draft**\n\nTo: a@x.example\n\nText" }
  ],
  [{ type: "email_draft", to: [1, null], subject: {} }, undefined],
  [{ type: "voice_note", url: "x" }, undefined],
  [{ type: "custom" }, undefined]
])("%j has the text it should have", (attachment, text) => {
  expect(renderAttachment(attachment)).toEqual(text);
});
