// The only way into the journal: a synchronous, all-or-nothing append, stored as one row. It gives each record its
// sequence, refuses what an overtaken attempt, a settled turn or a cleared conversation may no longer write, and advances
// the conversation's row and the folds of the open turns by it. What to write, and when, is decided above.
import type { TurnId } from "../util/ids.ts";
import { packBatches, unpackBatch } from "./batch.ts";
import type { Conversation } from "./conversation.ts";
import { emptyTurn, type TurnFold } from "./folds/turn-fold.ts";
import { advance, freeTo } from "./open-turns.ts";
import type { JournalRecord } from "./records.ts";
import { SEARCH_LIMITS, type JournalRows } from "./rows.ts";
import { advanced, type TurnFolds } from "./turn-folds.ts";

export class JournalWriter {
  readonly #rows: JournalRows;
  readonly #conversation: Conversation;
  readonly #folds: TurnFolds;

  constructor(rows: JournalRows, conversation: Conversation, folds: TurnFolds) {
    this.#rows = rows;
    this.#conversation = conversation;
    this.#folds = folds;
  }

  /**
   * Appends all records or none, in a transaction of its own or as part of the caller's. Throws what errors.ts lists.
   * Writes one row, and the conversation's if it changed: a turn was admitted or ended, or the conversation was cleared.
   * Returns the turns that the records changed, as they are now.
   */
  append(records: readonly JournalRecord[]): ReadonlyMap<string, TurnFold> {
    const changed = new Map<string, TurnFold>();
    if (records.length === 0) return changed;
    this.#conversation.join((row) => {
      const batches = packBatches(records);
      const head = this.#rows.head();
      const foldOf = (id: TurnId) => changed.get(id) ?? this.#folds.get(id) ?? emptyTurn(id);
      const isRecorded = (id: TurnId) => changed.has(id) || this.#isRecorded(id);
      records.forEach((record, index) => {
        const sequence = head + 1 + index;
        Object.assign(row, advance(row, record, { sequence, foldOf, isRecorded }));
        const { turnId } = record;
        if (turnId === null || record.type === "turn-responded") return;
        const before = record.type === "turn-admitted" ? emptyTurn(turnId) : foldOf(turnId);
        changed.set(turnId, advanced(before, { sequence, record }));
      });
      const at = Math.max(...records.map((record) => record.at));
      let last = head;
      for (const batch of batches) {
        last += batch.count;
        this.#rows.insert({ ...batch, last, at, freeTo: freeTo(row, head + records.length) });
      }
      this.#folds.advance(changed);
    });
    return changed;
  }

  /** Sequence of the newest record ever written, 0 for none. */
  head(): number {
    return this.#rows.head();
  }

  #isRecorded(turnId: TurnId): boolean {
    for (const row of this.#rows.newestFirst(0, SEARCH_LIMITS)) {
      const frames = unpackBatch(row, this.#rows.text(row));
      if (frames.some(({ header }) => header.ok && header.value.turn === turnId)) return true;
    }
    return false;
  }
}
