// What the journal forgets, and when. A turn's records are kept until they are not needed any more (it is settled, its response
// hook has returned, and no older turn is open) and `contentTtlMs` longer, so that a finished stream can be replayed;
// then the stored message is all there is, and what history.ts keeps: one row per settled turn, deleted with its message,
// and the newest changes, which newer ones replace. There is no second, longer time for the records themselves. What a clear
// left behind needs no age: it goes with the next sweep. An open turn loses nothing.
// Each sweep is one transaction with a bounded number of deletes. It is made by visits and turns (`sweepDue`), once a minute
// at most: an alarm per agent, ten minutes after its last turn, would start every agent of a server for a few rows. Only what
// a clear left has a wake.
import type { Conversation } from "./conversation.ts";
import type { JournalRows } from "./rows.ts";

export interface RetentionOptions {
  /** How long a finished stream can be replayed. */
  contentTtlMs: number;
  /** Rows deleted in one sweep. A turn of more rows goes in several, oldest first. */
  maxRows: number;
  /** Sweeps in one go. What is left goes with the next. */
  maxSweeps: number;
  /** Visits within this time of a sweep make no other. */
  pauseMs: number;
}

export const RETENTION: RetentionOptions = {
  contentTtlMs: 10 * 60 * 1000,
  maxRows: 500,
  maxSweeps: 10,
  pauseMs: 60_000
};

export interface SweepReport {
  readonly deletedRows: number;
  /** The limit was reached: sweep again soon. */
  readonly more: boolean;
}

export class JournalRetention {
  readonly #rows: JournalRows;
  readonly #conversation: Conversation;
  readonly #options: RetentionOptions;
  /** In memory: a new process looks once more. */
  #sweptAt = -Infinity;

  constructor(rows: JournalRows, conversation: Conversation, options?: Partial<RetentionOptions>) {
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

  /** For every visit and every turn: deletes what is past its time, if it was not looked for a moment ago. */
  sweepDue(now: number): void {
    // Also after a clock that went backwards.
    if (Math.abs(now - this.#sweptAt) < this.#options.pauseMs) return;
    this.#sweptAt = now;
    for (let sweeps = 0; sweeps < this.#options.maxSweeps; sweeps++) {
      if ((this.nextSweepAt() ?? Infinity) > now) return;
      this.sweep(now);
    }
  }

  /** When a sweep next finds something; may lie in the past. Null while nothing will be free without a further append. */
  nextSweepAt(): number | null {
    return this.#due()?.at ?? null;
  }

  /**
   * When a sweep is worth a wake of its own: for what a clear left, which is to be gone although no visitor comes. Never
   * within the pause: `sweepDue` would do nothing, also after a sweep that failed, and the wake would be due again at once.
   */
  nextWakeAt(): number | null {
    const due = this.#due();
    return due?.isCleared ? Math.max(due.at, this.#sweptAt + this.#options.pauseMs) : null;
  }

  /** The oldest rows that go together, and when. */
  #due(): { upTo: number; at: number; isCleared: boolean } | undefined {
    const oldest = this.#rows.oldest();
    const { openTurns, clearedSequence } = this.#conversation.row;
    const needed = openTurns[0]?.firstSequence ?? Infinity;
    if (!oldest || oldest.last >= needed) return undefined;
    // The record of the clear itself stays for readers that are behind, and goes by age.
    if (oldest.last < clearedSequence) {
      return { upTo: Math.min(clearedSequence, needed) - 1, at: oldest.at, isCleared: true };
    }
    const free = this.#rows.freeing(oldest.last);
    return free && { upTo: free.upTo, at: free.at + this.#options.contentTtlMs, isCleared: false };
  }
}
