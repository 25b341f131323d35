// Old rows of the ledger leave it, oldest first, a bounded number at a time. Row numbers grow with age, so the walk
// ends at the first row that is too young for any rule.
import type { Clock, Sql } from "../host/ports.ts";
import { TableSet } from "../host/table-set.ts";
import type { ActionLedgerRetention } from "../think/actions-port.ts";
import { LEDGER_TABLES } from "./ledger.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
export const DEFAULT_RETENTION = { settledMs: 30 * DAY_MS, pendingMs: 90 * DAY_MS, maxSweepRows: 500 } as const;
/** Rows one sweep looks at; the rest waits for the next. */
const MAX_SCANNED = 2_000;

export interface SweptRows {
  readonly settled: number;
  readonly pending: number;
}

interface LedgerAge {
  id: number;
  status: string;
  started_at: number;
  leased_at: number;
  settled_at: number | null;
}

export function sweepLedger(
  ports: { readonly sql: Sql; readonly clock: Clock },
  retention: ActionLedgerRetention
): SweptRows {
  const { settledMs, pendingMs, maxSweepRows } = { ...DEFAULT_RETENTION, ...retention };
  const now = ports.clock.now();
  const settledBefore = settledMs === false ? -Infinity : now - settledMs;
  const pendingBefore = pendingMs === false ? -Infinity : now - pendingMs;
  const table = new TableSet(ports.sql, LEDGER_TABLES);
  const oldest = table.all<LedgerAge>(
    "SELECT id, status, started_at, leased_at, settled_at FROM cf_action_ledger ORDER BY id LIMIT ?",
    MAX_SCANNED
  );
  const due: { id: number; isPending: boolean }[] = [];
  for (const row of oldest) {
    const isOld = row.started_at < Math.max(settledBefore, pendingBefore);
    if (!isOld || due.length >= maxSweepRows) break;
    const isPending = row.status === "pending";
    const isDue = isPending ? row.leased_at < pendingBefore : (row.settled_at ?? row.started_at) < settledBefore;
    if (isDue) due.push({ id: row.id, isPending });
  }
  if (due.length > 0) {
    table.transaction(() => {
      for (const { id } of due) table.change("DELETE FROM cf_action_ledger WHERE id = ?", id);
    });
  }
  const pending = due.filter((row) => row.isPending).length;
  return { settled: due.length - pending, pending };
}
