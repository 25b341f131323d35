// A session's host over an in-memory SQLite: counts what is read and written, and remembers what
// was broadcast and set aside.
import { Blobs } from "../host/blobs.ts";
import type { Sql, SqlRow, SqlValue } from "../host/ports.ts";
import type { Catalog } from "../host/table-set.ts";
import type { BadRow } from "../host/quarantine.ts";
import { Conversation } from "../journal/conversation.ts";
import { createTables, MemorySql, type SqliteDatabase } from "../journal/memory-sql.test-support.ts";
import { MessageStore } from "./message-store.ts";
import { sessionScope, type SessionHost } from "./session-host.ts";
import { moveOriginalSession } from "./take-over.ts";
import type { SessionMessage } from "./session-message.ts";
import type { SessionProvider } from "./session-provider.ts";

/** Counts rows returned by reads and rows changed by writes, and keeps the statements. */
export class CountingSql implements Sql {
  rowsRead = 0;
  readonly statements: string[] = [];
  readonly #inner: MemorySql;
  #writtenBefore: number;

  constructor(inner: MemorySql) {
    this.#inner = inner;
    this.#writtenBefore = inner.rowsWritten;
  }

  get rowsWritten(): number {
    return this.#inner.rowsWritten - this.#writtenBefore;
  }

  reset(): void {
    this.rowsRead = 0;
    this.#writtenBefore = this.#inner.rowsWritten;
    this.statements.length = 0;
  }

  all<Row extends object = SqlRow>(query: string, ...values: SqlValue[]): Row[] {
    this.statements.push(query);
    const rows = this.#inner.all<Row>(query, ...values);
    this.rowsRead += rows.length;
    return rows;
  }

  one<Row extends object = SqlRow>(query: string, ...values: SqlValue[]): Row | undefined {
    return this.all<Row>(query, ...values)[0];
  }

  run(query: string, ...values: SqlValue[]): { readonly changed: number } {
    this.statements.push(query);
    return this.#inner.run(query, ...values);
  }

  transaction<T>(work: () => T): T {
    return this.#inner.transaction(work);
  }

  get catalog(): Catalog {
    return this.#inner.catalog;
  }

  get rollbacks(): number {
    return this.#inner.rollbacks;
  }

  afterTransaction(end: Parameters<Sql["afterTransaction"]>[0]): void {
    this.#inner.afterTransaction(end);
  }
}

export interface TestSession {
  sql: CountingSql;
  memory: MemorySql;
  blobs: Blobs;
  host: SessionHost;
  store: MessageStore;
  frames: Record<string, unknown>[];
  setAside: BadRow[];
  /** The same database after a restart. */
  reboot(): TestSession;
}

/** Test files pass a fresh `new DatabaseSync(":memory:")`. */
export function openTestSession(database: SqliteDatabase, sessionId = ""): TestSession {
  const memory = new MemorySql(database);
  createTables(memory);
  return open(memory, sessionId);
}

function open(memory: MemorySql, sessionId: string): TestSession {
  const sql = new CountingSql(memory);
  const blobs = new Blobs(sql);
  const frames: Record<string, unknown>[] = [];
  const setAside: BadRow[] = [];
  const conversations = new Map<string, Conversation>();
  const host: SessionHost = {
    sql,
    blobs,
    setAside: (row) => void setAside.push(row),
    now: () => Date.UTC(2030, 0, 1),
    conversation(id) {
      const known = conversations.get(id) ?? new Conversation(sql, id);
      conversations.set(id, known);
      return known;
    },
    broadcast: (frame) => void frames.push(JSON.parse(frame))
  };
  moveOriginalSession(memory);
  const store = new MessageStore(sessionScope(host, sessionId));
  return { sql, memory, blobs, host, store, frames, setAside, reboot: () => open(memory.reboot(), sessionId) };
}

export function text(id: string, role = "user", content = `text of ${id}`): SessionMessage {
  return { id, role, parts: [{ type: "text", text: content }] };
}

export const ids = (messages: readonly { id: string }[]) => messages.map(({ id }) => id);

/** One of a user, over a list in memory. */
export function customProvider(extra: Partial<SessionProvider>): SessionProvider {
  const stored = [text("m0"), text("m1"), text("m2"), text("m3")];
  return {
    getMessage: (id) => stored.find((message) => message.id === id) ?? null,
    getHistory: async () => stored,
    getLatestLeaf: () => stored.at(-1) ?? null,
    getBranches: () => [],
    getPathLength: () => stored.length,
    appendMessage: (message) => void stored.push(message),
    updateMessage: () => undefined,
    deleteMessages: () => undefined,
    clearMessages: () => void stored.splice(0),
    ...extra
  };
}
