// The journal as inspectors see it: which record stands where, of which turn, how large, and nothing of what it says.
// A page is bounded by number and, like every page of the journal, by bytes. Reads only; a row that cannot be read is set
// aside, as whoever comes across one does it.
import { unpackBatch } from "../journal/batch.ts";
import type { JournalReader } from "../journal/reader.ts";
import type { ReadableRecord } from "../journal/records.ts";
import { JournalRows } from "../journal/rows.ts";
import type { SessionScope } from "../session/session-host.ts";
import { byteLength } from "../util/bytes.ts";

export const DEFAULT_JOURNAL_LIMIT = 100;
export const HIGHEST_JOURNAL_LIMIT = 500;

export interface ReadJournalOptions {
  /**
   * The position of the last record already seen: a `cursor` of before. Below zero it counts from the end: -50 starts
   * at the newest 50. Default 0: from the beginning, or from the last clear.
   */
  readonly after?: number;
  /** Records at most, from 1 to 500; 100 by default. */
  readonly limit?: number;
}

/** One record of the journal, without what it says. */
export interface JournalEntry {
  /** Grows by one with each record of the conversation, and is never used twice. */
  readonly position: number;
  /** What happened: "turn-admitted", "content-segment", "call-settled", … An open set. */
  readonly type: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** As stored. */
  readonly sizeBytes: number;
  readonly turnId?: string;
  /** What the client calls the turn: in the record that admits it, if a client did. */
  readonly requestId?: string;
}

export interface ReadJournalResult {
  /** Oldest first. */
  readonly entries: JournalEntry[];
  /** Pass it as `after` to go on, now or when there is more. */
  readonly cursor: number;
  /** There is more already: a page ends at its limit, and also before it would load more than a megabyte. */
  readonly more: boolean;
}

export interface ReadJournalInit {
  readonly reader: JournalReader;
  readonly scope: SessionScope;
}

export function readJournal({ reader, scope }: ReadJournalInit, options: ReadJournalOptions = {}): ReadJournalResult {
  const { conversation, host } = scope;
  // Clients may give anything, where a class lets them call this.
  const limit = Math.min(Math.max(wholeNumber(options.limit, DEFAULT_JOURNAL_LIMIT), 1), HIGHEST_JOURNAL_LIMIT);
  const after = wholeNumber(options.after, 0);
  const rows = new JournalRows({ ...host, conversation });
  const head = rows.head();
  // A cursor beyond the end is of a conversation that is gone: it would wait for ever.
  const wanted = after < 0 ? head + after : Math.min(after, head);
  const start = Math.max(wanted, conversation.row.clearedSequence - 1, 0);
  const { entries, cursor, more } = reader.read({ after: start, maxRecords: limit, outline: true });
  const sizes = storedSizes(rows, start, cursor);
  return {
    entries: entries.map(({ sequence, record }) => ({
      position: sequence,
      ...shownOf(record),
      sizeBytes: sizes.get(sequence) ?? 0
    })),
    cursor,
    more
  };
}

function shownOf(record: ReadableRecord): Omit<JournalEntry, "position" | "sizeBytes"> {
  const { turnId, at } = record;
  const requestId = record.type === "turn-admitted" ? record.requestId : null;
  return { type: storedType(record), at, ...(turnId !== null && { turnId }), ...(requestId !== null && { requestId }) };
}

/** Under the name it was written with, also if this build reads it as something else. */
function storedType(record: ReadableRecord): string {
  if (record.type === "content-outline") return "content-segment";
  return record.type === "unknown" ? record.recordType : record.type;
}

/** By position. The page may end in the middle of its last row. */
function storedSizes(rows: JournalRows, after: number, upTo: number): Map<number, number> {
  const last = rows.sizes(upTo, 1)[0]?.last ?? upTo;
  const frames = rows.between(after + 1, last).flatMap((row) => unpackBatch(row, rows.text(row)));
  return new Map(frames.map(({ sequence, text }) => [sequence, byteLength(text ?? "")]));
}

function wholeNumber(value: unknown, otherwise: number): number {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : otherwise;
}
