// Replay of one turn's stream: the chunks from a number on, each exactly once, in order. The state is two numbers and
// the end, so a reader keeps it for hours; the chunks themselves are handed out and forgotten. Starting at any number
// gives the same chunks as starting at 0 and dropping the ones before it.
import type { JournalEntry, TurnSettled } from "../records.ts";
import type { TurnId } from "../../util/ids.ts";

export interface NumberedChunk {
  /** Position in the turn's stream: the same live, on replay and after a restart. */
  readonly number: number;
  /** The chunk's JSON text, as it was streamed. */
  readonly text: string;
}

export interface ReplayState {
  readonly turnId: TurnId;
  /** The next chunk to hand out. Store it, with the attempt, as the reader's cursor. */
  readonly nextChunk: number;
  /** Whose chunks were handed out last; null: not known. */
  readonly attempt: number | null;
  readonly lastSequence: number;
  readonly outcome: TurnSettled | null;
}

export interface ReplayStep {
  readonly state: ReplayState;
  readonly chunks: readonly NumberedChunk[];
  /** Chunks that were skipped because their record is damaged. */
  readonly lost: number;
  /**
   * A new attempt writes from here on, and the reader was shown later chunks of the one before. That happens only to
   * readers that show chunks before they are durable; they take these back. Null for everybody else.
   */
  readonly takenBackFrom: number | null;
}

/** Everything before `fromChunk` was seen; the last of it was written by `attempt`. */
export function startReplay(turnId: TurnId, fromChunk = 0, attempt: number | null = null): ReplayState {
  return { turnId, nextChunk: fromChunk, attempt, lastSequence: 0, outcome: null };
}

/** Records of other turns, and records already seen, hand out nothing. */
export function replayEntry(state: ReplayState, entry: JournalEntry): ReplayStep {
  const { sequence, record } = entry;
  const nothing = { chunks: [], lost: 0, takenBackFrom: null };
  if (record.turnId !== state.turnId || sequence <= state.lastSequence) return { state, ...nothing };
  const seen = { ...state, lastSequence: sequence };
  switch (record.type) {
    case "content-segment": {
      const chunks = record.chunks
        .map((text, index) => ({ number: record.firstChunk + index, text }))
        .filter((chunk) => chunk.number >= state.nextChunk);
      const nextChunk = Math.max(state.nextChunk, record.firstChunk + record.chunks.length);
      const lost = Math.max(0, record.firstChunk - state.nextChunk);
      const attempt = chunks.length > 0 ? record.attempt : state.attempt;
      return { ...nothing, state: { ...seen, nextChunk, attempt }, chunks, lost };
    }
    case "record-quarantined": {
      const end = record.lostChunks ? record.lostChunks.firstChunk + record.lostChunks.chunkCount : 0;
      const nextChunk = Math.max(state.nextChunk, end);
      return { ...nothing, state: { ...seen, nextChunk }, lost: nextChunk - state.nextChunk };
    }
    case "attempt-started": {
      const isNews = state.attempt !== null && record.attempt > state.attempt;
      if (!isNews || record.firstChunk >= state.nextChunk) return { ...nothing, state: seen };
      // Everything durable is below `firstChunk`; what this reader saw above it died with the earlier attempt.
      const nextChunk = record.firstChunk;
      return { ...nothing, state: { ...seen, nextChunk }, takenBackFrom: nextChunk };
    }
    case "turn-settled":
      return { ...nothing, state: { ...seen, outcome: state.outcome ?? record } };
    default:
      return { ...nothing, state: seen };
  }
}

/** The stream has ended but is not all there any more: retention replaced it by the stored message. */
export function isReleased(state: ReplayState): boolean {
  return state.outcome !== null && state.nextChunk < state.outcome.chunkCount;
}

/** All at once, for rebuilding a message. */
export function replayAll(state: ReplayState, entries: Iterable<JournalEntry>): ReplayStep {
  const chunks: NumberedChunk[] = [];
  let step: ReplayStep = { state, chunks, lost: 0, takenBackFrom: null };
  for (const entry of entries) {
    const next = replayEntry(step.state, entry);
    chunks.push(...next.chunks);
    step = { ...next, chunks, lost: step.lost + next.lost };
  }
  return step;
}
