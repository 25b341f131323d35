// How far a reply got, as data that survives a restart, and what follows from it. This is for code that delivers replies in a
// fiber of its own with `deliverMessengerReply`. The package's own messengers keep it in the reply's row.
import type { DeliveryTag } from "../channels/channels.ts";
import { isObject } from "../../util/json.ts";
import { serializableMessengerEvent, type MessengerEvent } from "./event.ts";

/** The name of the fiber, and the type of its snapshots. */
export const MESSENGER_REPLY_FIBER_NAME = "think:messenger-reply";

export type MessengerReplyStage = "accepted" | "streaming" | "completed";

export interface MessengerReplySnapshot {
  readonly type: typeof MESSENGER_REPLY_FIBER_NAME;
  readonly stage: MessengerReplyStage;
  readonly event: MessengerEvent;
  /** The Chat SDK thread's JSON form. */
  readonly thread?: unknown;
  readonly tag: DeliveryTag;
}

export function defaultDeliveryTag(stage: MessengerReplyStage): DeliveryTag {
  const isOver = stage === "completed";
  return { stage, kind: isOver ? "final" : "interim", turnEnded: isOver };
}

export function messengerReplySnapshot(
  stage: MessengerReplyStage,
  event: MessengerEvent,
  { thread, tag }: { readonly thread?: unknown; readonly tag?: DeliveryTag } = {}
): MessengerReplySnapshot {
  return {
    type: MESSENGER_REPLY_FIBER_NAME,
    stage,
    event: serializableMessengerEvent(event),
    thread,
    tag: tag ?? defaultDeliveryTag(stage)
  };
}

const STAGES: readonly unknown[] = ["accepted", "streaming", "completed"];

/** Reads a stored snapshot. Null: it is none. */
export function parseMessengerReplySnapshot(value: unknown): MessengerReplySnapshot | null {
  if (!isObject(value) || value["type"] !== MESSENGER_REPLY_FIBER_NAME) return null;
  const { stage, event, thread, tag } = value;
  if (!STAGES.includes(stage) || !isObject(event)) return null;
  // Written by `messengerReplySnapshot`, as its type says.
  const known = { stage: stage as MessengerReplyStage, event: event as object as MessengerEvent };
  const kept = isObject(tag) ? (tag as object as DeliveryTag) : undefined;
  return messengerReplySnapshot(known.stage, known.event, { thread, tag: kept });
}

/** Says what a restart does with a reply that was cut off. */
export function messengerReplyRecoveryMode(snapshot: {
  readonly stage: MessengerReplyStage;
}): "answer" | "apologize" | "complete" {
  switch (snapshot.stage) {
    case "accepted":
      return "answer";
    case "streaming":
      return "apologize";
    case "completed":
      return "complete";
  }
}

/** Says which text is posted when a reply fails. */
export function messengerReplyFailureMode(
  hasText: boolean,
  turnCompleted: boolean,
  expected: boolean
): "none" | "error" | "interrupted" {
  if (expected) return "none";
  return hasText && !turnCompleted ? "interrupted" : "error";
}
