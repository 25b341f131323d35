// A row that cannot be read is set aside instead of thrown over: the object boots and everything else goes on.
// Table cf_quarantine: owner is this file; bound QUARANTINE_LIMIT rows (oldest go first); deleted with the object.
import type { Sql } from "./ports.ts";

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

/** `report` is told after the row is safely set aside. The caller deletes or repairs the original. */
export function openQuarantine(sql: Sql, now: () => number, report: (row: BadRow) => void): Quarantine {
  return (row) => {
    sql.transaction(() => {
      sql.run(
        "INSERT INTO cf_quarantine (source, row_key, body, error, at) VALUES (?, ?, ?, ?, ?)",
        row.table,
        row.key,
        row.body.slice(0, BODY_LIMIT),
        row.error,
        now()
      );
      sql.run("DELETE FROM cf_quarantine WHERE id <= (SELECT MAX(id) FROM cf_quarantine) - ?", QUARANTINE_LIMIT);
    });
    report(row);
  };
}
