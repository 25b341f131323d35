// One alarm per root object, at least once, on the virtual clock. The stored time is removed only after the handler
// succeeded, so a crash while it runs fires it again; the object itself sees no alarm while its handler runs.
import { backoffMs } from "../../util/backoff.ts";
import type { Engine } from "./engine.ts";
import type { ObjectRecord } from "./object-record.ts";

const RETRY_BASE_MS = 2_000;
const RETRY_LIMIT = 6;
const ALARM_ROW = 1;

/** What is known about an alarm beyond its stored time. Lost in a crash, like the platform's own bookkeeping. */
export class AlarmState {
  running: { at: number; isReplaced: boolean } | undefined;
  retries = 0;
  retryAt: number | undefined;
  cancelTimer: (() => void) | undefined;

  forget(): void {
    this.running = undefined;
    this.retries = 0;
    this.retryAt = undefined;
    this.cancelTimer?.();
    this.cancelTimer = undefined;
  }
}

/** As the object sees it. */
export function readAlarm({ alarm, database }: ObjectRecord): number | null {
  if (alarm.running !== undefined && !alarm.running.isReplaced) return null;
  return storedAlarm(database);
}

/** Stores a new time, or none. Says whether anything changed. The caller counts the write. */
export function writeAlarm(record: ObjectRecord, at: number | null): boolean {
  const { alarm, database } = record;
  const hadAlarm = storedAlarm(database) !== null;
  if (at === null && !hadAlarm) return false;
  if (alarm.running !== undefined) alarm.running.isReplaced = true;
  alarm.retries = 0;
  alarm.retryAt = undefined;
  if (at === null) database.run("DELETE FROM _cf_METADATA WHERE key = ?", ALARM_ROW);
  else {
    database.run("CREATE TABLE IF NOT EXISTS _cf_METADATA (key INTEGER PRIMARY KEY, value BLOB)");
    database.run("INSERT OR REPLACE INTO _cf_METADATA (key, value) VALUES (?, ?)", ALARM_ROW, at);
  }
  armAlarm(record);
  return true;
}

/** Makes the clock agree with what is stored: after a change, a run, a restart. */
export function armAlarm(record: ObjectRecord): void {
  const { alarm, database, engine } = record;
  alarm.cancelTimer?.();
  alarm.cancelTimer = undefined;
  const at = storedAlarm(database);
  // What is set while the handler runs waits for its end.
  if (alarm.running !== undefined) return;
  if (at === null) return;
  alarm.cancelTimer = engine.schedule(alarm.retryAt ?? at, engine.process, () => void fire(record, at));
}

/** A transaction was rolled back, and a change of the alarm with it. */
export function restoreAlarm(record: ObjectRecord): void {
  const { alarm, database } = record;
  if (alarm.running !== undefined) alarm.running.isReplaced = storedAlarm(database) !== alarm.running.at;
  armAlarm(record);
}

async function fire(record: ObjectRecord, at: number): Promise<void> {
  const { alarm, engine } = record;
  const { process } = engine;
  const run = { at, isReplaced: false };
  const info = { scheduledTime: at, retryCount: alarm.retries, isRetry: alarm.retries > 0 };
  alarm.running = run;
  alarm.cancelTimer = undefined;
  const hasSucceeded = await record
    .deliver((instance) => ("alarm" in instance && typeof instance.alarm === "function" ? instance.alarm(info) : null))
    .then(
      () => true,
      () => false
    );
  if (!process.alive) return;
  alarm.running = undefined;
  if (run.isReplaced) alarm.retries = 0;
  else if (hasSucceeded || alarm.retries === RETRY_LIMIT) clear(record, engine);
  else {
    alarm.retryAt = engine.clock.now + backoffMs(alarm.retries, { baseMs: RETRY_BASE_MS, maxMs: Infinity });
    alarm.retries++;
  }
  if (process.alive) armAlarm(record);
}

function clear(record: ObjectRecord, engine: Engine): void {
  if (writeAlarm(record, null)) engine.crash.wrote(1);
}

function storedAlarm(database: ObjectRecord["database"]): number | null {
  if (!database.has("_cf_METADATA")) return null;
  const [row] = database.run("SELECT value FROM _cf_METADATA WHERE key = ?", ALARM_ROW).rows;
  return row === undefined ? null : Number(row[0]);
}
