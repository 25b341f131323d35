// Where a conversation's newest question came from: the messenger's own note on the stored message.
import type { UIMessage } from "ai";
import { isObject } from "../../util/json.ts";
import type { MessengerOrigin } from "./channels.ts";

export interface OriginSources {
  readonly transcript: { messages(): readonly UIMessage[]; get(messageId: string): UIMessage | undefined };
  readonly turns: { current(): { readonly questionId: string | undefined } | undefined };
}

/** Inside a turn that of its own question, whatever others have added; outside, that of the newest message. */
export function messengerOriginOf({ transcript, turns }: OriginSources): MessengerOrigin | undefined {
  const turn = turns.current();
  if (!turn) return originOf(transcript.messages().at(-1));
  return turn.questionId === undefined ? undefined : originOf(transcript.get(turn.questionId));
}

function originOf(message: UIMessage | undefined): MessengerOrigin | undefined {
  const stored: unknown = isObject(message?.metadata) ? message.metadata["messenger"] : undefined;
  if (!isObject(stored) || !isObject(stored["thread"]) || typeof stored["messengerId"] !== "string") return undefined;
  // Reserved: clients cannot set it, so what is there is what the messenger stored.
  return stored as object as MessengerOrigin;
}

/** The question with the note that `messengerOriginOf` reads. */
export function ofMessenger(message: UIMessage, context: MessengerOrigin): UIMessage {
  return { ...message, metadata: { ...(isObject(message.metadata) && message.metadata), messenger: context } };
}
