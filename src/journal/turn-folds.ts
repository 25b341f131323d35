// What the records of each open turn say, and where the records of ended turns are, kept in memory. The records are read
// once, in one pass for all open turns, and after that each append advances the folds by the very records that it writes.
// When a transaction is undone, ours or one around ours, the folds it touched are dropped and read again. Small whatever a
// turn holds: content and the values that tools were given and returned stay in the journal.
import type { TurnId } from "../util/ids.ts";
import { decodeFrame, unpackBatch } from "./batch.ts";
import type { Conversation } from "./conversation.ts";
import { emptyTurn, foldTurnEntry, type TurnFold } from "./folds/turn-fold.ts";
import { aliasOf } from "./open-turns.ts";
import type { JournalReader } from "./reader.ts";
import type { SequencedRecord } from "./records.ts";
import { SEARCH_LIMITS, type JournalRows } from "./rows.ts";

/** Names of turns that are kept in memory; above it, they are read again. */
const MAX_NAMES = 10_000;

export interface AdmittedTurn {
  readonly turnId: TurnId;
  /** Its records start there. */
  readonly firstSequence: number;
}

export class TurnFolds {
  readonly #rows: JournalRows;
  readonly #conversation: Conversation;
  readonly #reader: JournalReader;
  readonly #folds = new Map<string, TurnFold>();
  /** By what its client calls it, the newest turn of each name. Retention may have deleted its records since. */
  #admitted: Map<string, AdmittedTurn> | undefined;

  constructor(rows: JournalRows, conversation: Conversation, reader: JournalReader) {
    this.#rows = rows;
    this.#conversation = conversation;
    this.#reader = reader;
  }

  /** Undefined: the turn is not open. */
  get(turnId: string): TurnFold | undefined {
    return this.#folds.get(turnId) ?? this.#read(turnId);
  }

  /** The newest turn of this name, if it is over, as far back as SEARCH_LIMITS and to the last clear. */
  findEnded(requestId: string): AdmittedTurn | undefined {
    const { openTurns, clearedSequence } = this.#conversation.row;
    this.#admitted ??= this.#readAdmitted(clearedSequence);
    const found = this.#admitted.get(requestId);
    if (!found || found.firstSequence <= clearedSequence) return undefined;
    return openTurns.some(({ turnId }) => turnId === found.turnId) ? undefined : found;
  }

  /** The newest turn of all, if it is over; as far back as `findEnded`. */
  newestEnded(): AdmittedTurn | undefined {
    const { openTurns, clearedSequence } = this.#conversation.row;
    this.#admitted ??= this.#readAdmitted(clearedSequence);
    let newest: AdmittedTurn | undefined;
    for (const turn of this.#admitted.values()) {
      if (turn.firstSequence > (newest?.firstSequence ?? clearedSequence)) newest = turn;
    }
    return openTurns.some(({ turnId }) => turnId === newest?.turnId) ? undefined : newest;
  }

  /** Part of the transaction that writes the records behind these folds. */
  advance(folds: ReadonlyMap<string, TurnFold>): void {
    for (const [turnId, fold] of folds) {
      if (fold.outcome === null) this.#folds.set(turnId, fold);
      else this.#folds.delete(turnId);
    }
    this.#conversation.afterCommit(
      () => this.#note(folds.values()),
      () => this.drop(folds.keys())
    );
  }

  /** They are read again when they are next asked for. */
  drop(turnIds: Iterable<string> = [...this.#folds.keys()]): void {
    for (const turnId of turnIds) this.#folds.delete(turnId);
  }

  #read(turnId: string): TurnFold | undefined {
    const { openTurns } = this.#conversation.row;
    if (!openTurns.some((open) => open.turnId === turnId)) return undefined;
    const first = this.#readMissing();
    // What cannot be read is set aside by the first pass; the second meets the records that stand for it.
    const { folds } = first.isDamaged ? this.#readMissing() : first;
    for (const [id, fold] of folds) this.#folds.set(id, fold);
    return folds.get(turnId);
  }

  #note(folds: Iterable<TurnFold>): void {
    for (const { admission, turnId, firstSequence } of folds) {
      const name = admission && aliasOf(admission);
      if (!this.#admitted || name === null) continue;
      if ((this.#admitted.get(name)?.firstSequence ?? 0) >= firstSequence) continue;
      this.#admitted.set(name, { turnId, firstSequence });
      if (this.#admitted.size > MAX_NAMES) this.#admitted = undefined;
    }
  }

  #readAdmitted(after: number): Map<string, AdmittedTurn> {
    const admitted = new Map<string, AdmittedTurn>();
    for (const row of this.#rows.newestFirst(after + 1, SEARCH_LIMITS)) {
      for (const frame of unpackBatch(row, this.#rows.text(row)).reverse()) {
        if (!frame.header.ok || frame.header.value.type !== "turn-admitted") continue;
        const record = decodeFrame(frame);
        if (!record.ok || record.value.type !== "turn-admitted" || admitted.has(aliasOf(record.value))) continue;
        admitted.set(aliasOf(record.value), { turnId: record.value.turnId, firstSequence: frame.sequence });
      }
    }
    return admitted;
  }

  #readMissing(): { folds: ReadonlyMap<string, TurnFold>; isDamaged: boolean } {
    const missing = this.#conversation.row.openTurns.filter((open) => !this.#folds.has(open.turnId));
    const first = Math.min(...missing.map((open) => open.firstSequence));
    // The row holds the ids that the writer put there.
    const folds = new Map(missing.map((open) => [open.turnId, emptyTurn(open.turnId as TurnId)]));
    let isDamaged = false;
    for (const page of this.#reader.pages({ after: first - 1, turnIds: new Set(folds.keys()), outline: true })) {
      for (const entry of page.entries) {
        const fold = folds.get(entry.record.turnId ?? "");
        if (fold) folds.set(fold.turnId, advanced(fold, entry));
      }
      isDamaged ||= page.corrupt.length > 0;
    }
    return { folds, isDamaged };
  }
}

/** The fold after a record, without the values of calls: they may be of any size. */
export function advanced(fold: TurnFold, entry: SequencedRecord): TurnFold {
  const { record } = entry;
  if (record.type === "call-started") return foldTurnEntry(fold, { ...entry, record: { ...record, input: null } });
  if (record.type !== "call-settled" || record.outcome.kind !== "output") return foldTurnEntry(fold, entry);
  return foldTurnEntry(fold, { ...entry, record: { ...record, outcome: { kind: "output", output: null } } });
}
