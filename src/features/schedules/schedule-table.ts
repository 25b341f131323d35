// The table of schedules until schema version 7: its rows become items of durable work. Its layout is what was released: never
// change it.
import type { ReplacedTable } from "../../host/table-set.ts";

/** The kind of work that schedules are. */
export const SCHEDULE = "schedule";

/**
 * What cannot be read moves as it is: the first run of its item sets it aside. A row that is due after its time, and that
 * has neither begun nor failed, waits for its method.
 */
export const SCHEDULE_ROWS: ReplacedTable = {
  name: "cf_schedules",
  move: (sql) =>
    void sql.run(
      `INSERT OR IGNORE INTO cf_work
         (kind, key, lane, payload, due_at, claim, starts, failures, troubled_since, created_at)
       SELECT 'schedule', id, dedup_key,
         json_object('callback', callback, 'type', type, 'detail', detail, 'time', CAST(time_ms AS INTEGER),
           'payload', CASE WHEN json_valid(payload) THEN json(payload) ELSE NULL END,
           'text', CASE WHEN json_valid(payload) THEN NULL ELSE CAST(payload AS TEXT) END,
           'retry', CASE WHEN json_valid(retry) THEN json(retry) ELSE NULL END,
           'isMissing', json(CASE WHEN due_ms > time_ms AND running_since IS NULL AND strikes = 0
             THEN 'true' ELSE 'false' END)),
         CAST(due_ms AS INTEGER), CAST(unended_starts AS INTEGER), CAST(unended_starts AS INTEGER),
         CAST(strikes AS INTEGER),
         CASE WHEN unended_starts > 0 THEN CAST(COALESCE(unended_since, running_since, time_ms) AS INTEGER) END,
         CAST(time_ms AS INTEGER)
       FROM cf_schedules ORDER BY seq`
    )
};
