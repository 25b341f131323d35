// What the user asks for, as requests: a new message, an edited message, another answer. Pure.
import type { UIMessage } from "ai";
import { UnknownTargetError } from "./errors.ts";
import type { RequestFrame } from "./frames.ts";

export type MessageInput = string | UIMessage["parts"];

export interface PlannedRequest {
  readonly trigger: RequestFrame["trigger"];
  /** Only what is new, or what it is about: the server has the rest. */
  readonly posted: readonly UIMessage[];
  /** Shown at once. */
  readonly shown: readonly UIMessage[];
  readonly replacesFrom: string | undefined;
}

export function planSend(id: string, input: MessageInput): PlannedRequest {
  const message: UIMessage = { id, role: "user", parts: partsOf(input) };
  return { trigger: "submit-message", posted: [message], shown: [message], replacesFrom: undefined };
}

/** The message gets other words; what followed it becomes a branch beside the new answer. */
export function planEdit(messages: readonly UIMessage[], messageId: string, input: MessageInput): PlannedRequest {
  const before = messages.find(({ id, role }) => id === messageId && role === "user");
  if (before === undefined) throw new UnknownTargetError("user message", messageId);
  const message = { ...before, parts: partsOf(input) };
  return { trigger: "submit-message", posted: [message], shown: [message], replacesFrom: messageId };
}

/** Another answer to the same question, beside the one there is. Without an id: to the last one. */
export function planRegenerate(messages: readonly UIMessage[], messageId: string | undefined): PlannedRequest {
  const index = messageId === undefined ? messages.length - 1 : messages.findIndex(({ id }) => id === messageId);
  const asked = messages.findLastIndex(({ role }, place) => place <= index && role === "user");
  const question = messages[asked];
  if (question === undefined) throw new UnknownTargetError("message to answer again", messageId);
  return {
    trigger: "regenerate-message",
    posted: [question],
    shown: [],
    replacesFrom: messages[asked + 1]?.id
  };
}

function partsOf(input: MessageInput): UIMessage["parts"] {
  return typeof input === "string" ? [{ type: "text", text: input }] : input;
}
