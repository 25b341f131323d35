// Which skills a conversation has activated, and by which call. The instructions are in the transcript; this is what finds
// them when the transcript no longer shows the call.
import type { Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";

/** The most skills that stay active; the one that was activated longest ago is dropped. */
export const MAX_ACTIVE_SKILLS = 32;

export const ACTIVATION_TABLES: readonly TableDefinition[] = [
  // Bound: 32 rows of names and ids. Deleted: the oldest when one is added; all when the conversation is cleared.
  {
    name: "cf_active_skills",
    create: [
      `CREATE TABLE cf_active_skills (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        tool_call_id TEXT NOT NULL,
        message_id TEXT NOT NULL
      )`
    ]
  }
];

export interface SkillActivation {
  readonly name: string;
  readonly toolCallId: string;
  /** The answer that holds the call. */
  readonly messageId: string;
}

export class Activations {
  readonly #sql: TableSet;

  constructor(sql: Sql) {
    this.#sql = new TableSet(sql, ACTIVATION_TABLES);
  }

  add({ name, toolCallId, messageId }: SkillActivation): void {
    this.#sql.run(
      "INSERT OR REPLACE INTO cf_active_skills (name, tool_call_id, message_id) VALUES (?, ?, ?)",
      name,
      toolCallId,
      messageId
    );
    this.#sql.change(
      `DELETE FROM cf_active_skills WHERE id NOT IN (SELECT id FROM cf_active_skills ORDER BY id DESC LIMIT ${MAX_ACTIVE_SKILLS})`
    );
  }

  /** Lists the activations, the newest first. */
  list(): SkillActivation[] {
    return this.#sql.all("SELECT name, tool_call_id, message_id FROM cf_active_skills ORDER BY id DESC").map((row) => ({
      name: String(row["name"]),
      toolCallId: String(row["tool_call_id"]),
      messageId: String(row["message_id"])
    }));
  }

  clear(): void {
    this.#sql.change("DELETE FROM cf_active_skills");
  }
}
