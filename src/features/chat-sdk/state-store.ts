// The state of Chat SDK adapters as rows: subscriptions, locks, a cache, queues and lists. Each operation is synchronous;
// what has expired is never read. The agent around it schedules the clean-up.
import type { Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { chatSdkErrors } from "./errors.ts";

/** The tables of a state facet. Their names are part of the contract: operators read them. */
export const CHAT_SDK_TABLES: readonly TableDefinition[] = [
  // Bound: the threads a bot follows. Deleted: by `unsubscribe`.
  {
    name: "chat_sdk_state_subscriptions",
    create: [`CREATE TABLE chat_sdk_state_subscriptions (thread_id TEXT PRIMARY KEY) WITHOUT ROWID`]
  },
  // Bound: one for each thread. Deleted: when it is released or has expired.
  {
    name: "chat_sdk_state_locks",
    create: [
      `CREATE TABLE chat_sdk_state_locks
        (thread_id TEXT PRIMARY KEY, token TEXT NOT NULL, expires_at INTEGER NOT NULL) WITHOUT ROWID`
    ]
  },
  // Bound: the adapter's keys. Deleted: by `delete`, or when they have expired.
  {
    name: "chat_sdk_state_cache",
    create: [
      `CREATE TABLE chat_sdk_state_cache (key TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER) WITHOUT ROWID`
    ]
  },
  // Bound: the `maxSize` of each call. Deleted: when taken, displaced by newer ones, or expired.
  {
    name: "chat_sdk_state_queue",
    create: [
      `CREATE TABLE chat_sdk_state_queue (id INTEGER PRIMARY KEY AUTOINCREMENT, thread_id TEXT NOT NULL,
        value TEXT NOT NULL, enqueued_at INTEGER NOT NULL, expires_at INTEGER NOT NULL)`,
      `CREATE INDEX chat_sdk_state_queue_thread ON chat_sdk_state_queue (thread_id, id)`
    ]
  },
  // Bound: the `maxLength` of each call. Deleted: when displaced by newer ones, or expired.
  {
    name: "chat_sdk_state_lists",
    create: [
      `CREATE TABLE chat_sdk_state_lists (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL,
        value TEXT NOT NULL, expires_at INTEGER)`,
      `CREATE INDEX chat_sdk_state_lists_key ON chat_sdk_state_lists (key, id)`
    ]
  },
  // Bound: one row, the clean-up that is scheduled. Deleted: when nothing is left to expire.
  {
    name: "chat_sdk_state_metadata",
    create: [`CREATE TABLE chat_sdk_state_metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID`]
  }
];

export interface ChatLock {
  readonly threadId: string;
  readonly token: string;
  readonly expiresAt: number;
}

export interface QueueEntry {
  readonly enqueuedAt: number;
  readonly expiresAt: number;
}

const EXPIRING = ["locks", "cache", "queue", "lists"] as const;

export class ChatSdkStateStore {
  readonly #tables: TableSet;
  readonly #now: () => number;

  constructor(sql: Sql, now: () => number) {
    this.#tables = new TableSet(sql, CHAT_SDK_TABLES);
    this.#now = now;
  }

  // ── Subscriptions ──

  subscribe(threadId: string): void {
    this.#tables.run(`INSERT INTO chat_sdk_state_subscriptions VALUES (?) ON CONFLICT DO NOTHING`, threadId);
  }

  unsubscribe(threadId: string): void {
    this.#tables.change(`DELETE FROM chat_sdk_state_subscriptions WHERE thread_id = ?`, threadId);
  }

  isSubscribed(threadId: string): boolean {
    return !!this.#tables.one(`SELECT 1 FROM chat_sdk_state_subscriptions WHERE thread_id = ?`, threadId);
  }

  // ── Locks ──

  acquireLock(threadId: string, ttlMs: number): ChatLock | null {
    const now = this.#now();
    this.#tables.change(`DELETE FROM chat_sdk_state_locks WHERE thread_id = ? AND expires_at <= ?`, threadId, now);
    const lock = { threadId, token: crypto.randomUUID(), expiresAt: now + ttlMs };
    const { changed } = this.#tables.run(
      `INSERT INTO chat_sdk_state_locks VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
      threadId,
      lock.token,
      lock.expiresAt
    );
    return changed === 1 ? lock : null;
  }

  releaseLock({ threadId, token }: ChatLock): void {
    this.#tables.change(`DELETE FROM chat_sdk_state_locks WHERE thread_id = ? AND token = ?`, threadId, token);
  }

  extendLock({ threadId, token }: ChatLock, ttlMs: number): boolean {
    const now = this.#now();
    const { changed } = this.#tables.change(
      `UPDATE chat_sdk_state_locks SET expires_at = ? WHERE thread_id = ? AND token = ? AND expires_at > ?`,
      now + ttlMs,
      threadId,
      token,
      now
    );
    return changed === 1;
  }

  forceReleaseLock(threadId: string): void {
    this.#tables.change(`DELETE FROM chat_sdk_state_locks WHERE thread_id = ?`, threadId);
  }

  // ── Queues ──

  /** Adds an entry; the newest `maxSize` are kept. Returns how many wait. */
  enqueue(threadId: string, entry: QueueEntry, maxSize: number): number {
    const { enqueuedAt, expiresAt } = entry;
    if (typeof enqueuedAt !== "number" || typeof expiresAt !== "number") throw chatSdkErrors.QueueEntryError();
    this.#tables.run(
      `INSERT INTO chat_sdk_state_queue (thread_id, value, enqueued_at, expires_at) VALUES (?, ?, ?, ?)`,
      threadId,
      JSON.stringify(entry),
      enqueuedAt,
      expiresAt
    );
    this.#tables.change(
      `DELETE FROM chat_sdk_state_queue WHERE thread_id = ? AND id NOT IN
        (SELECT id FROM chat_sdk_state_queue WHERE thread_id = ? ORDER BY id DESC LIMIT ?)`,
      threadId,
      threadId,
      maxSize
    );
    return this.queueDepth(threadId);
  }

  dequeue(threadId: string): unknown {
    this.#tables.change(
      `DELETE FROM chat_sdk_state_queue WHERE thread_id = ? AND expires_at <= ?`,
      threadId,
      this.#now()
    );
    const row = this.#tables.one<{ id: number; value: string }>(
      `SELECT id, value FROM chat_sdk_state_queue WHERE thread_id = ? ORDER BY id LIMIT 1`,
      threadId
    );
    if (!row) return null;
    this.#tables.change(`DELETE FROM chat_sdk_state_queue WHERE id = ?`, row.id);
    return parse(`queue of ${threadId}`, row.value);
  }

  queueDepth(threadId: string): number {
    const row = this.#tables.one<{ n: number }>(
      `SELECT COUNT(*) AS n FROM chat_sdk_state_queue WHERE thread_id = ? AND expires_at > ?`,
      threadId,
      this.#now()
    );
    return row?.n ?? 0;
  }

  // ── The cache ──

  get(key: string): unknown {
    const row = this.#tables.one<{ value: string }>(
      `SELECT value FROM chat_sdk_state_cache WHERE key = ? AND (expires_at IS NULL OR expires_at > ?)`,
      key,
      this.#now()
    );
    return row ? parse(key, row.value) : null;
  }

  set(key: string, value: unknown, ttlMs?: number): void {
    this.#tables.run(
      `INSERT INTO chat_sdk_state_cache VALUES (?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
      key,
      JSON.stringify(value) ?? "null",
      ttlMs === undefined ? null : this.#now() + ttlMs
    );
  }

  setIfNotExists(key: string, value: unknown, ttlMs?: number): boolean {
    this.#tables.change(`DELETE FROM chat_sdk_state_cache WHERE key = ? AND expires_at <= ?`, key, this.#now());
    if (this.#tables.one(`SELECT 1 FROM chat_sdk_state_cache WHERE key = ?`, key)) return false;
    this.set(key, value, ttlMs);
    return true;
  }

  delete(key: string): void {
    this.#tables.change(`DELETE FROM chat_sdk_state_cache WHERE key = ?`, key);
  }

  // ── Lists ──

  appendToList(key: string, value: unknown, options: { maxLength?: number; ttlMs?: number } = {}): void {
    const { maxLength, ttlMs } = options;
    const expiresAt = ttlMs === undefined ? null : this.#now() + ttlMs;
    this.#tables.run(
      `INSERT INTO chat_sdk_state_lists (key, value, expires_at) VALUES (?, ?, ?)`,
      key,
      JSON.stringify(value) ?? "null",
      expiresAt
    );
    // The time to live is the list's, not the entry's.
    if (expiresAt !== null)
      this.#tables.change(`UPDATE chat_sdk_state_lists SET expires_at = ? WHERE key = ?`, expiresAt, key);
    if (maxLength === undefined) return;
    this.#tables.change(
      `DELETE FROM chat_sdk_state_lists WHERE key = ? AND id NOT IN
        (SELECT id FROM chat_sdk_state_lists WHERE key = ? ORDER BY id DESC LIMIT ?)`,
      key,
      key,
      maxLength
    );
  }

  getList(key: string): unknown[] {
    this.#tables.change(`DELETE FROM chat_sdk_state_lists WHERE key = ? AND expires_at <= ?`, key, this.#now());
    return this.#tables
      .all<{ value: string }>(`SELECT value FROM chat_sdk_state_lists WHERE key = ? ORDER BY id`, key)
      .map(({ value }) => parse(key, value));
  }

  // ── Clean-up ──

  /** Finds when the first row expires. */
  earliestExpiry(): number | undefined {
    const times = EXPIRING.flatMap((table) => {
      const row = this.#tables.one<{ at: number | null }>(`SELECT MIN(expires_at) AS at FROM chat_sdk_state_${table}`);
      return typeof row?.at === "number" ? [row.at] : [];
    });
    return times.length === 0 ? undefined : Math.min(...times);
  }

  deleteExpired(): void {
    for (const table of EXPIRING)
      this.#tables.change(`DELETE FROM chat_sdk_state_${table} WHERE expires_at <= ?`, this.#now());
  }

  /** The clean-up that is scheduled, if one is. */
  get cleanUp(): { readonly id: string; readonly at: number } | undefined {
    const row = this.#tables.one<{ value: string }>(`SELECT value FROM chat_sdk_state_metadata WHERE key = 'cleanup'`);
    // Written below only.
    return row && (JSON.parse(row.value) as { id: string; at: number });
  }

  set cleanUp(value: { readonly id: string; readonly at: number } | undefined) {
    this.#tables.change(`DELETE FROM chat_sdk_state_metadata WHERE key = 'cleanup'`);
    if (value) this.#tables.run(`INSERT INTO chat_sdk_state_metadata VALUES ('cleanup', ?)`, JSON.stringify(value));
  }
}

/** Parses a stored value. Throws StoredValueError. */
function parse(key: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw chatSdkErrors.StoredValueError(key, error);
  }
}
