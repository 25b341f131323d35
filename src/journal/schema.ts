// The arithmetic of the journal's key and the phases of its turn index. The tables themselves are in the migrations.

/**
 * The key of cf_journal is one integer, `conversation * 2^32 + sequence`:
 * - An INTEGER PRIMARY KEY is the table itself, so an append writes one row and no index. Any other key (composite, or
 *   a secondary index on the turn) would double the rows written while streaming. WITHOUT ROWID would avoid that too,
 *   but keeps bodies of up to 256 KB in the nodes that are searched.
 * - "Everything after a sequence" is a walk from one key, and conversations do not interleave.
 * - "One turn from a cursor" is the same walk between the turn's first and last sequence (kept in cf_journal_turns),
 *   skipping other turns' rows by a column stored before the body. Turns of a conversation run one at a time, so there
 *   are few to skip; reads cost a thousandth of writes.
 * 2^20 conversations keep the key below 2^53, the largest integer the platform returns exactly.
 */
const SEQUENCES_PER_CONVERSATION = 2 ** 32;
export const MAX_CONVERSATION = 2 ** 20 - 1;

export function positionOf(conversation: number, sequence: number): number {
  return conversation * SEQUENCES_PER_CONVERSATION + sequence;
}

export function sequenceOf(position: number): number {
  return position % SEQUENCES_PER_CONVERSATION;
}

export function conversationOf(position: number): number {
  return Math.floor(position / SEQUENCES_PER_CONVERSATION);
}

/** The owner under which the body of one row holds its blob. */
export function bodyOwner(position: number): string {
  return `journal:${position}`;
}

/** Where a turn is in its life, as the index sees it. Stored: never renumber. */
export const TurnPhase = {
  /** No outcome yet. Ordered by admission. */
  open: 0,
  /** Settled; the response hook has not returned. Ordered by settlement, as are the following. */
  responding: 1,
  /** Done; its chunks can still be replayed. */
  replayable: 2,
  /** Done; its chunks are gone. */
  retained: 3
} as const;
export type TurnPhase = (typeof TurnPhase)[keyof typeof TurnPhase];
