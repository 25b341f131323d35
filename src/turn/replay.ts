// What a client that comes later is sent of a stream: all that is stored while the turn runs, a bounded part afterwards.
import type { StoredChunk, TurnStore } from "./store.ts";
import { Turn, type TurnOutcome, type TurnView } from "./turn.ts";

/** Of a finished stream, as JSON. */
const REPLAY_CHARS = 16 * 1024 * 1024;

/** What there is to replay of a request's stream. */
export interface Replay {
  readonly turn: TurnView;
  /** Stored and not yet stored chunks, in order, each with its number. */
  readonly chunks: Iterable<{ readonly seq: number; readonly body: string }>;
  /** `live`: more follows. Otherwise how it ended, if that is still known. */
  readonly state: "live" | TurnOutcome["status"];
}

export function replayOf(store: TurnStore, requestId: string): Replay | undefined {
  const { running } = store;
  if (running?.turn.requestId === requestId) running.stream.flush();
  const open = store.findByRequest(requestId);
  if (open) return { turn: open.view(), chunks: store.chunksOf(open.fold), state: "live" };
  return finishedReplay(store, requestId);
}

function finishedReplay(store: TurnStore, requestId: string): Replay | undefined {
  const fold = store.endedFold(requestId);
  const { admission: admitted } = fold ?? {};
  if (!fold?.outcome || !admitted) return undefined;
  const { outcome } = fold.outcome;
  return {
    turn: new Turn({ admitted, fold, folds: store.init.journal.folds }).view(),
    // What is left out is in the stored message, which a client is sent behind the replay.
    chunks: upTo(store.chunksOf(fold), REPLAY_CHARS),
    state: outcome === "failed" ? "error" : outcome
  };
}

/** The first of them, up to so many characters: a replay is sent in one go, and waits in memory until it is read. */
function* upTo(chunks: Iterable<StoredChunk>, maxChars: number): Generator<StoredChunk, void, undefined> {
  let chars = 0;
  for (const chunk of chunks) {
    chars += chunk.body.length;
    if (chars > maxChars) return;
    yield chunk;
  }
}
