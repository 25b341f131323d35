import { expect, test } from "vitest";
import type { MessengerEvent } from "./event.ts";
import {
  messengerReplyFailureMode,
  messengerReplyRecoveryMode,
  messengerReplySnapshot,
  parseMessengerReplySnapshot
} from "./reply-snapshot.ts";

const EVENT: MessengerEvent = {
  kind: "direct-message",
  messengerId: "own",
  provider: "own",
  capabilities: {},
  thread: { id: "own:1", providerThreadId: "own:1", isDirectMessage: true },
  message: { id: "m1", providerMessageId: "m1", text: "Hello", author: { userId: "7" }, attachments: [] },
  raw: { secret: () => undefined }
};

test("snapshots survive JSON without what the provider sent, and fill in their tag", () => {
  const stored: unknown = JSON.parse(JSON.stringify(messengerReplySnapshot("streaming", EVENT)));
  const { raw: _raw, ...event } = EVENT;
  expect(parseMessengerReplySnapshot(stored)).toEqual({
    type: "think:messenger-reply",
    stage: "streaming",
    event,
    tag: { stage: "streaming", kind: "interim", turnEnded: false }
  });
  const custom = { stage: "done", kind: "command", turnEnded: true } as const;
  expect(parseMessengerReplySnapshot({ ...(stored as object), tag: custom })?.tag).toEqual(custom);
});

test.each([
  [{ type: "other" }],
  [{ type: "think:messenger-reply", stage: "lost", event: {} }],
  [{ type: "think:messenger-reply", stage: "accepted" }],
  [undefined]
])("%j is no snapshot", (value) => expect(parseMessengerReplySnapshot(value)).toBeNull());

test("snapshots say what a restart does, and what a failure says", () => {
  const stages = ["accepted", "streaming", "completed"] as const;
  expect(stages.map((stage) => messengerReplyRecoveryMode({ stage }))).toEqual(["answer", "apologize", "complete"]);
  expect([
    messengerReplyFailureMode(true, true, true),
    messengerReplyFailureMode(true, true, false),
    messengerReplyFailureMode(true, false, false),
    messengerReplyFailureMode(false, false, false)
  ]).toEqual(["none", "error", "interrupted", "error"]);
});
