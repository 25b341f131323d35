// A collection of entries in the agent's own SQLite, found by full-text search. An entry and its place in the index
// change in one transaction; writing an empty text removes both.
import { byteLength } from "../../util/bytes.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { matchQuery } from "../search-query.ts";
import { sessionHostOf } from "../session-host.ts";
import { blockErrors } from "./errors.ts";
import type { SearchProvider } from "./provider.ts";

/** Entries of one block. At the limit new ones are refused, known ones can still be written. */
export const MAX_ENTRIES = 10_000;
/** Of one entry; the model is shown ten of them at a time. */
export const MAX_ENTRY_BYTES = 200_000;
export const MAX_ENTRY_KEY_CHARS = 512;
/** Best entries of a search. */
const SEARCH_LIMIT = 10;

export const ENTRY_TABLES: readonly TableDefinition[] = [
  // Bound: MAX_ENTRIES rows per block, each at most MAX_ENTRY_BYTES. Deleted: by writing an empty text.
  {
    name: "cf_context_entries",
    create: [
      `CREATE TABLE cf_context_entries (
        id INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        label TEXT NOT NULL,
        entry_key TEXT NOT NULL,
        content TEXT NOT NULL,
        UNIQUE (session_id, label, entry_key)
      )`
    ]
  },
  // The index of cf_context_entries; the text itself is read from there.
  {
    name: "cf_context_entries_fts",
    create: [
      `CREATE VIRTUAL TABLE cf_context_entries_fts USING fts5(
        content, content = 'cf_context_entries', content_rowid = 'id', tokenize = 'porter unicode61'
      )`
    ]
  }
];

interface Entry {
  readonly id: number;
  readonly content: string;
}

/**
 * @example
 * session.withContext("knowledge", { provider: new AgentSearchProvider(this) });
 */
export class AgentSearchProvider implements SearchProvider {
  readonly #agent: object;
  #place: { readonly sessionId: string; readonly label: string } | undefined;

  constructor(agent: object) {
    this.#agent = agent;
  }

  init(label: string, sessionId = ""): void {
    this.#place = { sessionId, label };
  }

  async get(): Promise<string | null> {
    const count = this.#count();
    return count === 0 ? null : `${count} entries indexed.`;
  }

  async search(query: string): Promise<string | null> {
    const { sessionId, label } = this.#scope();
    const match = matchQuery(query);
    if (match === undefined) return null;
    const found = this.#tables.all<{ key: string; content: string }>(
      `SELECT entry.entry_key AS key, entry.content
         FROM cf_context_entries_fts AS found JOIN cf_context_entries AS entry ON entry.id = found.rowid
         WHERE cf_context_entries_fts MATCH ? AND entry.session_id = ? AND entry.label = ?
         ORDER BY found.rank, entry.id LIMIT ${SEARCH_LIMIT}`,
      match,
      sessionId,
      label
    );
    if (found.length === 0) return null;
    return found.map(({ key, content }) => `[${key}]\n${content}`).join("\n\n");
  }

  async set(key: string, content: string): Promise<void> {
    const { label } = this.#scope();
    const sizeBytes = byteLength(content);
    if (sizeBytes > MAX_ENTRY_BYTES) throw blockErrors.BlockTooLargeError("The entry", sizeBytes, MAX_ENTRY_BYTES);
    if (key.length > MAX_ENTRY_KEY_CHARS) {
      throw blockErrors.BlockTooLargeError("The key of the entry", byteLength(key), MAX_ENTRY_KEY_CHARS);
    }
    this.#tables.transaction(() => {
      const known = this.#entry(key);
      if (known === undefined && content !== "" && this.#count() >= MAX_ENTRIES) {
        throw blockErrors.TooManyEntriesError(label, MAX_ENTRIES);
      }
      if (known !== undefined) this.#unindex(known);
      if (content !== "") this.#write(key, content);
      else if (known !== undefined) this.#tables.change("DELETE FROM cf_context_entries WHERE id = ?", known.id);
    });
  }

  get #tables(): TableSet {
    return new TableSet(sessionHostOf(this.#agent).sql, ENTRY_TABLES);
  }

  #scope(): { readonly sessionId: string; readonly label: string } {
    if (this.#place === undefined) throw blockErrors.NoLabelError("AgentSearchProvider");
    return this.#place;
  }

  #count(): number {
    const { sessionId, label } = this.#scope();
    const row = this.#tables.one<{ count: number }>(
      "SELECT COUNT(*) AS count FROM cf_context_entries WHERE session_id = ? AND label = ?",
      sessionId,
      label
    );
    return row?.count ?? 0;
  }

  #entry(key: string): Entry | undefined {
    const { sessionId, label } = this.#scope();
    return this.#tables.one<Entry>(
      "SELECT id, content FROM cf_context_entries WHERE session_id = ? AND label = ? AND entry_key = ?",
      sessionId,
      label,
      key
    );
  }

  /** The index keeps no text: it needs the old one to remove its words. */
  #unindex({ id, content }: Entry): void {
    this.#tables.run(
      "INSERT INTO cf_context_entries_fts (cf_context_entries_fts, rowid, content) VALUES ('delete', ?, ?)",
      id,
      content
    );
  }

  #write(key: string, content: string): void {
    const { sessionId, label } = this.#scope();
    this.#tables.run(
      `INSERT INTO cf_context_entries (session_id, label, entry_key, content) VALUES (?, ?, ?, ?)
       ON CONFLICT (session_id, label, entry_key) DO UPDATE SET content = excluded.content`,
      sessionId,
      label,
      key,
      content
    );
    const written = this.#entry(key);
    if (written === undefined) return;
    this.#tables.run("INSERT INTO cf_context_entries_fts (rowid, content) VALUES (?, ?)", written.id, content);
  }
}
