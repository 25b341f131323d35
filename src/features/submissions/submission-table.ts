// The accepted submissions of an agent: one row each, from acceptance until it is deleted. A row says what was asked and, at
// the end, what came of it; in between its turn's records say how it stands. Rows are claimed in the order of their number,
// so everything before a row whose turn ended is over, too: the queue is found without an index.
import { BlobCorruptError, BlobMissingError, type Blobs } from "../../host/blobs.ts";
import { Cached } from "../../host/cached.ts";
import type { Sql, SqlValue } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import type { KeptRow } from "../../journal/history.ts";
import { byteLength } from "../../util/bytes.ts";
import { errorMessage } from "../../util/errors.ts";
import { parseJson } from "../../util/json.ts";
import { err, ok, type Result } from "../../util/result.ts";
import type { SubmissionEnd, TerminalStatus } from "./submission.ts";

/** Texts above this are stored as blobs. */
const INLINE_BYTES = 256 * 1024;

export const SUBMISSION_TABLES: readonly TableDefinition[] = [
  // Bound: MAX_WAITING rows that wait; ended ones until deleteSubmission(s), or submissionRetentionMs. Deleted: by those.
  // `request` is emptied when it has ended. Narrow columns come first: a walk over them touches no overflow page.
  {
    name: "cf_submissions",
    create: [
      `CREATE TABLE cf_submissions (
        seq INTEGER PRIMARY KEY,
        settled_at INTEGER,
        started_at INTEGER,
        created_at INTEGER NOT NULL,
        status TEXT,
        sequence INTEGER,
        id TEXT NOT NULL,
        key_name TEXT,
        fingerprint TEXT NOT NULL,
        message_id TEXT,
        error TEXT,
        metadata TEXT,
        output TEXT,
        history TEXT,
        request TEXT
      )`
    ]
  },
  // Ids and keys that callers gave; ids of ours hold the number of their row. Bound, deletion: with their submission.
  {
    name: "cf_submission_names",
    create: [
      `CREATE TABLE cf_submission_names (
        name TEXT PRIMARY KEY,
        seq INTEGER NOT NULL
      ) WITHOUT ROWID`
    ]
  }
];

/** Without what was asked. */
export interface SubmissionRow {
  readonly seq: number;
  readonly settled_at: number | null;
  readonly started_at: number | null;
  readonly created_at: number;
  readonly status: TerminalStatus | null;
  readonly id: string;
  /** The name under which its key is kept. */
  readonly key_name: string | null;
  readonly fingerprint: string;
  readonly message_id: string | null;
  readonly error: string | null;
  readonly metadata: string | null;
  readonly output: string | null;
}

export interface NewSubmission {
  /** As the caller gave it; undefined: it is minted. */
  readonly givenId: string | undefined;
  /** As `keyName` or `durableName` makes it. */
  readonly keyName: string | undefined;
  readonly fingerprint: string;
  readonly metadata: string | null;
  readonly request: string;
  readonly createdAt: number;
}

const COLUMNS =
  "seq, settled_at, started_at, created_at, status, id, key_name, fingerprint, message_id, error, metadata, output";

export class SubmissionTable {
  readonly #table: TableSet;
  readonly #blobs: Blobs;
  readonly #newId: () => string;
  readonly #newest: Cached<number>;
  /** Everything up to here has ended. */
  readonly #ended: Cached<number>;
  /** The oldest that has not ended. */
  readonly #first: Cached<SubmissionRow | undefined>;

  constructor({ sql, blobs, newId }: { sql: Sql; blobs: Blobs; newId: () => string }) {
    this.#table = new TableSet(sql, SUBMISSION_TABLES);
    this.#blobs = blobs;
    this.#newId = newId;
    this.#newest = new Cached(sql, () => this.#seqOf("1 = 1"));
    this.#ended = new Cached(sql, () => this.#seqOf("settled_at IS NOT NULL AND started_at IS NOT NULL"));
    this.#first = new Cached(sql, () => this.#findFirst());
  }

  get isEmpty(): boolean {
    return !this.#table.exists;
  }

  transaction<T>(work: () => T): T {
    return this.#table.transaction(work);
  }

  insert(given: NewSubmission): SubmissionRow {
    const seq = this.#newest.value + 1;
    const id = given.givenId ?? `${this.#newId()}-${seq.toString(36)}`;
    const row = { seq, settled_at: null, started_at: null, created_at: given.createdAt, status: null, id };
    const { keyName: key_name = null, fingerprint, metadata } = given;
    this.#table.run(
      `INSERT INTO cf_submissions (seq, created_at, id, key_name, fingerprint, metadata, request)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      ...[seq, given.createdAt, id, key_name, fingerprint, metadata, this.#put(given.request, requestOwner(seq))]
    );
    const names = [given.givenId === undefined ? null : idName(id), key_name].filter((name) => name !== null);
    for (const name of names) this.#table.run("INSERT INTO cf_submission_names (name, seq) VALUES (?, ?)", name, seq);
    const inserted: SubmissionRow = {
      ...row,
      key_name,
      fingerprint,
      metadata,
      message_id: null,
      error: null,
      output: null
    };
    this.#newest.set(seq);
    if (this.#first.value === undefined) this.#first.set(inserted);
    return inserted;
  }

  byId(id: string): SubmissionRow | undefined {
    const minted = /-([0-9a-z]{1,10})$/.exec(id)?.[1];
    const row = minted === undefined ? undefined : this.#bySeq(Number.parseInt(minted, 36));
    return row?.id === id ? row : this.byName(idName(id));
  }

  byName(name: string): SubmissionRow | undefined {
    const found = this.#table.one<{ seq: number }>("SELECT seq FROM cf_submission_names WHERE name = ?", name);
    return found && this.#bySeq(found.seq);
  }

  /** The oldest that has not ended: its turn is open, or it is next. */
  first(): SubmissionRow | undefined {
    return this.#first.value;
  }

  /** How many may be waiting: those that were cancelled in between are counted, too. */
  waitingAtMost(): number {
    return this.#first.value === undefined ? 0 : this.#newest.value - this.#ended.value;
  }

  /** What was asked. The error says why it cannot be read. */
  request(seq: number): Result<unknown> {
    const row = this.#table.one<{ request: string | null }>("SELECT request FROM cf_submissions WHERE seq = ?", seq);
    if (typeof row?.request !== "string") return err("it is missing");
    const text = this.#get(row.request);
    return text.ok ? parseJson(text.value) : text;
  }

  output(row: SubmissionRow): Result<unknown> {
    const text = row.output === null ? ok("null") : this.#get(row.output);
    return text.ok ? parseJson(text.value) : text;
  }

  /** False if it has ended already: the first end stays. */
  end(row: SubmissionRow, end: SubmissionEnd, turn?: { sequence: number; history: string }): boolean {
    const output = end.output === undefined ? null : this.#put(JSON.stringify(end.output), outputOwner(row.seq));
    const { changed } = this.#table.change(
      `UPDATE cf_submissions SET settled_at = ?, started_at = ?, status = ?, sequence = ?, message_id = ?, error = ?,
         output = ?, history = ?, request = NULL WHERE seq = ? AND settled_at IS NULL`,
      ...[end.at, end.startedAt, end.status, turn?.sequence ?? null, end.messageId, end.error],
      ...[output, turn?.history ?? null, row.seq]
    );
    this.#blobs.release(requestOwner(row.seq));
    this.#first.drop();
    return changed === 1;
  }

  /** Newest first, from before a number on. */
  page(before: number, limit: number): SubmissionRow[] {
    return this.#table.all<SubmissionRow>(
      `SELECT ${COLUMNS} FROM cf_submissions WHERE seq < ? ORDER BY seq DESC LIMIT ?`,
      before,
      limit
    );
  }

  /** Oldest first. */
  unended(): SubmissionRow[] {
    return this.#table.all<SubmissionRow>(
      `SELECT ${COLUMNS} FROM cf_submissions WHERE seq > ? AND settled_at IS NULL ORDER BY seq`,
      this.#ended.value
    );
  }

  /** Of those that have ended, the first to do so. */
  ended({ statuses, before, limit }: { statuses: readonly string[]; before: number; limit: number }): SubmissionRow[] {
    return this.#table.all<SubmissionRow>(
      `SELECT ${COLUMNS} FROM cf_submissions WHERE settled_at < ?
         AND status IN (SELECT value FROM json_each(?)) ORDER BY settled_at, seq LIMIT ?`,
      ...[before, JSON.stringify(statuses), limit]
    );
  }

  remove({ seq, id, key_name }: SubmissionRow): void {
    this.#table.change("DELETE FROM cf_submissions WHERE seq = ?", seq);
    this.#table.change("DELETE FROM cf_submission_names WHERE name IN (?, ?)", idName(id), key_name);
    this.#blobs.release(requestOwner(seq));
    this.#blobs.release(outputOwner(seq));
    // The number of a removed row may be given again, if it was the newest.
    for (const cached of [this.#newest, this.#ended, this.#first]) cached.drop();
  }

  turns(after: number, limit: number): KeptRow[] {
    return this.#table.all<KeptRow>(
      `SELECT sequence, history AS body FROM cf_submissions WHERE seq >= ? AND sequence IS NOT NULL
       ORDER BY seq LIMIT ?`,
      ...[this.#endedAfter(after), limit]
    );
  }

  turnsBefore(before: number, limit: number): KeptRow[] {
    return this.#table.all<KeptRow>(
      `SELECT sequence, history AS body FROM cf_submissions WHERE seq < ? AND sequence IS NOT NULL
       ORDER BY seq DESC LIMIT ?`,
      ...[this.#endedAfter(before - 1), limit]
    );
  }

  newestTurns(limit: number): number[] {
    const query = "SELECT sequence FROM cf_submissions WHERE sequence IS NOT NULL ORDER BY seq DESC LIMIT ?";
    return this.#table.all<{ sequence: number }>(query, limit).map(({ sequence }) => sequence);
  }

  /**
   * From this row on, turns ended after a sequence. Turns of submissions end in the order of the rows: the place is found
   * by halving, and neither an index nor a walk over what is kept is needed.
   */
  #endedAfter(sequence: number): number {
    const query =
      "SELECT seq, sequence FROM cf_submissions WHERE seq >= ? AND sequence IS NOT NULL ORDER BY seq LIMIT 1";
    let low = 0;
    // From the first that has not ended on, no turn has.
    for (let high = this.first()?.seq ?? this.#newest.value + 1; low < high;) {
      const middle = Math.floor((low + high) / 2);
      const row = this.#table.one<{ seq: number; sequence: number }>(query, middle);
      if (!row || row.sequence > sequence) high = middle;
      else low = row.seq + 1;
    }
    return low;
  }

  #findFirst(): SubmissionRow | undefined {
    const query = `SELECT ${COLUMNS} FROM cf_submissions WHERE seq > ? AND settled_at IS NULL ORDER BY seq LIMIT 1`;
    const row = this.#table.one<SubmissionRow>(query, this.#ended.value);
    this.#ended.set(row ? row.seq - 1 : this.#newest.value);
    return row;
  }

  #bySeq(seq: number): SubmissionRow | undefined {
    return this.#table.one<SubmissionRow>(`SELECT ${COLUMNS} FROM cf_submissions WHERE seq = ?`, seq);
  }

  /** The newest of which this is true, 0 for none. Walks back over those that wait. */
  #seqOf(condition: string): number {
    const query = `SELECT seq FROM cf_submissions WHERE ${condition} ORDER BY seq DESC LIMIT 1`;
    return this.#table.one<{ seq: number }>(query)?.seq ?? 0;
  }

  /** As it is, or where it is: no JSON begins with the sign that tells them apart. */
  #put(text: string, owner: string): SqlValue {
    if (byteLength(text) <= INLINE_BYTES) return text;
    const { hash, sizeBytes } = this.#blobs.put(text, owner);
    return `@${hash} ${sizeBytes}`;
  }

  #get(stored: string): Result<string> {
    if (!stored.startsWith("@")) return ok(stored);
    const [hash = "", size = ""] = stored.slice(1).split(" ");
    try {
      return ok(this.#blobs.readText({ hash, sizeBytes: Number(size) }));
    } catch (error) {
      if (error instanceof BlobMissingError || error instanceof BlobCorruptError) return err(errorMessage(error));
      throw error;
    }
  }
}

export function idName(id: string): string {
  return `id:${id}`;
}

const KEY = "key:";

export function keyName(key: string): string {
  return `${KEY}${key}`;
}

/** Of a call in work that is run again after a crash. No caller knows this key. */
export function durableName(key: string): string {
  return `durable:${key}`;
}

/** The key as its caller gave it. */
export function keyOf({ key_name }: Pick<SubmissionRow, "key_name">): string | undefined {
  return key_name?.startsWith(KEY) ? key_name.slice(KEY.length) : undefined;
}

function requestOwner(seq: number): string {
  return `submission:${seq}`;
}

function outputOwner(seq: number): string {
  return `submission-output:${seq}`;
}
