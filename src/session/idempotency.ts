// Calls that were made under a key, and what came of them: making one again finds the first. A turn that is still open is
// known by its admission; how it ended is kept here, in the transaction that ends it. A failed turn keeps nothing: it
// answered no question, and the same call may ask again.
import { createHash } from "node:crypto";
import type { Sql } from "../host/ports.ts";
import { TableSet, type TableDefinition } from "../host/table-set.ts";
import { byteLength } from "../util/bytes.ts";
import { parseJson } from "../util/json.ts";
import type { TurnSettled } from "../journal/records.ts";

/** Keys that are remembered; above it the oldest is forgotten, and a call under it counts as new. */
export const KEY_LIMIT = 10_000;
/** Bytes of a structured output that are kept with a key; of a larger one, a repeated call gets none. */
export const OUTPUT_LIMIT_BYTES = 16 * 1024;

/** How a turn ended that was started under a key. */
export interface KeptTurn {
  readonly turnId: string;
  readonly requestId: string;
  readonly status: Exclude<TurnSettled["outcome"], "failed">;
  readonly reason?: string;
  /** Its answer, if one was stored. */
  readonly messageId?: string;
  readonly output?: unknown;
}

interface StoredRow {
  result: string;
  output: string | null;
}

/** What a key is stored as. The same key for a turn, for messages and for a call of durable work are three. */
export function idempotencyId(kind: "turn" | "messages" | "durable", key: string): string {
  return createHash("sha256").update(`${kind}\n${key}`).digest("base64url");
}

export const IDEMPOTENCY_TABLES: readonly TableDefinition[] = [
  // Bound: the newest KEY_LIMIT rows, each output at most OUTPUT_LIMIT_BYTES. Deleted: the oldest, by a newer one.
  {
    name: "cf_idempotency",
    create: [
      `CREATE TABLE cf_idempotency (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        result TEXT NOT NULL,
        output TEXT
      )`
    ]
  }
];

export class Idempotency {
  readonly #table: TableSet;

  constructor(sql: Sql) {
    this.#table = new TableSet(sql, IDEMPOTENCY_TABLES);
  }

  has(id: string): boolean {
    return this.#table.one("SELECT 1 AS found FROM cf_idempotency WHERE id = ?", id) !== undefined;
  }

  turn(id: string): KeptTurn | undefined {
    const row = this.#table.one<StoredRow>("SELECT result, output FROM cf_idempotency WHERE id = ?", id);
    const result = row && parseJson(row.result);
    if (!result?.ok) return undefined;
    const output = typeof row?.output === "string" ? parseJson(row.output) : undefined;
    // Written by `keepTurn` only.
    return { ...(result.value as KeptTurn), output: output?.ok ? output.value : undefined };
  }

  /** Part of the transaction that ends the turn. */
  keepTurn(id: string, { output, ...result }: KeptTurn): void {
    const text = output === undefined ? null : JSON.stringify(output);
    this.#keep(id, JSON.stringify(result), text !== null && byteLength(text) <= OUTPUT_LIMIT_BYTES ? text : null);
  }

  /** Part of the transaction that adds the messages. */
  keepMessages(id: string): void {
    this.#keep(id, "{}", null);
  }

  /** The conversation was emptied: what was said in it is not kept here either. */
  forgetOutputs(): void {
    this.#table.change("UPDATE cf_idempotency SET output = NULL WHERE output IS NOT NULL");
  }

  #keep(id: string, result: string, output: string | null): void {
    this.#table.run("INSERT OR REPLACE INTO cf_idempotency (id, result, output) VALUES (?, ?, ?)", id, result, output);
    this.#table.change("DELETE FROM cf_idempotency WHERE seq <= (SELECT MAX(seq) FROM cf_idempotency) - ?", KEY_LIMIT);
  }
}
