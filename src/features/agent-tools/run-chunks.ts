// The chunks of a run that one reader is given.
import {
  closeOpenParts,
  continueFold,
  foldChunk,
  foldedMessage,
  startFold,
  type FoldChunk
} from "../../model/index.ts";
import { parseJson } from "../../util/json.ts";
import type { AgentToolChunk } from "./chunk-feed.ts";
import type { RunProgress } from "./run-progress.ts";

/** A number that is left out is that of a chunk which was taken back, or which a crash has lost: a reader may know it. */
export function* withRestarts(
  chunks: Iterable<{ readonly seq: number; readonly body: string }>,
  messageId: string
): Generator<AgentToolChunk, void, undefined> {
  let fold = startFold(messageId);
  let next = 0;
  for (const { seq, body } of chunks) {
    const restarts = seq > next ? JSON.stringify(closeOpenParts(foldedMessage(fold))) : undefined;
    yield { sequence: seq, body, ...(restarts !== undefined && { restarts }) };
    const chunk = parseJson(body);
    // Written by a stream of ours.
    if (chunk.ok)
      fold = foldChunk(restarts === undefined ? fold : continueFold(fold.message), chunk.value as FoldChunk);
    next = seq + 1;
  }
}

export function upTo(chunks: readonly AgentToolChunk[], limitChars: number): Pick<RunProgress, "chunks" | "more"> {
  let chars = 0;
  const over = chunks.findIndex(({ body }, index) => (chars += body.length) > limitChars && index > 0);
  return over < 0 ? { chunks, more: false } : { chunks: chunks.slice(0, over), more: true };
}
