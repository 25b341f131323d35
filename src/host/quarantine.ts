// A row that cannot be read is set aside instead of thrown over: the object boots and everything else goes on.
import type { Sql } from "./ports.ts";
import { TableSet, type TableDefinition } from "./table-set.ts";

/** Rows kept for inspection; above it the oldest are dropped. */
export const QUARANTINE_LIMIT = 100;
/** Bytes of a bad row kept for inspection. */
const BODY_LIMIT = 64 * 1024;

export interface BadRow {
  table: string;
  key: string;
  body: string;
  error: string;
}

export type Quarantine = (row: BadRow) => void;

export const QUARANTINE_TABLES: readonly TableDefinition[] = [
  // Bound: QUARANTINE_LIMIT rows. Deleted: the oldest, by a newer one.
  {
    name: "cf_quarantine",
    create: [
      `CREATE TABLE cf_quarantine (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        source TEXT NOT NULL,
        row_key TEXT NOT NULL,
        body TEXT NOT NULL,
        error TEXT NOT NULL,
        at INTEGER NOT NULL
      )`
    ]
  }
];

/** `report` is called after the row is safely set aside. The caller deletes or repairs the original. */
export function openQuarantine(sql: Sql, now: () => number, report: (row: BadRow) => void): Quarantine {
  const table = new TableSet(sql, QUARANTINE_TABLES);
  return (row) => {
    sql.transaction(() => {
      table.run(
        "INSERT INTO cf_quarantine (source, row_key, body, error, at) VALUES (?, ?, ?, ?, ?)",
        row.table,
        row.key,
        row.body.slice(0, BODY_LIMIT),
        row.error,
        now()
      );
      table.change("DELETE FROM cf_quarantine WHERE id <= (SELECT MAX(id) FROM cf_quarantine) - ?", QUARANTINE_LIMIT);
    });
    report(row);
  };
}
