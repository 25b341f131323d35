// Reading the journal from a cursor. A page is bounded by bytes before any body is loaded; what cannot be read is
// reported beside the rest. A subscription is a cursor that catches up and then waits: there is no second, live path,
// so there is neither gap nor duplicate between "stored" and "new".
import type { Blobs } from "../host/blobs.ts";
import type { Sql } from "../host/ports.ts";
import type { TurnId } from "../util/ids.ts";
import type { Result } from "../util/result.ts";
import { decodeOutline, decodeRow, type JournalRow } from "./codec.ts";
import type { JournalNotifier } from "./notifier.ts";
import type { JournalEntry, ReadableRecord } from "./records.ts";
import { positionOf, sequenceOf } from "./schema.ts";
import type { TurnIndex } from "./turn-index.ts";
import type { JournalWriter } from "./writer.ts";

export const DEFAULT_PAGE_BYTES = 1024 * 1024;
export const DEFAULT_PAGE_RECORDS = 256;

export interface ReadOptions {
  /** Sequence of the last record already seen. Default 0: from the beginning. */
  after?: number;
  /** Only this turn's records. */
  turnId?: TurnId;
  /** A page ends before the record that would exceed this. A single larger record is a page of its own. */
  maxBytes?: number;
  maxRecords?: number;
  /** Content segments without their chunks: for folds that do not replay. */
  outline?: boolean;
  /** Content segments that end before this chunk are left out. */
  fromChunk?: number;
}

/** A row that is there but cannot be read. Hand it to the quarantine. */
export interface CorruptRow {
  readonly sequence: number;
  readonly row: JournalRow;
  readonly reason: string;
}

export interface JournalPage {
  readonly entries: readonly JournalEntry[];
  readonly corrupt: readonly CorruptRow[];
  /** Pass it as `after` to go on. It also moves over records that were not asked for. */
  readonly cursor: number;
  /** There was more than fitted. */
  readonly more: boolean;
}

export interface ReaderInit {
  sql: Sql;
  blobs: Blobs;
  turns: TurnIndex;
  writer: Pick<JournalWriter, "head">;
  notifier: JournalNotifier;
  conversation: number;
}

export interface Subscription {
  /** Everything up to here was delivered. */
  readonly cursor: number;
  readonly isOpen: boolean;
  close(): void;
}

export class JournalReader {
  readonly #init: ReaderInit;

  constructor(init: ReaderInit) {
    this.#init = init;
  }

  read(options: ReadOptions = {}): JournalPage {
    const { after = 0 } = options;
    const head = this.#init.writer.head();
    const span = this.#span(options, head);
    const last = span && this.#lastFitting(span, options);
    if (!span || !last) return { entries: [], corrupt: [], cursor: Math.max(after, head), more: false };
    const rows = this.#rows({ ...span, to: last.position }, options);
    const page = decodePage(rows, (row) => this.#decode(row, options.outline ?? false));
    return { ...page, cursor: last.more ? sequenceOf(last.position) : Math.max(after, head), more: last.more };
  }

  /** All of it, page by page. Each page is read when it is asked for. */
  *pages(options: ReadOptions = {}): Generator<JournalPage, void, undefined> {
    let after = options.after ?? 0;
    for (;;) {
      const page = this.read({ ...options, after });
      if (page.entries.length > 0 || page.corrupt.length > 0) yield page;
      if (!page.more) return;
      after = page.cursor;
    }
  }

  /**
   * Delivers everything after the cursor before returning, and everything newer as it is committed. `deliver` is
   * synchronous; one that throws ends the subscription at the page it did not take.
   */
  subscribe(options: ReadOptions, deliver: (page: JournalPage) => void): Subscription {
    let cursor = options.after ?? 0;
    let isOpen = true;
    let isDraining = false;
    const drain = () => {
      // A delivery that appends is told about it by the next notice, not in the middle of this page.
      if (isDraining) return;
      isDraining = true;
      try {
        for (let more = true; more && isOpen;) {
          const page = this.read({ ...options, after: cursor });
          if (page.entries.length > 0 || page.corrupt.length > 0) deliver(page);
          cursor = page.cursor;
          more = page.more;
        }
      } catch (error) {
        close();
        throw error;
      } finally {
        isDraining = false;
      }
    };
    const stopListening = this.#init.notifier.listen(drain);
    const close = () => {
      isOpen = false;
      stopListening();
    };
    drain();
    return {
      get cursor() {
        return cursor;
      },
      get isOpen() {
        return isOpen;
      },
      close
    };
  }

  /** The same for a consumer that takes its time: the next page is read when the last was handled. Ends on abort. */
  async *follow(options: ReadOptions, signal: AbortSignal): AsyncGenerator<JournalPage, void, undefined> {
    let after = options.after ?? 0;
    while (!signal.aborted) {
      const page = this.read({ ...options, after });
      after = page.cursor;
      if (page.entries.length > 0 || page.corrupt.length > 0) yield page;
      // Nothing is awaited between the read and the wait, so no append can slip between them.
      else await this.#nextAppend(signal);
    }
  }

  #nextAppend(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stopListening = this.#init.notifier.listen(resolve);
    const abort = () => resolve();
    signal.addEventListener("abort", abort, { once: true });
    return promise.finally(() => {
      stopListening();
      signal.removeEventListener("abort", abort);
    });
  }

  /** The positions that can hold what was asked for, or undefined when there are none. */
  #span(options: ReadOptions, head: number): Span | undefined {
    const { conversation, turns } = this.#init;
    let [from, to] = [(options.after ?? 0) + 1, head];
    if (options.turnId !== undefined) {
      const turn = turns.read(options.turnId);
      if (!turn) return undefined;
      from = Math.max(from, turn.firstSequence);
      to = turn.lastSequence ?? head;
    }
    return from > to ? undefined : { from: positionOf(conversation, from), to: positionOf(conversation, to) };
  }

  /** Walks headers only, to find where the page must end. */
  #lastFitting(span: Span, options: ReadOptions): { position: number; more: boolean } | undefined {
    const maxRecords = Math.max(1, options.maxRecords ?? DEFAULT_PAGE_RECORDS);
    const maxBytes = options.maxBytes ?? DEFAULT_PAGE_BYTES;
    const filter = rowFilter(options);
    const headers = this.#init.sql.all<{ position: number; size_bytes: number; type: string }>(
      `SELECT position, size_bytes, type FROM cf_journal WHERE position >= ? AND position <= ?${filter.where}
       ORDER BY position LIMIT ?`,
      span.from,
      span.to,
      ...filter.values,
      maxRecords + 1
    );
    let bytes = 0;
    let fitting = 0;
    for (const header of headers.slice(0, maxRecords)) {
      bytes += options.outline && header.type === "content-segment" ? 0 : Number(header.size_bytes) || 0;
      if (fitting > 0 && bytes > maxBytes) break;
      fitting += 1;
    }
    const last = headers[fitting - 1];
    return last && { position: last.position, more: fitting < headers.length };
  }

  #rows(span: Span, options: ReadOptions): JournalRow[] {
    const filter = rowFilter(options);
    const body = options.outline ? "CASE WHEN type = 'content-segment' THEN NULL ELSE body END AS body" : "body";
    return this.#init.sql.all<JournalRow>(
      `SELECT position, turn, type, version, at, attempt, first_chunk, chunk_count, size_bytes, blob, ${body}
       FROM cf_journal WHERE position >= ? AND position <= ?${filter.where} ORDER BY position`,
      span.from,
      span.to,
      ...filter.values
    );
  }

  #decode(row: JournalRow, outline: boolean): Result<ReadableRecord> {
    // A segment of a future version is outlined like one of ours: its columns mean the same.
    if (outline && row.type === "content-segment") return decodeOutline(row);
    return decodeRow(row, this.#init.blobs);
  }
}

interface Span {
  from: number;
  to: number;
}

function rowFilter(options: ReadOptions): { where: string; values: (string | number)[] } {
  const where: string[] = [];
  const values: (string | number)[] = [];
  if (options.turnId !== undefined) {
    where.push(" AND turn = ?");
    values.push(options.turnId);
  }
  if (options.fromChunk !== undefined) {
    where.push(" AND (first_chunk IS NULL OR first_chunk + chunk_count > ?)");
    values.push(options.fromChunk);
  }
  return { where: where.join(""), values };
}

function decodePage(
  rows: JournalRow[],
  decode: (row: JournalRow) => Result<ReadableRecord>
): Pick<JournalPage, "entries" | "corrupt"> {
  const entries: JournalEntry[] = [];
  const corrupt: CorruptRow[] = [];
  for (const row of rows) {
    const sequence = sequenceOf(row.position);
    const decoded = decode(row);
    if (decoded.ok) entries.push({ sequence, record: decoded.value });
    else corrupt.push({ sequence, row, reason: decoded.error });
  }
  return { entries, corrupt };
}
