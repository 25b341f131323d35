// The alarms that workerd finds at its start, in one `metadata.sqlite` per class. It would run all that are due at once, and
// with some thousands of them it dies and finds the same alarms at its next start. So before each start they are levelled:
// at most `perSecond` to a second, none earlier than it was set. An object whose alarm runs later than it asked for is run
// all the same: workerd compares the two and runs what is overdue. Nothing else in the files is touched.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type AlarmLimits, ProcessAlarms } from "../../host/process-alarms.ts";
import { OWN_FOLDER } from "./data-lock.ts";

const FILE = "metadata.sqlite";
const NANOSECONDS = 1_000_000n;
/** The port answers before the first alarm runs. */
const HEAD_START_MS = 1_000;
/**
 * The same where more are due than run in a second. workerd looks at its sockets when it has handled the alarms that are due,
 * and on a busy machine it takes seconds to start: the first answer would wait for alarm after alarm.
 */
const CROWD_HEAD_START_MS = 5_000;

interface StoredAlarm {
  readonly file: string;
  readonly id: string;
  readonly atMs: number;
}

export interface Levelled {
  /** Alarms whose time has come already. */
  readonly due: number;
  /** From now until the last of those runs. */
  readonly overMs: number;
}

/** To be called while no workerd uses the folder. A file that cannot be read is left as it is, and thrown at the end. */
export function levelAlarms(dataFolder: string, limits: AlarmLimits, nowMs: number): Levelled {
  // Loaded here: Node says at once that its SQLite may change, which a command has silenced by now.
  const sqlite = process.getBuiltinModule("node:sqlite");
  const errors: unknown[] = [];
  const each = <T>(file: string, work: (database: DatabaseSync) => T): T | undefined => {
    const database = new sqlite.DatabaseSync(file);
    try {
      return work(database);
    } catch (error) {
      errors.push(error);
      return undefined;
    } finally {
      database.close();
    }
  };
  const files = alarmFiles(dataFolder);
  const alarms = files.flatMap((file) => each(file, (database) => readAlarms(database, file)) ?? []);
  const moved = plan(alarms, limits, nowMs);
  for (const file of files) {
    const own = moved.filter((one) => one.file === file);
    if (own.length > 0) each(file, (database) => moveAlarms(database, own));
  }
  if (errors.length > 0) throw errors[0];
  const due = alarms.filter(({ atMs }) => atMs <= nowMs);
  const dueIds = new Set(due.map(({ file, id }) => `${file} ${id}`));
  const last = moved.reduce((max, one) => (dueIds.has(`${one.file} ${one.id}`) ? Math.max(max, one.atMs) : max), nowMs);
  return { due: due.length, overMs: last - nowMs };
}

/** Those that run at another time than now stored. Pure. */
export function plan(alarms: readonly StoredAlarm[], limits: AlarmLimits, nowMs: number): StoredAlarm[] {
  const seconds = new ProcessAlarms(limits);
  const inOrder = alarms.toSorted((first, second) => first.atMs - second.atMs);
  const isCrowd = alarms.filter(({ atMs }) => atMs <= nowMs).length > limits.perSecond;
  const firstMs = nowMs + (isCrowd ? CROWD_HEAD_START_MS : HEAD_START_MS);
  return inOrder.flatMap((alarm) => {
    const wanted = Math.max(alarm.atMs, firstMs);
    const atMs = seconds.take(wanted, nowMs);
    return atMs === alarm.atMs ? [] : [{ ...alarm, atMs }];
  });
}

function alarmFiles(dataFolder: string): string[] {
  return readdirSync(dataFolder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== OWN_FOLDER)
    .map(({ name }) => join(dataFolder, name, FILE))
    .filter((file) => existsSync(file));
}

function readAlarms(database: DatabaseSync, file: string): StoredAlarm[] {
  const known = database.prepare("SELECT 1 FROM sqlite_master WHERE name = '_cf_ALARM'").get();
  if (!known) return [];
  const query = database.prepare("SELECT actor_id AS id, scheduled_time AS time FROM _cf_ALARM");
  query.setReadBigInts(true);
  // The columns of the query.
  const rows = query.all() as { id: string; time: bigint }[];
  return rows.map(({ id, time }) => ({ file, id, atMs: Number(time / NANOSECONDS) }));
}

function moveAlarms(database: DatabaseSync, alarms: readonly StoredAlarm[]): void {
  database.exec("BEGIN IMMEDIATE");
  const update = database.prepare("UPDATE _cf_ALARM SET scheduled_time = ? WHERE actor_id = ?");
  for (const { id, atMs } of alarms) update.run(BigInt(atMs) * NANOSECONDS, id);
  database.exec("COMMIT");
}
