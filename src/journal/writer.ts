// The only way into the journal: a synchronous, all-or-nothing append, stored as one row. It gives each record its
// sequence, refuses what an overtaken attempt, a settled turn or a cleared conversation may no longer write, and advances
// the conversation's row and the folds of the open turns by it. What to write, and when, is decided above.
import type { TurnId } from "../util/ids.ts";
import { packBatches, unpackBatch } from "./batch.ts";
import type { Conversation } from "./conversation.ts";
import { emptyTurn, type TurnFold } from "./folds/turn-fold.ts";
import type { TurnFinder } from "./find-turn.ts";
import { advance, aliasOf, freeTo } from "./open-turns.ts";
import type { WritableRecord } from "./records.ts";
import { SEARCH_LIMITS, type JournalRows } from "./rows.ts";
import { advanced, type TurnFolds } from "./turn-folds.ts";

export interface WriterInit {
  rows: JournalRows;
  conversation: Conversation;
  finder: TurnFinder;
  folds: TurnFolds;
}

export interface AppendReceipt {
  /** Sequences of the first and the last record of this append; `last < first` when it was empty. */
  readonly first: number;
  readonly last: number;
}

export class JournalWriter {
  readonly #init: WriterInit;

  constructor(init: WriterInit) {
    this.#init = init;
  }

  /**
   * Appends all records or none, in a transaction of its own or as part of the caller's. Throws what errors.ts lists.
   * Writes one row, and the conversation's if it changed: a turn was admitted or ended, or the conversation was cleared.
   */
  append(records: readonly WritableRecord[]): AppendReceipt {
    const { rows, conversation, finder, folds } = this.#init;
    const head = rows.head();
    const receipt = { first: head + 1, last: head + records.length };
    if (records.length === 0) return receipt;
    conversation.join((row) => {
      const batches = packBatches(records);
      /** The turns that these records change. Undefined: it is over. */
      const changed = new Map<string, TurnFold | undefined>();
      const foldOf = (id: TurnId) => changed.get(id) ?? folds.get(id) ?? emptyTurn(id);
      records.forEach((record, index) => {
        const sequence = receipt.first + index;
        const isRecorded = (turnId: TurnId) => changed.has(turnId) || this.#isRecorded(turnId);
        Object.assign(row, advance(row, record, { sequence, foldOf, isRecorded }));
        const { turnId } = record;
        if (turnId === null) return;
        const isOpen = row.openTurns.some((open) => open.turnId === turnId);
        const before = record.type === "turn-admitted" ? emptyTurn(turnId) : isOpen && foldOf(turnId);
        changed.set(turnId, before ? advanced(before, { sequence, record }) : undefined);
      });
      const at = Math.max(...records.map((record) => record.at));
      let last = head;
      for (const batch of batches) {
        last += batch.count;
        rows.insert({ ...batch, last, at, freeTo: freeTo(row, receipt.last) });
      }
      folds.advance(changed);
    });
    for (const record of records) if (record.type === "turn-admitted") finder.note(aliasOf(record));
    return receipt;
  }

  /** Sequence of the newest record ever written, 0 for none. */
  head(): number {
    return this.#init.rows.head();
  }

  #isRecorded(turnId: TurnId): boolean {
    const { rows } = this.#init;
    for (const row of rows.newestFirst(0, SEARCH_LIMITS)) {
      const frames = unpackBatch(row, rows.text(row));
      if (frames.some(({ header }) => header.ok && header.value.turn === turnId)) return true;
    }
    return false;
  }
}
