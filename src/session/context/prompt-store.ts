// Where a frozen prompt outlives the process: one row of the agent's SQLite, or a store the user brings. Beside the
// prompt stands the fingerprint of the blocks it was made of; a prompt of other blocks is not found.
import type { Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { byteLength } from "../../util/bytes.ts";
import { isObject, parseJson } from "../../util/json.ts";
import type { WritableContextProvider } from "./provider.ts";
import { joinPrompt, type PromptBlock } from "./render.ts";

/** Larger prompts are frozen for the life of the process only. */
export const MAX_PROMPT_BYTES = 1_500_000;

export interface PromptStore {
  /** The prompt that was stored for these blocks. */
  read(fingerprint: string): Promise<readonly PromptBlock[] | undefined>;
  write(fingerprint: string, blocks: readonly PromptBlock[]): Promise<void>;
  /** Within the caller's transaction: the next `read` finds nothing, also after a restart, as far as it can be helped. */
  forget(): void;
}

interface PromptRow {
  readonly fingerprint: string;
  readonly sections: string;
}

export const PROMPT_TABLES: readonly TableDefinition[] = [
  // Bound: a row per session, at most MAX_PROMPT_BYTES. Deleted: when the conversation is cleared.
  {
    name: "cf_context_prompts",
    create: [
      `CREATE TABLE cf_context_prompts (
        session_id TEXT PRIMARY KEY,
        fingerprint TEXT NOT NULL,
        sections TEXT NOT NULL
      ) WITHOUT ROWID`
    ]
  }
];

/** The row of one session. */
export class StoredPrompt implements PromptStore {
  readonly #table: TableSet;
  readonly #sessionId: string;

  constructor(sql: Sql, sessionId: string) {
    this.#table = new TableSet(sql, PROMPT_TABLES);
    this.#sessionId = sessionId;
  }

  async read(fingerprint: string): Promise<readonly PromptBlock[] | undefined> {
    const row = this.row();
    return row?.fingerprint === fingerprint ? parseBlocks(row.sections) : undefined;
  }

  async write(fingerprint: string, blocks: readonly PromptBlock[]): Promise<void> {
    const sections = JSON.stringify(blocks);
    if (byteLength(sections) + byteLength(fingerprint) > MAX_PROMPT_BYTES) {
      console.warn(`The system prompt is larger than ${MAX_PROMPT_BYTES} bytes: it is rendered again at every start.`);
      this.forget();
      return;
    }
    this.put({ fingerprint, sections });
  }

  forget(): void {
    this.#table.change("DELETE FROM cf_context_prompts WHERE session_id = ?", this.#sessionId);
  }

  row(): PromptRow | undefined {
    return this.#table.one<PromptRow>(
      "SELECT fingerprint, sections FROM cf_context_prompts WHERE session_id = ?",
      this.#sessionId
    );
  }

  put({ fingerprint, sections }: PromptRow): void {
    this.#table.run(
      `INSERT INTO cf_context_prompts (session_id, fingerprint, sections) VALUES (?, ?, ?)
       ON CONFLICT (session_id) DO UPDATE SET fingerprint = excluded.fingerprint, sections = excluded.sections`,
      this.#sessionId,
      fingerprint,
      sections
    );
  }
}

/** The text in the user's store; its fingerprint in the agent's row, if there is an agent. */
export class CustomPromptStore implements PromptStore {
  readonly #store: WritableContextProvider;
  readonly #isDeclared: () => boolean;
  readonly #beside: StoredPrompt | undefined;

  /**
   * `isDeclared`: whether the text counts as declared by the user. Without `beside`, a stored prompt is returned whatever
   * blocks there are.
   */
  constructor(store: WritableContextProvider, isDeclared: () => boolean, beside?: StoredPrompt) {
    this.#store = store;
    this.#isDeclared = isDeclared;
    this.#beside = beside;
  }

  async read(fingerprint: string): Promise<readonly PromptBlock[] | undefined> {
    const text = await this.#store.get();
    if (text === null || text === undefined) return undefined;
    const known = this.#beside?.row()?.fingerprint;
    if (known !== undefined && known !== fingerprint) return undefined;
    // Found for the first time: it is taken to be of today's blocks, so that tomorrow's are noticed.
    if (known === undefined) this.#beside?.put({ fingerprint, sections: "" });
    return text === "" ? [] : [{ label: "context", text, isDeclared: this.#isDeclared() }];
  }

  /** A crash in between leaves the old fingerprint, and the prompt is rendered once more. */
  async write(fingerprint: string, blocks: readonly PromptBlock[]): Promise<void> {
    await this.#store.set(joinPrompt(blocks));
    this.#beside?.put({ fingerprint, sections: "" });
  }

  forget(): void {
    // A fingerprint no blocks have: the text is not found any more.
    this.#beside?.put({ fingerprint: "", sections: "" });
  }
}

/** Undefined for what is no list of blocks: it is rendered again. */
function parseBlocks(sections: string): PromptBlock[] | undefined {
  const parsed = parseJson(sections);
  if (!parsed.ok || !Array.isArray(parsed.value) || !parsed.value.every(isPromptBlock)) return undefined;
  return parsed.value;
}

function isPromptBlock(value: unknown): value is PromptBlock {
  if (!isObject(value)) return false;
  return (
    typeof value["label"] === "string" && typeof value["text"] === "string" && typeof value["isDeclared"] === "boolean"
  );
}
