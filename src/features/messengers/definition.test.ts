import { textDeltaFromStreamChunk } from "./reply-text.ts";
import { expect, test } from "vitest";
import type { ChatAdapter } from "./chat-adapter.ts";
import { normalizeMessengers, type MessengerDefinition } from "./definition.ts";
import {
  defaultConversationName,
  idempotencyKeyForEvent,
  serializableMessengerEvent,
  toMessengerUserMessage
} from "./event.ts";
import type { MessengerEvent } from "./event.ts";
import { chatSdkMessenger } from "./messenger.ts";
import { splitterOf } from "./delivery-policy.ts";
import { splitMarkdown } from "./split.ts";

const adapter = { name: "fake" } as ChatAdapter;
const fake: MessengerDefinition = { adapter, provider: "fake", userName: "bot", verifyWebhook: false };

test("a definition without options has the documented defaults", () => {
  expect(normalizeMessengers({ fake })[0]).toMatchObject({
    path: "/messengers/fake/webhook",
    respondTo: ["direct-message", "mention"],
    subscribeOnMention: true,
    adapterName: "fake"
  });
});

test.each([
  [{ a: { ...fake, path: "x" } }, 'path must start with "/"'],
  [{ a: { ...fake, path: "/x?y" } }, "must not include query or hash"],
  [{ a: fake, b: fake }, "Duplicate messenger adapter name: fake"],
  [{ a: { ...fake, path: "/x" }, b: { ...fake, path: "/x", adapterName: "b" } }, "Duplicate messenger path"]
])("%o is refused", (messengers, problem) => {
  expect(() => normalizeMessengers(messengers)).toThrow(problem);
});

test("chatSdkMessenger without verifyWebhook throws, with false it does not", () => {
  const { verifyWebhook: _none, ...rest } = fake;
  expect(() => chatSdkMessenger(rest as MessengerDefinition)).toThrow("requires verifyWebhook");
  expect(() => chatSdkMessenger(fake)).not.toThrow();
});

const event: MessengerEvent = {
  kind: "action",
  messengerId: "telegram",
  provider: "telegram",
  capabilities: {},
  thread: { id: "telegram:-100123:42", providerThreadId: "telegram:-100123:42", isDirectMessage: false },
  action: { actionId: "approve", messageId: "source-message", value: "ship-it", user: { userId: "user-1" } }
};

test("names and keys are those of the documentation, and two users have two keys", () => {
  expect(defaultConversationName(event)).toBe("messenger:telegram:telegram:-100123:42");
  expect(idempotencyKeyForEvent(event)).toBe(
    "messenger:telegram:message:telegram:-100123:42:action:source-message:approve:user-1:ship-it"
  );
  const other = { ...event, action: { ...event.action!, user: { userId: "user-2" } } };
  expect(idempotencyKeyForEvent(other)).not.toBe(idempotencyKeyForEvent(event));
});

test("a group message names its author and lists its attachments; a direct message has no name", () => {
  const message = {
    id: "1",
    providerMessageId: "1",
    text: " Look ",
    author: { userId: "1", fullName: "Ada Lovelace" },
    attachments: [
      { name: "plan.pdf", mediaType: "application/pdf", size: 12, fetch: async () => new ArrayBuffer(0), raw: {} }
    ]
  };
  const { action: _action, ...rest } = event;
  const group: MessengerEvent = { ...rest, kind: "mention", message };
  const texts = (one: MessengerEvent) => toMessengerUserMessage([one]).parts;
  expect(texts(group)).toEqual([
    { type: "text", text: "Ada Lovelace: Look\n\nAttachments:\n- plan.pdf (application/pdf, 12 bytes)" }
  ]);
  expect(toMessengerUserMessage(group)).toEqual(toMessengerUserMessage([group]));
  const direct = { ...group, thread: { ...group.thread, isDirectMessage: true } };
  expect(texts(direct)).toEqual([{ type: "text", text: expect.stringMatching(/^Look/) as string }]);
  const stored = serializableMessengerEvent({ ...group, raw: { secret: 1 } });
  expect(JSON.parse(JSON.stringify(stored))).toEqual(stored);
  expect(JSON.stringify(stored)).not.toMatch(/raw|fetch"/);
});

test("the text of a chunk is read off its JSON and off the object; of other chunks there is none", () => {
  const chunk = { type: "text-delta", id: "1", delta: "hello" };
  expect([textDeltaFromStreamChunk(JSON.stringify(chunk)), textDeltaFromStreamChunk(chunk)]).toEqual([
    "hello",
    "hello"
  ]);
  for (const other of ["{", "null", '{"type":"finish"}', { type: "finish" }, []]) {
    expect(textDeltaFromStreamChunk(other)).toBeUndefined();
  }
});

test("with a soft limit of 2 and a splitText that returns its input, hello is he and llo", () => {
  expect(splitterOf({ visibleSoftLimit: 2, splitText: (text) => [text] })("hello")).toEqual(["he", "llo"]);
});

test("a code block that is cut is closed and opened again, and the first messages do not change as text grows", () => {
  const long = `Intro\n\n\`\`\`ts\n${"const a = 1;\n".repeat(30)}\`\`\`\n\nEnd.`;
  const pieces = splitMarkdown(long, { first: 150, next: 150 });
  for (const piece of pieces) expect((piece.match(/```/g) ?? []).length % 2).toBe(0);
  const earlier = splitMarkdown(long.slice(0, 320), { first: 150, next: 150 });
  expect(pieces.slice(0, earlier.length - 1)).toEqual(earlier.slice(0, -1));
});
