// What a reader that comes late is shown: the stored chunks of a request's stream, and of a running one also those that
// are not stored yet. Read in pages, so that a long answer is never held whole.
import type { Journal } from "../journal/journal.ts";
import { turnId } from "../util/ids.ts";

export interface ReplayedChunk {
  readonly seq: number;
  readonly body: string;
}

/** The chunks of one turn from the journal, in order. */
export function* storedChunks(
  journal: Journal,
  turn: { readonly turnId: string; readonly firstSequence: number }
): Generator<ReplayedChunk, void, undefined> {
  const options = { after: turn.firstSequence - 1, turnId: turnId(turn.turnId) };
  for (const page of journal.reader.pages(options)) {
    for (const { record } of page.entries) {
      if (record.type !== "content-segment") continue;
      yield* record.chunks.map((body, index) => ({ seq: record.firstChunk + index, body }));
    }
  }
}
