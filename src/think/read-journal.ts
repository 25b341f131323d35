// The journal as inspectors see it: which record stands where, of which turn, how large, and nothing of what it says; of
// turns whose records are gone, what history keeps; and the changes that no turn made. A page is bounded by number and,
// like every page of the journal, by bytes. Reads only; a row of records that cannot be read is set aside.
import { unpackBatch } from "../journal/batch.ts";
import { changeOf, turnOf, type KeptRow, type TurnHistory } from "../journal/history.ts";
import type { ChangedBy, ChangeKind, ReadableRecord } from "../journal/records.ts";
import { JournalRows } from "../journal/rows.ts";
import type { ChatServices } from "../feature/services.ts";
import { byteLength } from "../util/bytes.ts";

export const DEFAULT_JOURNAL_LIMIT = 100;
export const HIGHEST_JOURNAL_LIMIT = 500;
/** So far back from the end a page may start. */
const HIGHEST_FROM_END = 5000;

export interface ReadJournalOptions {
  /**
   * The position of the last record already seen: a `cursor` of before. Below zero it counts from the end: -50 starts
   * at the newest 50; at most 5,000. Default 0: from the beginning, or from the last clear.
   */
  readonly after?: number;
  /** Records at most, from 1 to 500; 100 by default. */
  readonly limit?: number;
}

/** One record of the journal, without what it says. */
export interface JournalEntry {
  /** Grows with each record of the conversation, and is never used twice. */
  readonly position: number;
  /** What happened: "turn-admitted", "content-segment", "conversation-changed", … An open set. */
  readonly type: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** As stored. */
  readonly sizeBytes: number;
  readonly turnId?: string;
  /** What the client calls the turn: in the record that admits it, if a client did. */
  readonly requestId?: string;
  /** With the outcome of a turn: what ran, how often, with what. It stays as long as the turn's message. */
  readonly turn?: TurnHistory;
  /** With a change of the stored messages: which, and on whose behalf. */
  readonly change?: ConversationChange;
}

/** A change of the conversation that no turn made. */
export interface ConversationChange {
  readonly kind: ChangeKind;
  readonly by: ChangedBy;
  /** As a code. */
  readonly why?: string;
  /** The first few. */
  readonly messageIds: readonly string[];
  /** How many messages were changed. */
  readonly count: number;
  readonly toolCallId?: string;
}

export interface ReadJournalResult {
  /** Oldest first. */
  readonly entries: JournalEntry[];
  /** Pass it as `after` to go on, now or when there is more. */
  readonly cursor: number;
  /** There is more already: a page ends at its limit, and also before it would load more than a megabyte. */
  readonly more: boolean;
}

type Stores = Pick<ChatServices, "journal" | "store">;

export function readJournal(stores: Stores, options: ReadJournalOptions = {}): ReadJournalResult {
  const { journal, store } = stores;
  const { conversation, host } = store.scope;
  // Clients may give anything, where a class lets them call this.
  const limit = Math.min(Math.max(wholeNumber(options.limit, DEFAULT_JOURNAL_LIMIT), 1), HIGHEST_JOURNAL_LIMIT);
  const after = wholeNumber(options.after, 0);
  const rows = new JournalRows({ ...host, conversation });
  // A cursor beyond the end is of a conversation that is gone: it would wait for ever.
  const start = after < 0 ? fromEnd(stores, rows, -after) : Math.min(after, rows.head());
  const sources = [
    recordsPage(stores, rows, { after: start, limit }),
    keptPage(journal.history.turns(start, limit + 1), limit, turnEntry),
    keptPage(journal.history.changes(start, limit + 1), limit, changeEntry)
  ];
  // Beyond the shortest page, others may have something in between.
  const end = Math.min(...sources.map((source) => source.end));
  const all = merged(sources.flatMap(({ entries }) => entries).filter(({ position }) => position <= end));
  const entries = all.slice(0, limit);
  const more = all.length > limit || Number.isFinite(end);
  const last = all.length > limit ? entries.at(-1)?.position : end;
  return { entries, cursor: more ? (last ?? end) : Math.max(start, rows.head()), more };
}

/** What one table gives. Up to `end` there is no more in it; infinite: none at all. */
interface Page {
  readonly entries: readonly JournalEntry[];
  readonly end: number;
}

function recordsPage(
  { journal, store }: Stores,
  rows: JournalRows,
  { after, limit }: { after: number; limit: number }
): Page {
  // Messages that a clear has taken, their turns and changes are gone; their records may not be yet.
  const start = Math.max(after, store.scope.conversation.row.clearedSequence - 1);
  const { entries, cursor, more } = journal.reader.read({ after: start, maxRecords: limit, outline: true });
  const sizes = storedSizes(rows, start, cursor);
  return {
    entries: entries.map(({ sequence, record }) => ({
      position: sequence,
      ...shownOf(record),
      sizeBytes: sizes.get(sequence) ?? 0
    })),
    end: more ? cursor : Number.POSITIVE_INFINITY
  };
}

/** Of `limit + 1` rows the last only says that there is one. */
function keptPage(rows: readonly KeptRow[], limit: number, entryOf: (row: KeptRow) => JournalEntry | undefined): Page {
  const shown = rows.slice(0, limit);
  return {
    entries: shown.flatMap((row) => entryOf(row) ?? []),
    end: rows.length > limit ? (shown.at(-1)?.sequence ?? 0) : Number.POSITIVE_INFINITY
  };
}

/** By position. What is kept longer joins the record that says the same, as long as that is there. */
function merged(entries: readonly JournalEntry[]): JournalEntry[] {
  const byPosition = new Map<number, JournalEntry>();
  for (const entry of entries) byPosition.set(entry.position, { ...entry, ...byPosition.get(entry.position) });
  return [...byPosition.values()].sort((first, second) => first.position - second.position);
}

/** The record whose position a turn keeps. */
const SHOWN_AS = "turn-settled";

function turnEntry(row: KeptRow): JournalEntry | undefined {
  const turn = turnOf(row);
  if (turn === undefined) return undefined;
  const { settledAt: at, turnId } = turn;
  return { position: row.sequence, type: SHOWN_AS, at, turnId, sizeBytes: byteLength(row.body), turn };
}

function changeEntry(row: KeptRow): JournalEntry | undefined {
  const record = changeOf(row);
  if (record === undefined) return undefined;
  const { change: kind, by, why, messageIds, count, callId, at, turnId } = record;
  const change: ConversationChange = {
    kind,
    by,
    ...(why !== null && { why }),
    messageIds,
    count,
    ...(callId !== null && { toolCallId: callId })
  };
  const sizeBytes = byteLength(row.body);
  return { position: row.sequence, type: record.type, at, ...(turnId !== null && { turnId }), sizeBytes, change };
}

/** The position before the newest so many. */
function fromEnd({ journal, store }: Stores, rows: JournalRows, wanted: number): number {
  const limit = Math.min(wanted, HIGHEST_FROM_END);
  const records = rows.newest(limit).flatMap(({ last, count }) => {
    return Array.from({ length: Math.min(count, limit) }, (_, index) => last - index);
  });
  const shown = records.filter((position) => position >= store.scope.conversation.row.clearedSequence);
  const newest = [...new Set([...shown, ...journal.history.newest(limit)])].sort((first, second) => second - first);
  return (newest[limit - 1] ?? 1) - 1;
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
