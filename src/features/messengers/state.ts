// The state that adapters of the Chat SDK keep in the root's database, each messenger's apart. What an adapter writes
// while it reads a webhook is stored in the same transaction as the events of that webhook: an adapter that claims an
// update before a crash would otherwise take the provider's repetition for a duplicate, and the message would be lost.
import type { Services } from "../../feature/services.ts";
import type { Clock, Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { readList } from "./fields.ts";

export const MESSENGER_STATE_TABLES: readonly TableDefinition[] = [
  // Bound: what adapters cache, mostly with an expiry. Deleted: when it has expired, by `sweep`.
  {
    name: "cf_messenger_state",
    create: [
      `CREATE TABLE cf_messenger_state (key TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER) WITHOUT ROWID`,
      `CREATE INDEX cf_messenger_state_expiry ON cf_messenger_state (expires_at) WHERE expires_at IS NOT NULL`
    ]
  }
];

/** Rows that one sweep deletes. */
const SWEEP_ROWS = 500;

interface Entry {
  /** The value as JSON; undefined: it is deleted. */
  readonly value: string | undefined;
  readonly expiresAt: number | null;
}

export class MessengerState {
  readonly #tables: TableSet;
  readonly #clock: Clock;
  readonly #prefix: string;
  #staged: Map<string, Entry> | undefined;

  constructor({ sql, clock }: Pick<Services, "sql" | "clock">, messengerId: string) {
    this.#tables = new TableSet(sql, MESSENGER_STATE_TABLES);
    this.#clock = clock;
    this.#prefix = `${messengerId}\n`;
  }

  /** Begins to gather: from here on nothing is stored until `commit`. */
  stage(): void {
    this.#staged = new Map();
  }

  /** Stores what was gathered, in the caller's transaction. */
  commit(): void {
    const staged = this.#staged;
    this.#staged = undefined;
    for (const [key, entry] of staged ?? []) this.#store(key, entry);
  }

  discard(): void {
    this.#staged = undefined;
  }

  remember(key: string, value: object | undefined): void {
    if (value === undefined) this.#delete(key);
    else this.#write(key, value, undefined);
  }

  subscribe(threadId: string): void {
    this.#write(`subscribed:${threadId}`, true, undefined);
  }

  isSubscribed(threadId: string): boolean {
    return this.recall(`subscribed:${threadId}`) !== undefined;
  }

  /** Makes the object that an adapter calls its state. It has neither locks nor queues: the inbox orders what arrives. */
  forAdapter(): object {
    const later =
      <Args extends unknown[], T>(work: (...args: Args) => T) =>
      async (...args: Args): Promise<T> =>
        work(...args);
    return {
      connect: later(() => undefined),
      disconnect: later(() => undefined),
      get: later((key: string) => this.recall(key) ?? null),
      set: later((key: string, value: unknown, ttlMs?: number) => this.#write(key, value, ttlMs)),
      setIfNotExists: later((key: string, value: unknown, ttlMs?: number) => {
        if (this.recall(key) !== undefined) return false;
        this.#write(key, value, ttlMs);
        return true;
      }),
      delete: later((key: string) => this.#delete(key)),
      appendToList: later((key: string, value: unknown, options: { maxLength?: number; ttlMs?: number } = {}) => {
        const list = [...this.#list(key), value];
        this.#write(key, options.maxLength === undefined ? list : list.slice(-options.maxLength), options.ttlMs);
      }),
      getList: later((key: string) => this.#list(key)),
      subscribe: later((threadId: string) => this.subscribe(threadId)),
      unsubscribe: later((threadId: string) => this.#delete(`subscribed:${threadId}`)),
      isSubscribed: later((threadId: string) => this.isSubscribed(threadId))
    };
  }

  #list(key: string): unknown[] {
    return readList(this.recall(key));
  }

  /** Reads a value. Undefined: there is none, or it has expired. */
  recall(key: string): unknown {
    const entry = this.#staged?.get(key) ?? this.#find(key);
    const isExpired = entry?.expiresAt !== null && entry !== undefined && entry.expiresAt <= this.#clock.now();
    if (entry?.value === undefined || isExpired) return undefined;
    return JSON.parse(entry.value) as unknown;
  }

  #find(key: string): Entry | undefined {
    const row = this.#tables.one<{ value: string; expires_at: number | null }>(
      `SELECT value, expires_at FROM cf_messenger_state WHERE key = ?`,
      this.#prefix + key
    );
    return row && { value: row.value, expiresAt: row.expires_at };
  }

  #write(key: string, value: unknown, ttlMs: number | undefined): void {
    const expiresAt = ttlMs === undefined ? null : this.#clock.now() + ttlMs;
    const entry = { value: JSON.stringify(value) ?? "null", expiresAt };
    if (this.#staged) this.#staged.set(key, entry);
    else this.#store(key, entry);
  }

  #delete(key: string): void {
    if (this.#staged) this.#staged.set(key, { value: undefined, expiresAt: null });
    else this.#store(key, { value: undefined, expiresAt: null });
  }

  #store(key: string, { value, expiresAt }: Entry): void {
    if (value === undefined) {
      this.#tables.change(`DELETE FROM cf_messenger_state WHERE key = ?`, this.#prefix + key);
      return;
    }
    this.#tables.run(
      `INSERT INTO cf_messenger_state (key, value, expires_at) VALUES (?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
      this.#prefix + key,
      value,
      expiresAt
    );
  }
}

/** Deletes what has expired. */
export function sweepState(sql: Sql, nowMs: number): void {
  new TableSet(sql, MESSENGER_STATE_TABLES).change(
    `DELETE FROM cf_messenger_state WHERE key IN
       (SELECT key FROM cf_messenger_state WHERE expires_at <= ? LIMIT ${SWEEP_ROWS})`,
    nowMs
  );
}
