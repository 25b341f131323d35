// A context block kept as one row of the agent's own SQLite. A write is durable when the call returns; writing an empty
// text deletes the row.
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { byteLength } from "../../util/bytes.ts";
import { sessionHostOf } from "../session-host.ts";
import { blockErrors } from "./errors.ts";
import type { WritableContextProvider } from "./provider.ts";

/** Well below what one row can hold. More is refused: a block is read into every prompt. */
export const MAX_BLOCK_BYTES = 1_000_000;

export const BLOCK_TABLES: readonly TableDefinition[] = [
  // Bound: a row per written block, at most MAX_BLOCK_BYTES. Deleted: by writing an empty text.
  {
    name: "cf_context_blocks",
    create: [
      `CREATE TABLE cf_context_blocks (
        session_id TEXT NOT NULL,
        label TEXT NOT NULL,
        content TEXT NOT NULL,
        PRIMARY KEY (session_id, label)
      ) WITHOUT ROWID`
    ]
  }
];

/**
 * @example
 * session.withContext("memory", { provider: new AgentContextProvider(this, "shared-memory") });
 */
export class AgentContextProvider implements WritableContextProvider {
  readonly #agent: object;
  /** A label given here belongs to the agent and not to a session: sessions may share it. */
  readonly #ownLabel: string | undefined;
  #row: { readonly sessionId: string; readonly label: string } | undefined;

  constructor(agent: object, label?: string) {
    this.#agent = agent;
    this.#ownLabel = label;
    if (label !== undefined) this.#row = { sessionId: "", label };
  }

  init(label: string, sessionId = ""): void {
    if (this.#ownLabel === undefined) this.#row = { sessionId, label };
  }

  /** See `Sql.rollbacks`: what was read or written before another one may have been undone. */
  get rollbacks(): number {
    return sessionHostOf(this.#agent).sql.rollbacks;
  }

  /** What `get` gives, at once. */
  read(): string | null {
    const { sessionId, label } = this.#place();
    const row = this.#table.one<{ content: string }>(
      "SELECT content FROM cf_context_blocks WHERE session_id = ? AND label = ?",
      sessionId,
      label
    );
    return row?.content ?? null;
  }

  async get(): Promise<string | null> {
    return this.read();
  }

  async set(content: string): Promise<void> {
    const { sessionId, label } = this.#place();
    const sizeBytes = byteLength(content);
    if (sizeBytes > MAX_BLOCK_BYTES)
      throw blockErrors.BlockTooLargeError(`Block "${label}"`, sizeBytes, MAX_BLOCK_BYTES);
    if (content === "") {
      this.#table.change("DELETE FROM cf_context_blocks WHERE session_id = ? AND label = ?", sessionId, label);
      return;
    }
    this.#table.run(
      `INSERT INTO cf_context_blocks (session_id, label, content) VALUES (?, ?, ?)
       ON CONFLICT (session_id, label) DO UPDATE SET content = excluded.content`,
      sessionId,
      label,
      content
    );
  }

  get #table(): TableSet {
    return new TableSet(sessionHostOf(this.#agent).sql, BLOCK_TABLES);
  }

  #place(): { readonly sessionId: string; readonly label: string } {
    if (this.#row === undefined) throw blockErrors.NoLabelError("AgentContextProvider");
    return this.#row;
  }
}
