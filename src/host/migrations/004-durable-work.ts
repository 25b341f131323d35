// Version 4: what makes durable work find again what an earlier run of it started. Each table says who owns it, what
// bounds it, what deletes from it.
import type { Sql } from "../ports.ts";

export const IDEMPOTENCY_TABLES: readonly string[] = [
  // Owner: turn/idempotency. Bound: the newest KEY_LIMIT rows, each output at most OUTPUT_LIMIT_BYTES. Deleted: the oldest, by a newer one.
  `CREATE TABLE cf_idempotency (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    result TEXT NOT NULL,
    output TEXT
  )`
];

export function durableWork(sql: Sql): void {
  for (const statement of IDEMPOTENCY_TABLES) sql.run(statement);
  const columns = sql.all<{ name: string }>("PRAGMA table_info(cf_fibers)");
  // A database whose tables are made by these migrations has them already.
  if (columns.length === 0 || columns.some(({ name }) => name === "work")) return;
  for (const column of FIBER_COLUMNS) sql.run(`ALTER TABLE cf_fibers ADD COLUMN ${column}`);
}

/** As in the statement that makes the table. */
const FIBER_COLUMNS = ["replaces TEXT", "work TEXT", "calls INTEGER NOT NULL DEFAULT 0"];
