// Where a conversation's newest question came from: the messenger's own note on the stored message.
import type { UIMessage } from "ai";
import { isObject } from "../util/json.ts";
import type { MessengerOrigin } from "./channels.ts";

export interface OriginSources {
  readonly transcript: { messages(): readonly UIMessage[] };
  readonly turns: { current(): object | undefined };
}

/** Inside a turn that of its question, whatever was added since; outside, that of the newest message. */
export function messengerOriginOf({ transcript, turns }: OriginSources): MessengerOrigin | undefined {
  const messages = transcript.messages();
  return originOf(turns.current() ? messages.findLast(({ role }) => role === "user") : messages.at(-1));
}

function originOf(message: UIMessage | undefined): MessengerOrigin | undefined {
  const stored: unknown = isObject(message?.metadata) ? message.metadata["messenger"] : undefined;
  if (!isObject(stored) || !isObject(stored["thread"]) || typeof stored["messengerId"] !== "string") return undefined;
  // Reserved: clients cannot set it, so what is there is what the messenger stored.
  return stored as object as MessengerOrigin;
}
