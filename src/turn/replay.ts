// What a reader that comes late is shown: the stored chunks of a request's stream, and of a running one also those that
// are not stored yet. Read in pages, so that a long answer is never held whole.
import { keptRanges, type KeptRange } from "../journal/folds/turn-fold.ts";
import type { Journal } from "../journal/journal.ts";
import { turnId, type TurnId } from "../util/ids.ts";

export interface ReplayedChunk {
  readonly seq: number;
  readonly body: string;
}

/**
 * The chunks of one turn from the journal, in order: those of the answer, not what later attempts took back. `known`: the
 * ranges of the answer, if the caller has folded the turn already.
 */
export function* storedChunks(
  journal: Journal,
  turn: { readonly turnId: string; readonly firstSequence: number },
  known?: readonly KeptRange[]
): Generator<ReplayedChunk, void, undefined> {
  const options = { after: turn.firstSequence - 1, turnId: turnId(turn.turnId) };
  const kept = known ?? keptChunks(journal, options);
  for (const page of journal.reader.pages({ ...options, fromChunk: kept[0]?.from ?? 0 })) {
    for (const { record } of page.entries) {
      if (record.type !== "content-segment") continue;
      const chunks = record.chunks.map((body, index) => ({ seq: record.firstChunk + index, body }));
      yield* chunks.filter(({ seq }) => kept.some(({ from, to }) => from <= seq && seq < to));
    }
  }
}

/** The first of them, up to so many characters: a replay is sent in one go, and waits in memory until it is read. */
export function* upTo(chunks: Iterable<ReplayedChunk>, maxChars: number): Generator<ReplayedChunk, void, undefined> {
  let chars = 0;
  for (const chunk of chunks) {
    chars += chunk.body.length;
    if (chars > maxChars) return;
    yield chunk;
  }
}

function keptChunks(journal: Journal, options: { after: number; turnId: TurnId }): readonly KeptRange[] {
  let kept: readonly KeptRange[] = [];
  for (const page of journal.reader.pages({ ...options, outline: true })) {
    for (const { record } of page.entries) if (record.type === "attempt-started") kept = keptRanges(kept, record);
  }
  return kept;
}
