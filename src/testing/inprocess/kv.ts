// Key-value storage inside the object's own database, so that one transaction covers both. Values are structured clones.
import { deserialize, serialize } from "node:v8";
import type { StorageAccess } from "./storage-access.ts";
import { VALUE_LIMIT_BYTES } from "./sql.ts";

export interface KvListOptions {
  start?: string;
  startAfter?: string;
  end?: string;
  prefix?: string;
  reverse?: boolean;
  limit?: number;
}

const TABLE = "_cf_KV";
const KEY_LIMIT_BYTES = 2048;
const HIGHEST_CHARACTER = "\u{10ffff}";

/** `ctx.storage.kv`. The asynchronous calls of `ctx.storage` are the same operations behind promises. */
export class SyncKvFake {
  readonly #access: StorageAccess;

  constructor(access: StorageAccess) {
    this.#access = access;
  }

  get(key: string): unknown {
    const { database } = this.#access;
    if (!database.has(TABLE)) return undefined;
    const [row] = database.run(`SELECT value FROM ${TABLE} WHERE key = ?`, key).rows;
    this.#access.read(row === undefined ? 0 : 1);
    return row === undefined ? undefined : decode(row[0]);
  }

  put(key: string, value: unknown): void {
    const { database } = this.#access;
    if (Buffer.byteLength(key) > KEY_LIMIT_BYTES) {
      throw new RangeError(`Keys cannot be larger than ${KEY_LIMIT_BYTES} bytes.`);
    }
    const bytes = serialize(structuredClone(value));
    if (bytes.byteLength > VALUE_LIMIT_BYTES) throw new Error("string or blob too big: SQLITE_TOOBIG");
    database.run(`CREATE TABLE IF NOT EXISTS ${TABLE} (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID`);
    database.run(`INSERT OR REPLACE INTO ${TABLE} (key, value) VALUES (?, ?)`, key, bytes);
    this.#access.wrote(1);
  }

  delete(key: string): boolean {
    const { database } = this.#access;
    if (!database.has(TABLE)) return false;
    const { rowsWritten } = database.run(`DELETE FROM ${TABLE} WHERE key = ?`, key);
    if (rowsWritten > 0) this.#access.wrote(rowsWritten);
    return rowsWritten > 0;
  }

  list(options: KvListOptions = {}): Iterable<[string, unknown]> {
    const { database } = this.#access;
    if (!database.has(TABLE)) return [][Symbol.iterator]();
    const from = [options.start ?? "", options.prefix ?? ""].sort().at(-1) ?? "";
    const rows = database.run(
      `SELECT key, value FROM ${TABLE}
       WHERE key >= ? AND (? IS NULL OR key > ?) AND (? IS NULL OR key < ?) AND (? IS NULL OR key < ?)
       ORDER BY key ${options.reverse === true ? "DESC" : "ASC"} LIMIT ?`,
      from,
      ...twice(options.startAfter),
      ...twice(options.end),
      ...twice(options.prefix === undefined ? undefined : options.prefix + HIGHEST_CHARACTER),
      options.limit ?? -1
    ).rows;
    this.#access.read(rows.length);
    return rows.map(([key, value]): [string, unknown] => [String(key), decode(value)])[Symbol.iterator]();
  }
}

function twice(value: string | undefined): [string | null, string | null] {
  return [value ?? null, value ?? null];
}

function decode(stored: unknown): unknown {
  return stored instanceof Uint8Array ? deserialize(stored) : undefined;
}
