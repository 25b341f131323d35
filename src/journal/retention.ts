// What the journal forgets, and when. A turn's records are kept until they are not needed any more (it is settled, its response
// hook has returned, and no older turn is open) and `contentTtlMs` longer, so that a finished stream can be replayed;
// then the stored message is all there is, and what history.ts keeps: one row per settled turn, deleted with its message,
// and the newest changes, which newer ones replace. There is no second, longer time for the records themselves. What a clear left behind goes at once. An open turn loses nothing.
// Each sweep is one transaction with a bounded number of deletes; `nextSweepAt` says when the next is worth a wake.
import type { Conversation } from "./conversation.ts";
import type { JournalRows } from "./rows.ts";

export interface RetentionOptions {
  /** How long a finished stream can be replayed. */
  contentTtlMs: number;
  /** Rows deleted in one sweep. A turn of more rows goes in several, oldest first. */
  maxRows: number;
}

export const RETENTION: RetentionOptions = { contentTtlMs: 10 * 60 * 1000, maxRows: 500 };

export interface SweepReport {
  readonly deletedRows: number;
  /** The limit was reached: sweep again soon. */
  readonly more: boolean;
}

export interface RetentionInit {
  rows: JournalRows;
  conversation: Conversation;
  options?: Partial<RetentionOptions> | undefined;
}

export class JournalRetention {
  readonly #rows: JournalRows;
  readonly #conversation: Conversation;
  readonly #options: RetentionOptions;

  constructor({ rows, conversation, options }: RetentionInit) {
    this.#rows = rows;
    this.#conversation = conversation;
    this.#options = { ...RETENTION, ...options };
  }

  sweep(now: number): SweepReport {
    const maxRows = Math.max(1, this.#options.maxRows);
    return this.#conversation.transaction((row) => {
      const head = this.#rows.head();
      let deletedRows = 0;
      for (let due = this.#due(); due && due.at <= now && deletedRows < maxRows; due = this.#due()) {
        deletedRows += this.#rows.delete(due.upTo, maxRows - deletedRows);
      }
      // With the newest row gone, only this remembers which sequences were used.
      if (deletedRows > 0 && !this.#rows.oldest()) row.journalFloor = head;
      return { deletedRows, more: deletedRows === maxRows };
    });
  }

  /** When a sweep is next worth a wake; may lie in the past. Null while nothing will be free without a further append. */
  nextSweepAt(): number | null {
    return this.#due()?.at ?? null;
  }

  /** The oldest rows that go together, and when. */
  #due(): { upTo: number; at: number } | undefined {
    const oldest = this.#rows.oldest();
    const { openTurns, clearedSequence } = this.#conversation.row;
    const needed = openTurns[0]?.firstSequence ?? Infinity;
    if (!oldest || oldest.last >= needed) return undefined;
    // The record of the clear itself stays for readers that are behind, and goes by age.
    if (oldest.last < clearedSequence) return { upTo: Math.min(clearedSequence, needed) - 1, at: oldest.at };
    const free = this.#rows.freeing(oldest.last);
    return free && { upTo: free.upTo, at: free.at + this.#options.contentTtlMs };
  }
}
