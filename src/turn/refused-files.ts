// A file that made a turn fail for good must not make every later turn fail: it is marked in the message that holds it,
// and the prompt shows a note instead. Which failures are about files is judged by the hooks. Pure over its lookups.
import type { UIMessage } from "ai";
import type { EventPayloads } from "../observe/events.ts";
import { triedFiles, withRefused } from "../util/refused-files.ts";
import type { Transcript } from "./transcript.ts";
import type { TurnView } from "./turn.ts";

/** `certain`: the provider says so. `possible`: it refused what was sent and does not say why. */
export type FileRefusal = "certain" | "possible";

export interface RefusedFiles {
  /** As it is to be stored. */
  readonly message: UIMessage;
  readonly event: EventPayloads["chat:attachment:refused"];
}

/**
 * The messages whose files are to be left out from now on: those of the turn's own question, which no turn has got
 * through with. Without such, and if the provider says that it is a file, all of the conversation's.
 */
export function findRefused(
  transcript: Pick<Transcript, "get" | "path">,
  { requestId, inputMessageIds }: TurnView,
  refusal: FileRefusal
): RefusedFiles[] {
  const own = marked(transcript, inputMessageIds, requestId);
  if (own.length > 0 || refusal === "possible") return own;
  const held = transcript.path().filter((message) => triedFiles(message).length > 0);
  return marked(
    transcript,
    held.map(({ id }) => id),
    requestId
  );
}

function marked(transcript: Pick<Transcript, "get">, ids: readonly string[], requestId: string): RefusedFiles[] {
  return ids.flatMap((messageId) => {
    const message = transcript.get(messageId);
    const files = message ? triedFiles(message) : [];
    if (!message || files.length === 0) return [];
    const told = files.map(({ mediaType, filename }) => ({ mediaType, ...(filename !== undefined && { filename }) }));
    return [{ message: withRefused(message, files), event: { requestId, messageId, files: told } }];
  });
}
