// Garbage: the process dies somewhere, or after everything; one stored value becomes garbage; the process starts. What comes
// of it is as if the value were whole, or an event or an error says that it is not.
import { isDeepStrictEqual } from "node:util";
import { subscribe, type EventType } from "../../src/observe/index.ts";
import type { SqlValue } from "../../src/host/ports.ts";
import { cutOff, spread, type Baseline } from "../../src/testing/every-crash.ts";
import type { Database } from "../../src/testing/inprocess/database.ts";
import { ALL_TABLES } from "../../src/testing/stored-tables.ts";
import { storedDatabases } from "../../src/testing/test-host.ts";
import { EndlessError, ending, show, type Host, type Played, type Scene, type Verdict } from "./scene.ts";

/** What a value is replaced by: broken JSON, JSON of no use, another type, nothing, and a number that cannot be. */
const GARBAGE: Readonly<Record<string, SqlValue>> = {
  "broken JSON": '{"broken',
  "an empty text": "",
  bytes: new Uint8Array([0, 255, 254]),
  "a negative number": -7
};

/** Events that say that something stored could not be used. */
const REPORTS: ReadonlySet<EventType> = new Set<EventType>([
  "storage:row:quarantined",
  "chat:onstart:degraded",
  "schedule:error",
  "queue:error",
  "schedule:callback_missing",
  "fiber:recovery:failed",
  "workflow:notification:dropped"
]);

const NAMES: ReadonlySet<string> = new Set(ALL_TABLES.map(({ name }) => name));

interface Cell {
  /** Of the object or facet. */
  readonly object: string;
  readonly table: string;
  readonly column: string;
  readonly where: string;
  readonly key: readonly SqlValue[];
}

interface Point {
  /** Undefined: after the script. */
  readonly write: number | undefined;
  readonly cell: Cell;
  readonly garbage: string;
}

export async function playGarbage(scene: Scene, baseline: Baseline, deaths: number, limit: number): Promise<Played[]> {
  const writes = spread(
    Array.from({ length: baseline.writes }, (_, index) => index + 1),
    deaths
  );
  const points: Point[] = [];
  for (const write of [...writes, undefined]) {
    const host = await dead(scene, write);
    for (const cell of cellsOf(host)) for (const garbage of Object.keys(GARBAGE)) points.push({ write, cell, garbage });
  }
  const played: Played[] = [];
  for (const point of spread(points, limit)) {
    const one = await playOne(scene, baseline, point);
    if (one) played.push(one);
  }
  return played;
}

/** Undefined: the table does not take this value. */
async function playOne(
  scene: Scene,
  { outcome }: Baseline,
  { write, cell, garbage }: Point
): Promise<Played | undefined> {
  const host = await dead(scene, write);
  if (!replace(host, cell, GARBAGE[garbage] ?? null)) return undefined;
  const reports: string[] = [];
  const channels = ["lifecycle", "schedule", "fiber", "workflow", "chat", "message", "agentTool"] as const;
  const stops = channels.map((channel) =>
    subscribe(channel, ({ type }) => void (REPORTS.has(type) && reports.push(type)))
  );
  const actual = await ending(host, async (): Promise<unknown> => {
    await host.restart();
    await scene.finish?.(host);
    await host.idle();
    return scene.inspect(host);
  });
  for (const stop of stops) stop();
  const { table, column, key, object } = cell;
  const verdict = judge(isDeepStrictEqual(actual, outcome), reports.length > 0, actual);
  if (verdict === "same") return { kind: "garbage", verdict, table };
  const where = `${object}: ${table}.${column} of ${show(key)} is ${garbage} after write ${write ?? "last"}`;
  return { kind: "garbage", verdict, table, detail: `${where}: ${show(actual)} instead of ${show(outcome)}` };
}

function judge(isSame: boolean, isReported: boolean, actual: unknown): Verdict {
  if (isSame) return "same";
  if (actual instanceof EndlessError) return "endless";
  if (isReported) return "reported";
  return actual instanceof Error ? "refused" : "silent";
}

/** A host whose process died after a write of the script, or after all of it. */
async function dead(scene: Scene, write: number | undefined): Promise<Host> {
  const host = await scene.create();
  await host.idle();
  if (write !== undefined) host.crashAfterWrite(write);
  await cutOff(host, scene.script(host)).catch(() => undefined);
  await host.untilCrashOrIdle();
  host.kill();
  return host;
}

function cellsOf(host: Host): Cell[] {
  return [...storedDatabases(host)].flatMap(([object, database]) =>
    rowsOf(database, "SELECT name FROM sqlite_master WHERE type = 'table'")
      .map(({ name }) => String(name))
      .filter((name) => NAMES.has(name))
      .flatMap((table) => cellsOfTable(object, database, table))
  );
}

function cellsOfTable(object: string, database: Database, table: string): Cell[] {
  const columns = rowsOf(database, `PRAGMA table_info("${table}")`);
  const named = columns.filter(({ pk }) => Number(pk) > 0).map(({ name }) => String(name));
  const keys = named.length > 0 ? named : ["rowid"];
  const where = keys.map((key) => `"${key}" = ?`).join(" AND ");
  const rows = rowsOf(database, `SELECT ${keys.map((key) => `"${key}" AS "key ${key}"`).join(", ")} FROM "${table}"`);
  return rows.flatMap((row) =>
    columns.map(({ name }) => ({
      object,
      table,
      column: String(name),
      where,
      key: keys.map((key) => row[`key ${key}`] ?? null)
    }))
  );
}

function replace(host: Host, { object, table, column, where, key }: Cell, garbage: SqlValue): boolean {
  const database = storedDatabases(host).get(object);
  // What a crash left open is undone by the next statement of the object; here there is none.
  try {
    const values = [garbage, ...key];
    return database?.run(`UPDATE "${table}" SET "${column}" = ? WHERE ${where}`, ...values).hasWritten === true;
  } catch {
    // A constraint of the table: such a value cannot get there.
    return false;
  }
}

function rowsOf(database: Database, query: string): Record<string, SqlValue>[] {
  const { columns, rows } = database.run(query);
  return rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index] as SqlValue])));
}
