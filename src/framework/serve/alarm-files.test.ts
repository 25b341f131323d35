import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { levelAlarms, plan } from "./alarm-files.ts";

const NOW = 1_700_000_000_000;
const LIMITS = { perSecond: 2, atOnce: 1 };

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "everthink-alarms-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const fileOf = (className: string) => join(folder, className, "metadata.sqlite");

/** As workerd has it. */
function store(className: string, alarms: Record<string, number>): void {
  mkdirSync(join(folder, className), { recursive: true });
  const database = new DatabaseSync(fileOf(className));
  database.exec(
    "CREATE TABLE _cf_ALARM (actor_id TEXT PRIMARY KEY, scheduled_time INTEGER, actor_name TEXT) WITHOUT ROWID"
  );
  const insert = database.prepare("INSERT INTO _cf_ALARM VALUES (?, ?, ?)");
  for (const [id, atMs] of Object.entries(alarms)) insert.run(id, BigInt(atMs) * 1_000_000n + 7n, `name of ${id}`);
  database.close();
}

/** Milliseconds from now, in order. */
function stored(className: string): number[] {
  const database = new DatabaseSync(fileOf(className));
  const query = database.prepare("SELECT scheduled_time AS at FROM _cf_ALARM ORDER BY scheduled_time");
  query.setReadBigInts(true);
  const times = query.all().map(({ at }) => Number((at as bigint) / 1_000_000n) - NOW);
  database.close();
  return times;
}

const ids = (count: number, atMs: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`o${index}`, atMs]));

test("alarms that are due run so many a second over all classes, after the port answers", () => {
  store("Clerk", ids(3, NOW - 60_000));
  store("Reader", ids(3, NOW - 30_000));
  const levelled = levelAlarms(folder, LIMITS, NOW);
  const times = [...stored("Clerk"), ...stored("Reader")].toSorted((first, second) => first - second);
  expect(Math.min(...times)).toBe(5_000);
  const bySecond = Map.groupBy(times, (at) => Math.floor(at / 1_000));
  expect([...bySecond.values()].map(({ length }) => length)).toEqual([2, 2, 2]);
  expect(levelled).toEqual({ due: 6, overMs: Math.max(...times) });
});

test.each([
  { due: 2, limit: 2, fromMs: 1_000 },
  { due: 3, limit: 2, fromMs: 5_000 },
  { due: 20_000, limit: 15, fromMs: 5_000 }
])("$due alarms that are due, $limit a second, run from $fromMs ms on", ({ due, limit, fromMs }) => {
  const alarms = Array.from({ length: due }, (_, index) => ({ file: "a", id: `${index}`, atMs: NOW - 1 }));
  const moved = plan(alarms, { perSecond: limit, atOnce: 1 }, NOW);
  expect(moved).toHaveLength(due);
  expect(Math.min(...moved.map(({ atMs }) => atMs)) - NOW).toBe(fromMs);
});

test("alarms of the next seconds do not run among many that are due, and wait with them", () => {
  const alarms = [0, -1, -2, 3_000, 9_000].map((afterMs) => ({ file: "a", id: `${afterMs}`, atMs: NOW + afterMs }));
  const moved = plan(alarms, { perSecond: 2, atOnce: 1 }, NOW);
  expect(moved.map(({ id, atMs }) => [id, atMs - NOW])).toEqual([
    ["-2", 5_000],
    ["-1", 5_500],
    ["0", 6_000],
    ["3000", 6_500]
  ]);
});

test("those that were due first run first", () => {
  store("Clerk", { late: NOW - 1, early: NOW - 9_000, middle: NOW - 5_000 });
  levelAlarms(folder, { perSecond: 1, atOnce: 1 }, NOW);
  const database = new DatabaseSync(fileOf("Clerk"));
  const rows = database.prepare("SELECT actor_id AS id FROM _cf_ALARM ORDER BY scheduled_time").all();
  database.close();
  expect(rows.map(({ id }) => id)).toEqual(["early", "middle", "late"]);
});

test("alarms of later times are moved only where they crowd, and never forward", () => {
  store("Clerk", { alone: NOW + 60_000, ...ids(3, NOW + 90_000) });
  levelAlarms(folder, LIMITS, NOW);
  expect(stored("Clerk")).toEqual([60_000, 90_000, 90_500, 91_000]);
});

test("a file without alarms, a class without a file and the server's own folder are left alone", () => {
  mkdirSync(join(folder, "Empty"));
  mkdirSync(join(folder, ".everthink"));
  mkdirSync(join(folder, "Other"));
  new DatabaseSync(fileOf("Other")).close();
  writeFileSync(join(folder, "file"), "");
  expect(levelAlarms(folder, LIMITS, NOW)).toEqual({ due: 0, overMs: 0 });
});

test("a file that cannot be read is reported, and those of other classes are levelled all the same", () => {
  store("Clerk", ids(4, NOW - 1));
  mkdirSync(join(folder, "Broken"));
  writeFileSync(fileOf("Broken"), "this is no database, and long enough to be read as one".repeat(50));
  expect(() => levelAlarms(folder, LIMITS, NOW)).toThrow("not a database");
  expect(new Set(stored("Clerk").map((at) => Math.floor(at / 1_000))).size).toBe(2);
});
