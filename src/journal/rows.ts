// The journal's table: one row per append, named by the sequence of its last record. An INTEGER PRIMARY KEY is the table
// itself, so an append writes exactly one row and no index, and "everything after a sequence" is a walk from one key.
// Large bodies go to blobs and come back here, invisible to everyone else. What the text means is in batch.ts.
import { BlobCorruptError, BlobMissingError, type Blobs } from "../host/blobs.ts";
import { Cached } from "../host/cached.ts";
import type { Sql } from "../host/ports.ts";
import { TableSet, type TableDefinition } from "../host/table-set.ts";
import { errorMessage } from "../util/errors.ts";
import { err, ok, type Result } from "../util/result.ts";
import type { Batch } from "./batch.ts";
import type { Conversation } from "./conversation.ts";

/** Bodies above this are stored as blobs, so that a page of rows stays small and no cell nears the platform's limit. */
export const INLINE_BODY_BYTES = 256 * 1024;

/** How far back a search goes that a client can cause. What lies beyond counts as forgotten. */
export const SEARCH_LIMITS = { rows: 2000, bytes: 32 * 1024 * 1024 } as const;
const UNLIMITED: SearchLimits = { rows: Infinity, bytes: Infinity };

interface SearchLimits {
  readonly rows: number;
  readonly bytes: number;
}

/** As read. `body` is null when it is in a blob. */
export interface JournalRow {
  readonly last: number;
  readonly count: number;
  readonly size_bytes: number;
  readonly blob: string | null;
  readonly body: string | null;
}

export interface NewRow extends Batch {
  readonly last: number;
  readonly at: number;
  /** Records up to this sequence are needed by no turn any more, as of this append. */
  readonly freeTo: number;
}

/** What one conversation's journal is stored with. */
export interface JournalStorage {
  sql: Sql;
  blobs: Blobs;
  conversation: Conversation;
}

const COLUMNS = "last, count, size_bytes, blob, body";

export const JOURNAL_TABLES: readonly TableDefinition[] = [
  // One row per append, `last` being the sequence of its last record. Bound: what open turns wrote, and what others
  // did for RetentionOptions.contentTtlMs after they settled; bodies above 256 KB are in cf_blobs. Deleted: by
  // journal/retention, all at once after a clear. `free_to` is the sequence up to which no turn needed the records
  // any more when this row was written: retention counts from there, and finds it without reading a body. Narrow
  // columns come first, so that a walk over headers never touches a body's overflow pages.
  {
    name: "cf_journal",
    create: [
      `CREATE TABLE cf_journal (
        last INTEGER PRIMARY KEY,
        count INTEGER NOT NULL,
        at INTEGER NOT NULL,
        free_to INTEGER NOT NULL,
        size_bytes INTEGER NOT NULL,
        blob TEXT,
        body TEXT
      )`
    ]
  }
];

export class JournalRows {
  readonly #table: TableSet;
  readonly #blobs: Blobs;
  readonly #conversation: Conversation;
  /** Sequence of the newest stored record. */
  readonly #newest: Cached<number>;

  constructor({ sql, blobs, conversation }: JournalStorage) {
    this.#table = new TableSet(sql, JOURNAL_TABLES);
    this.#blobs = blobs;
    this.#conversation = conversation;
    this.#newest = new Cached(sql, () => {
      return this.#table.one<{ last: number | null }>("SELECT max(last) AS last FROM cf_journal")?.last ?? 0;
    });
  }

  /** Sequence of the newest record ever written, 0 for none. */
  head(): number {
    // Retention may have deleted the newest record; its sequence must not come back with another meaning.
    return Math.max(this.#newest.value, this.#conversation.row.journalFloor);
  }

  insert(row: NewRow): void {
    const { blob, body } = this.#place(row.last, row);
    this.#table.run(
      "INSERT INTO cf_journal (last, count, at, free_to, size_bytes, blob, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
      ...[row.last, row.count, row.at, row.freeTo, row.sizeBytes, blob, body]
    );
    this.#newest.set(row.last);
  }

  /** Other text for the same sequences. */
  replace(last: number, batch: Batch): void {
    this.#blobs.release(bodyOwner(last));
    const { blob, body } = this.#place(last, batch);
    this.#table.change(
      "UPDATE cf_journal SET count = ?, size_bytes = ?, blob = ?, body = ? WHERE last = ?",
      ...[batch.count, batch.sizeBytes, blob, body, last]
    );
  }

  read(last: number): JournalRow | undefined {
    return this.#table.one<JournalRow>(`SELECT ${COLUMNS} FROM cf_journal WHERE last = ?`, last);
  }

  /** Rows with records from a sequence on, without their bodies. */
  sizes(from: number, limit: number): Pick<JournalRow, "last" | "count" | "size_bytes">[] {
    return this.#table.all(
      "SELECT last, count, size_bytes FROM cf_journal WHERE last >= ? ORDER BY last LIMIT ?",
      from,
      limit
    );
  }

  /** Newest first, without their bodies. */
  newest(limit: number): Pick<JournalRow, "last" | "count">[] {
    return this.#table.all("SELECT last, count FROM cf_journal ORDER BY last DESC LIMIT ?", limit);
  }

  between(from: number, last: number): JournalRow[] {
    return this.#table.all<JournalRow>(
      `SELECT ${COLUMNS} FROM cf_journal WHERE last >= ? AND last <= ? ORDER BY last`,
      from,
      last
    );
  }

  /** Backwards to the row that holds this sequence or to a limit, one in memory at a time. */
  *newestFirst(downTo: number, limits: SearchLimits = UNLIMITED): Generator<JournalRow, void, undefined> {
    let { rows, bytes } = limits;
    for (let before = Number.MAX_SAFE_INTEGER; rows > 0 && bytes > 0; rows -= 1) {
      const row = this.#table.one<JournalRow>(
        `SELECT ${COLUMNS} FROM cf_journal WHERE last >= ? AND last < ? ORDER BY last DESC LIMIT 1`,
        downTo,
        before
      );
      if (!row) return;
      yield row;
      before = row.last;
      bytes -= Number(row.size_bytes) || 0;
    }
  }

  /** Of the bodies from this sequence on, without reading them. */
  bytesFrom(sequence: number): number {
    const sum = this.#table.one<{ bytes: number | null }>(
      "SELECT sum(size_bytes) AS bytes FROM cf_journal WHERE last >= ?",
      sequence
    );
    return Number(sum?.bytes ?? 0);
  }

  text(row: JournalRow): Result<string> {
    if (row.blob === null) return typeof row.body === "string" ? ok(row.body) : err("its body is missing");
    try {
      return ok(this.#blobs.readText({ hash: row.blob, sizeBytes: row.size_bytes }));
    } catch (error) {
      if (error instanceof BlobMissingError || error instanceof BlobCorruptError) return err(errorMessage(error));
      throw error;
    }
  }

  oldest(): { last: number; at: number } | undefined {
    return this.#table.one("SELECT last, at FROM cf_journal ORDER BY last LIMIT 1");
  }

  /** The first append that says that no turn needs this sequence any more, and how far that goes. */
  freeing(sequence: number): { upTo: number; at: number } | undefined {
    return this.#table.one(
      "SELECT free_to AS upTo, at FROM cf_journal WHERE free_to >= ? ORDER BY last LIMIT 1",
      sequence
    );
  }

  /** Deletes the oldest rows up to a sequence, at most `limit` of them. */
  delete(upTo: number, limit: number): number {
    const rows = this.#table.all<{ last: number; blob: string | null }>(
      "SELECT last, blob FROM cf_journal WHERE last <= ? ORDER BY last LIMIT ?",
      upTo,
      limit
    );
    const newest = rows.at(-1);
    if (!newest) return 0;
    for (const { last, blob } of rows) if (blob !== null) this.#blobs.release(bodyOwner(last));
    this.#table.change("DELETE FROM cf_journal WHERE last <= ?", newest.last);
    this.#newest.drop();
    return rows.length;
  }

  #place(last: number, { sizeBytes, body }: Batch): { blob: string | null; body: string | null } {
    if (sizeBytes <= INLINE_BODY_BYTES) return { blob: null, body };
    return { blob: this.#blobs.put(body, bodyOwner(last)).hash, body: null };
  }
}

/** The owner under which the body of one row holds its blob. */
function bodyOwner(last: number): string {
  return `journal:${last}`;
}
