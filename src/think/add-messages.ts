// Writes to the transcript that are not turns: a chain of messages below one place, in one transaction. It never waits
// for the queue, so a tool may do it, and it starts nothing.
import type { UIMessage } from "ai";
import type { Transcript } from "../turn/transcript.ts";
import { UnknownParentError } from "./errors.ts";

export interface AddMessagesOptions {
  /** Where the first message hangs: below this one, at the root (null), or below the latest (left out). */
  parentId?: string | null;
  /** For ids that exist already: keep what is stored, or replace its content. Default "append". */
  mode?: "append" | "upsert";
  /** Whether clients are told. Default true. */
  broadcast?: boolean;
}

/** Each message below the one before it. A message that exists is never moved; the chain goes on below it. */
export function chainMessages(
  transcript: Pick<Transcript, "leaf" | "has" | "append" | "update">,
  messages: readonly UIMessage[],
  { parentId, mode = "append" }: Pick<AddMessagesOptions, "parentId" | "mode">
): void {
  if (typeof parentId === "string" && !transcript.has(parentId)) throw new UnknownParentError(parentId);
  let parent = parentId === undefined ? transcript.leaf : parentId;
  for (const message of messages) {
    if (!transcript.has(message.id)) transcript.append(message, parent);
    else if (mode === "upsert") transcript.update(message);
    parent = message.id;
  }
}
