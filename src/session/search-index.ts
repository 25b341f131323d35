// The full-text index of a session's messages. Searching brings it up to date; appending a message never touches it.
// What is indexed already follows every update and deletion in the same transaction. The index can always be made again
// from the messages: when it fails it is dropped, and neither a message nor a later search is lost by it.
import { TableSet, type TableDefinition } from "../host/table-set.ts";
import type { MessageRow } from "./message-rows.ts";
import type { MessageStore } from "./message-store.ts";
import { labelOf } from "./session-host.ts";
import { parseStoredMessage, type SessionMessage } from "./session-message.ts";

/** Messages and bytes one transaction indexes; a single larger message is indexed alone. */
export const INDEX_BATCH_MESSAGES = 500;
export const INDEX_BATCH_BYTES = 4 * 1024 * 1024;
/** Of a longer text only the start is indexed, and shown in results. */
export const MAX_INDEXED_CHARS = 500_000;
/** Sequences a slot has room for. Slots times this stay within the integers a number can hold. */
const ENTRIES_PER_SLOT = 2 ** 32;

export const SEARCH_TABLES: readonly TableDefinition[] = [
  // Bound: one row per session that was searched. Deleted: when the session is cleared. `slot` numbers the sessions
  // of one object: an entry of the index is slot and sequence of its message in one number.
  {
    name: "cf_search_sessions",
    create: [
      `CREATE TABLE cf_search_sessions (
        session_id TEXT PRIMARY KEY,
        slot INTEGER NOT NULL UNIQUE,
        indexed_to INTEGER NOT NULL
      ) WITHOUT ROWID`
    ]
  },
  // Bound: one row per indexed message. Deleted: with the message.
  {
    name: "cf_search_messages",
    create: [
      `CREATE TABLE cf_search_messages (
        entry INTEGER PRIMARY KEY,
        message_id TEXT NOT NULL
      )`
    ]
  },
  // Bound, deletion: as cf_search_messages. It holds no texts: those are read from the messages.
  {
    name: "cf_search_text",
    create: [
      `CREATE VIRTUAL TABLE cf_search_text USING fts5 (
        content, content = '', contentless_delete = 1, tokenize = 'porter unicode61'
      )`
    ]
  }
];

interface IndexedSession {
  readonly slot: number;
  /** Every message up to this sequence is in the index. */
  readonly indexedTo: number;
}

interface Pending {
  readonly id: string;
  readonly sequence: number;
  readonly bytes: number;
}

/** What of a message is searched: its text parts. */
export function searchText(message: SessionMessage): string {
  const texts = message.parts.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []));
  return texts.join(" ").slice(0, MAX_INDEXED_CHARS);
}

export class SearchIndex {
  readonly #store: MessageStore;
  readonly #tables: TableSet;

  constructor(store: MessageStore) {
    this.#store = store;
    this.#tables = new TableSet(store.scope.host.sql, SEARCH_TABLES);
  }

  /** Indexes a batch of what is new. True when nothing is left. */
  catchUp(): boolean {
    const newest = this.#store.scope.conversation.row.nextMessage - 1;
    const before = this.#session();
    if ((before?.indexedTo ?? 0) >= newest) return true;
    const indexedTo = this.#madeAgainIfBroken(() => {
      const session = this.#session() ?? this.#open();
      const done = this.#indexBatch(session, newest);
      this.#tables.change("UPDATE cf_search_sessions SET indexed_to = ? WHERE session_id = ?", done, this.#sessionId);
      return done;
    });
    return indexedTo >= newest;
  }

  /** Ids of the messages that match, best first; of equals, the newest. Finds only what is indexed. */
  find(expression: string, limit: number): string[] {
    const session = this.#session();
    if (session === undefined) return [];
    const found = this.#tables.all<{ id: string }>(
      `SELECT message_id AS id FROM cf_search_text JOIN cf_search_messages ON entry = cf_search_text.rowid
         WHERE cf_search_text MATCH ? AND cf_search_text.rowid BETWEEN ? AND ?
         ORDER BY rank, cf_search_text.rowid DESC LIMIT ?`,
      expression,
      ...entriesOf(session.slot),
      limit
    );
    return found.map(({ id }) => id);
  }

  /** A message's content was replaced. `before` is the row as it was. */
  rewritten(before: MessageRow): void {
    const session = this.#indexed(before.sequence);
    if (session === undefined) return;
    const message = this.#store.getMessage(before.id);
    const text = message === null ? "" : searchText(message);
    // Tool results and the like change a message often and its text never.
    if (before.fullHash === null && textOf(before.content) === text) return;
    this.#droppedIfBroken(() => {
      this.#remove(session.slot, before.sequence);
      this.#insert(session.slot, before, text);
    });
  }

  /** Messages are about to be deleted. */
  forget(messageIds: readonly string[]): void {
    const session = this.#session();
    if (session === undefined) return;
    this.#droppedIfBroken(() => {
      for (const { sequence } of this.#store.rows.headers([...new Set(messageIds)]).values()) {
        if (sequence <= session.indexedTo) this.#remove(session.slot, sequence);
      }
    });
  }

  /** A message has a new version. If there is an archived one, it took the old place in the order of writing. */
  edited(before: MessageRow, archiveId: string): void {
    const session = this.#indexed(before.sequence);
    if (session === undefined) return;
    if (!this.#store.has(archiveId)) return this.rewritten(before);
    this.#tables.change(
      "UPDATE cf_search_messages SET message_id = ? WHERE entry = ?",
      archiveId,
      entryOf(session.slot, before.sequence)
    );
  }

  /** All messages of the session are deleted. */
  clear(): void {
    const session = this.#session();
    if (session === undefined) return;
    const isOnly = this.#tables.one("SELECT 1 FROM cf_search_sessions WHERE slot <> ?", session.slot) === undefined;
    if (isOnly) return this.drop();
    this.#droppedIfBroken(() => {
      const range = entriesOf(session.slot);
      this.#tables.change("DELETE FROM cf_search_text WHERE rowid BETWEEN ? AND ?", ...range);
      this.#tables.change("DELETE FROM cf_search_messages WHERE entry BETWEEN ? AND ?", ...range);
      this.#tables.change("DELETE FROM cf_search_sessions WHERE slot = ?", session.slot);
    });
  }

  /** Removes the index of all sessions of the object. The next search makes it again. */
  drop(): void {
    const { sql } = this.#store.scope.host;
    sql.transaction(() => {
      for (const { name } of SEARCH_TABLES) sql.run(`DROP TABLE IF EXISTS ${name}`);
    });
    sql.catalog.refresh();
  }

  /** For log lines. */
  get #name(): string {
    return `${labelOf(this.#store.scope.host)}the search index (cf_search_text)`;
  }

  get #sessionId(): string {
    return this.#store.scope.sessionId;
  }

  #session(): IndexedSession | undefined {
    return this.#tables.one<IndexedSession>(
      "SELECT slot, indexed_to AS indexedTo FROM cf_search_sessions WHERE session_id = ?",
      this.#sessionId
    );
  }

  /** The session, if it has indexed this sequence. */
  #indexed(sequence: number): IndexedSession | undefined {
    const session = this.#session();
    return session !== undefined && sequence <= session.indexedTo ? session : undefined;
  }

  #open(): IndexedSession {
    this.#tables.run(
      `INSERT INTO cf_search_sessions (session_id, slot, indexed_to)
         SELECT ?, COALESCE(MAX(slot), 0) + 1, 0 FROM cf_search_sessions`,
      this.#sessionId
    );
    return this.#session() ?? { slot: 1, indexedTo: 0 };
  }

  /** Returns the sequence up to which everything is indexed now. */
  #indexBatch({ slot, indexedTo }: IndexedSession, newest: number): number {
    const pending = this.#pending(indexedTo, newest);
    let done = indexedTo;
    let bytes = 0;
    for (const message of pending) {
      bytes += message.bytes;
      if (bytes > INDEX_BATCH_BYTES && done > indexedTo) return done;
      const stored = this.#store.getMessage(message.id);
      if (stored !== null) this.#insert(slot, message, searchText(stored));
      done = message.sequence;
    }
    return pending.length < INDEX_BATCH_MESSAGES ? newest : done;
  }

  /**
   * The oldest messages that are not indexed. Mostly they are the end of the active path, and are found by walking up
   * from its newest message; only when some of them are not on it, or there are many, is the session scanned.
   */
  #pending(after: number, newest: number): Pending[] {
    const { leafId, rows } = this.#store;
    if (newest - after < INDEX_BATCH_MESSAGES && leafId !== null) {
      const recent: Pending[] = [];
      for (const { id, sequence, sizeBytes, fullBytes } of rows.path(leafId)) {
        if (sequence <= after) break;
        recent.push({ id, sequence, bytes: fullBytes ?? sizeBytes });
      }
      if (recent.length === newest - after) return recent.reverse();
    }
    return rows.table.all<Pending & object>(
      `SELECT id, sequence, COALESCE(full_bytes, size_bytes) AS bytes FROM assistant_messages
         WHERE session_id = ? AND sequence > ? ORDER BY sequence LIMIT ?`,
      this.#sessionId,
      after,
      INDEX_BATCH_MESSAGES
    );
  }

  #insert(slot: number, message: { readonly id: string; readonly sequence: number }, text: string): void {
    if (text === "") return;
    const entry = entryOf(slot, message.sequence);
    this.#tables.run("INSERT INTO cf_search_messages (entry, message_id) VALUES (?, ?)", entry, message.id);
    this.#tables.run("INSERT INTO cf_search_text (rowid, content) VALUES (?, ?)", entry, text);
  }

  #remove(slot: number, sequence: number): void {
    const entry = entryOf(slot, sequence);
    this.#tables.change("DELETE FROM cf_search_messages WHERE entry = ?", entry);
    this.#tables.change("DELETE FROM cf_search_text WHERE rowid = ?", entry);
  }

  /** For writes of messages: they must succeed whatever state the index is in. */
  #droppedIfBroken(work: () => void): void {
    try {
      this.#tables.transaction(work);
    } catch (error) {
      console.warn(`${this.#name} could not be updated and is made anew by the next search.`, error);
      this.drop();
    }
  }

  /** For searches: they try once more with a new index. */
  #madeAgainIfBroken<T>(work: () => T): T {
    try {
      return this.#tables.transaction(work);
    } catch (error) {
      console.warn(`${this.#name} could not be updated and is made anew.`, error);
      this.drop();
      return this.#tables.transaction(work);
    }
  }
}

function textOf(content: string): string {
  const parsed = parseStoredMessage(content);
  return parsed.ok ? searchText(parsed.value) : "";
}

function entryOf(slot: number, sequence: number): number {
  return slot * ENTRIES_PER_SLOT + sequence;
}

function entriesOf(slot: number): [first: number, last: number] {
  return [entryOf(slot, 0), entryOf(slot + 1, 0) - 1];
}
