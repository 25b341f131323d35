// Where a conversation's newest question came from: the messenger's own note on the stored message.
import type { UIMessage } from "ai";
import type { ChatServices } from "../../feature/services.ts";
import { isObject } from "../../util/json.ts";
import type { MessengerOrigin } from "./channels.ts";

/** The origin of the running turn's own question, whatever others have added; outside a turn, that of the newest message. */
export function messengerOriginOf({
  transcript,
  turns
}: Pick<ChatServices, "transcript" | "turns">): MessengerOrigin | undefined {
  const turn = turns.current();
  if (!turn) return originOf(transcript.messages().at(-1));
  return turn.questionId === undefined ? undefined : originOf(transcript.get(turn.questionId));
}

/** The thread that a messenger's message came from. */
export function threadOf(message: UIMessage | undefined): string | undefined {
  const origin = originOf(message);
  return origin && `${origin.messengerId}\n${origin.thread.id}`;
}

function originOf(message: UIMessage | undefined): MessengerOrigin | undefined {
  const stored: unknown = isObject(message?.metadata) ? message.metadata["messenger"] : undefined;
  if (!isObject(stored) || !isObject(stored["thread"]) || typeof stored["messengerId"] !== "string") return undefined;
  // Reserved: clients cannot set it, so what is there is what the messenger stored.
  return stored as object as MessengerOrigin;
}

/** Adds to a question the note that `messengerOriginOf` reads. */
export function withOrigin(message: UIMessage, origin: MessengerOrigin): UIMessage {
  return { ...message, metadata: { ...(isObject(message.metadata) ? message.metadata : {}), messenger: origin } };
}
