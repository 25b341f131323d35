// The message table, statement by statement. Everything an append, an update or a walk needs is found by primary key;
// only branch points use the small partial index, and only what is documented as a scan reads more rows than it returns.
// Walks go from a message towards its root. They cannot loop: a parent was always written before its child.
import { Cached } from "../host/cached.ts";
import type { Quarantine } from "../host/quarantine.ts";
import type { Sql, SqlValue } from "../host/ports.ts";
import { TableSet, type TableDefinition } from "../host/table-set.ts";

export const MESSAGE_TABLES: readonly TableDefinition[] = [
  // Bound: a row per message, below 2 MB (larger ones whole in cf_blobs). Deleted: by deleteMessages, clearMessages.
  {
    name: "assistant_messages",
    create: [
      `CREATE TABLE assistant_messages (
        session_id TEXT NOT NULL DEFAULT '',
        id TEXT NOT NULL,
        parent_id TEXT,
        role TEXT NOT NULL,
        sequence INTEGER NOT NULL,
        is_branch INTEGER NOT NULL,
        size_bytes INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        path_length INTEGER NOT NULL,
        path_bytes INTEGER NOT NULL,
        path_tokens INTEGER NOT NULL,
        full_hash TEXT,
        full_bytes INTEGER,
        created_at TEXT NOT NULL,
        content TEXT NOT NULL,
        PRIMARY KEY (session_id, id)
      ) WITHOUT ROWID`,
      // Roots, and messages with siblings: the few rows by which branches are found. A linear append never touches
      // it.
      `CREATE INDEX assistant_messages_branches ON assistant_messages (session_id, parent_id, sequence) WHERE is_branch = 1`
    ]
  }
];

/** All of a message but its content. */
export interface MessageHeader {
  readonly id: string;
  readonly parentId: string | null;
  readonly role: string;
  /** Order of writing in the conversation. */
  readonly sequence: number;
  /** 1 for roots and for every message that has siblings; then its siblings have it too. */
  readonly isBranch: number;
  readonly sizeBytes: number;
  readonly tokens: number;
  /** Sums over the path from the root to this message. Exact on the newest message of the active path only. */
  readonly pathLength: number;
  readonly pathBytes: number;
  readonly pathTokens: number;
  /** The whole message, when the row shows less. */
  readonly fullHash: string | null;
  readonly fullBytes: number | null;
}

export interface MessageRow extends MessageHeader {
  readonly content: string;
}

/** What a history needs of a message. It reads thousands, and handing over all columns costs more than finding the rows. */
export type PathRow = Pick<MessageRow, "id" | "parentId" | "role" | "sequence" | "sizeBytes" | "content">;

/** Content of a row that was set aside. Earlier builds wrote nothing there, which damage does too: those are reported again. */
export const SET_ASIDE = " ";

/** Rows and bytes of content one statement may return; a single larger row is returned alone. */
export const BATCH_ROWS = 50;
export const BATCH_BYTES = 4 * 1024 * 1024;
const FIRST_HEADERS = 8;
const MAX_HEADERS = 500;
/** The platform takes 100 parameters in one statement. */
const IDS_PER_STATEMENT = 90;

// Narrow columns are stored before the content, so reading a header never loads a body's overflow pages.
const HEADER = `m.id, m.parent_id AS parentId, m.role, m.sequence, m.is_branch AS isBranch, m.size_bytes AS sizeBytes,
  m.tokens, m.path_length AS pathLength, m.path_bytes AS pathBytes, m.path_tokens AS pathTokens,
  m.full_hash AS fullHash, m.full_bytes AS fullBytes`;
const ROW = `${HEADER}, m.content`;
const ALL_COLUMNS = `parent_id, role, sequence, is_branch, size_bytes, tokens, path_length, path_bytes, path_tokens,
  full_hash, full_bytes`;

const PATH_ROW = "m.id, m.parent_id AS parentId, m.role, m.sequence, m.size_bytes AS sizeBytes, m.content";

// The outer SELECT takes the same columns by the names they have in `path`.
const walkStatement = (columns: string) => `WITH RECURSIVE path AS (
    SELECT ${columns}, 1 AS count, m.size_bytes AS total FROM assistant_messages AS m
      WHERE m.session_id = ?1 AND m.id = ?2 AND m.sequence < ?3 AND m.sequence > ?6
    UNION ALL
    SELECT ${columns}, path.count + 1, path.total + m.size_bytes
      FROM path CROSS JOIN assistant_messages AS m ON m.session_id = ?1 AND m.id = path.parentId
      WHERE m.sequence < path.sequence AND m.sequence > ?6 AND path.count < ?4 AND path.total + m.size_bytes <= ?5
  ) SELECT ${columns.replaceAll(/m\.(\w+ AS )?/g, "")} FROM path`;
const WALK_HEADERS = walkStatement(HEADER);
const WALK_ROWS = walkStatement(PATH_ROW);

export interface WalkLimits {
  readonly rows: number;
  readonly bytes: number;
}

/** Where a walk ends before the root: this message and what is older are not read. */
export interface WalkStop {
  readonly id: string;
  readonly sequence: number;
}

export class MessageRows {
  /** For statements of other files; they only read. */
  readonly table: TableSet;
  readonly #session: string;
  /** The message that was last written, or asked for as the newest. */
  readonly #newest: Cached<MessageHeader | undefined>;
  readonly #setAside: Quarantine | undefined;

  constructor(sql: Sql, session: string, setAside?: Quarantine) {
    this.table = new TableSet(sql, MESSAGE_TABLES);
    this.#session = session;
    this.#newest = new Cached<MessageHeader | undefined>(sql, () => undefined);
    this.#setAside = setAside;
  }

  header(id: string): MessageHeader | undefined {
    return this.table.one<MessageHeader>(
      `SELECT ${HEADER} FROM assistant_messages AS m WHERE m.session_id = ? AND m.id = ?`,
      this.#session,
      id
    );
  }

  /** Which of these are stored, in one statement: a queue asks it of all its questions. */
  storedOf(ids: readonly string[]): ReadonlySet<string> {
    if (ids.length === 0) return new Set();
    const found = this.table.all<{ id: string }>(
      "SELECT id FROM assistant_messages WHERE session_id = ? AND id IN (SELECT value FROM json_each(?))",
      this.#session,
      JSON.stringify(ids)
    );
    return new Set(found.map(({ id }) => id));
  }

  /** The same of the newest message, which is asked for all the time. */
  newestHeader(id: string): MessageHeader | undefined {
    const known = this.#newest.value;
    if (known?.id === id) return known;
    const header = this.header(id);
    this.#newest.set(header);
    return header;
  }

  row(id: string): MessageRow | undefined {
    return this.table.one<MessageRow>(
      `SELECT ${ROW} FROM assistant_messages AS m WHERE m.session_id = ? AND m.id = ?`,
      this.#session,
      id
    );
  }

  headers(ids: readonly string[]): Map<string, MessageHeader> {
    return this.#byIds<MessageHeader>(HEADER, ids);
  }

  /** With their content: ask for few at a time. */
  rows(ids: readonly string[]): Map<string, MessageRow> {
    return this.#byIds<MessageRow>(ROW, ids);
  }

  /** From a message up to its root, in growing batches: a short walk reads few rows. */
  *path(fromId: string, stop?: WalkStop): Generator<MessageHeader, void, undefined> {
    let next: string | null = fromId;
    let below = Number.MAX_SAFE_INTEGER;
    let above: MessageHeader | undefined;
    for (let rows = FIRST_HEADERS; next !== null && next !== stop?.id; rows = Math.min(rows * 4, MAX_HEADERS)) {
      const batch: MessageHeader[] = this.#walk<MessageHeader>(WALK_HEADERS, {
        next,
        below,
        stop,
        rows,
        bytes: Number.MAX_SAFE_INTEGER
      });
      const last = batch.at(-1);
      yield* batch;
      next = last ? last.parentId : this.#mend(above);
      above = last;
      below = last?.sequence ?? below;
    }
  }

  /** The same with content, in batches no larger than `limits` says before each. */
  *pathRows(fromId: string, limits: () => WalkLimits, stop?: WalkStop): Generator<PathRow, void, undefined> {
    let next: string | null = fromId;
    let below = Number.MAX_SAFE_INTEGER;
    let above: PathRow | undefined;
    while (next !== null && next !== stop?.id) {
      const batch: PathRow[] = this.#walk<PathRow>(WALK_ROWS, { next, below, stop, ...limits() });
      const last = batch.at(-1);
      yield* batch;
      next = last ? last.parentId : this.#mend(above);
      above = last;
      below = last?.sequence ?? below;
    }
  }

  /**
   * A message whose parent does not exist: every call that removes messages links their children anew, so the row is
   * damaged. It gets the message written before it as its parent; what it hung below stays in the history.
   */
  #mend(orphan: Pick<MessageHeader, "id" | "parentId" | "sequence"> | undefined): string | null {
    if (!orphan) return null;
    const before = this.table.one<{ id: string }>(
      `SELECT id FROM assistant_messages WHERE session_id = ? AND sequence < ? ORDER BY sequence DESC LIMIT 1`,
      this.#session,
      orphan.sequence
    );
    const parentId = before?.id ?? null;
    const error = `its parent does not exist; it is shown below ${parentId ?? "nothing"}`;
    this.#setAside?.({ table: "assistant_messages", key: orphan.id, body: String(orphan.parentId), error });
    this.#change(
      "UPDATE assistant_messages SET parent_id = ? WHERE session_id = ? AND id = ?",
      parentId,
      this.#session,
      orphan.id
    );
    return parentId;
  }

  /** Children that have siblings, and roots (`null`), oldest first. An only child is not among them. */
  branches(parentId: string | null): MessageHeader[] {
    return this.table.all<MessageHeader>(
      `SELECT ${HEADER} FROM assistant_messages AS m
         WHERE m.session_id = ? AND m.parent_id IS ? AND m.is_branch = 1 ORDER BY m.sequence`,
      this.#session,
      parentId
    );
  }

  /** Scans the session. For a message off the active path, whose only child has no other trace. */
  scanForChild(parentId: string): MessageHeader | undefined {
    return this.table.one<MessageHeader>(
      `SELECT ${HEADER} FROM assistant_messages AS m WHERE m.session_id = ? AND m.parent_id = ?`,
      this.#session,
      parentId
    );
  }

  /** Scans the session. For deletions, and to find the newest message again. */
  scanHeaders(): MessageHeader[] {
    return this.table.all<MessageHeader>(
      `SELECT ${HEADER} FROM assistant_messages AS m WHERE m.session_id = ?`,
      this.#session
    );
  }

  insert(row: MessageRow, createdAt: string): void {
    this.table.run(
      `INSERT INTO assistant_messages (session_id, id, ${ALL_COLUMNS}, created_at, content)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      this.#session,
      row.id,
      ...columnValues(row),
      createdAt,
      row.content
    );
    const { content: _, ...header } = row;
    this.#newest.set(header);
  }

  /** Replaces everything but the id and the time of creation. */
  replace(row: MessageRow): void {
    this.#change(
      `UPDATE assistant_messages SET (${ALL_COLUMNS}, content) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         WHERE session_id = ? AND id = ?`,
      ...columnValues(row),
      row.content,
      this.#session,
      row.id
    );
  }

  /** Replaces what is not content. */
  replaceHeader(header: MessageHeader): void {
    this.#change(
      `UPDATE assistant_messages SET (${ALL_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         WHERE session_id = ? AND id = ?`,
      ...columnValues(header),
      this.#session,
      header.id
    );
  }

  /** A row that cannot be read: what is left of it holds its children's place in the tree. */
  setAside({ id, content }: { readonly id: string; readonly content: string }, error: string): void {
    this.table.transaction(() => {
      const key = JSON.stringify([this.#session, id]);
      this.#setAside?.({ table: "assistant_messages", key, body: String(content), error });
      const mark = "UPDATE assistant_messages SET content = ? WHERE session_id = ? AND id = ?";
      this.#change(mark, SET_ASIDE, this.#session, id);
    });
  }

  delete(id: string): void {
    this.#change("DELETE FROM assistant_messages WHERE session_id = ? AND id = ?", this.#session, id);
  }

  deleteAll(): void {
    this.#change("DELETE FROM assistant_messages WHERE session_id = ?", this.#session);
  }

  #change(statement: string, ...values: SqlValue[]): void {
    this.table.change(statement, ...values);
    this.#newest.drop();
  }

  #walk<Row extends object>(
    statement: string,
    start: WalkLimits & { next: string; below: number; stop: WalkStop | undefined }
  ): Row[] {
    const { next, below, rows, bytes, stop } = start;
    const downTo = stop?.sequence ?? Number.MIN_SAFE_INTEGER;
    return this.table.all<Row>(statement, this.#session, next, below, rows, bytes, downTo);
  }

  #byIds<Row extends MessageHeader>(columns: string, ids: readonly string[]): Map<string, Row> {
    const found = new Map<string, Row>();
    for (let start = 0; start < ids.length; start += IDS_PER_STATEMENT) {
      const some = ids.slice(start, start + IDS_PER_STATEMENT);
      const rows = this.table.all<Row>(
        `SELECT ${columns} FROM assistant_messages AS m
           WHERE m.session_id = ? AND m.id IN (${some.map(() => "?").join(", ")})`,
        this.#session,
        ...some
      );
      for (const row of rows) found.set(row.id, row);
    }
    return found;
  }
}

function columnValues(header: MessageHeader): SqlValue[] {
  return [
    header.parentId,
    header.role,
    header.sequence,
    header.isBranch,
    header.sizeBytes,
    header.tokens,
    header.pathLength,
    header.pathBytes,
    header.pathTokens,
    header.fullHash,
    header.fullBytes
  ];
}
