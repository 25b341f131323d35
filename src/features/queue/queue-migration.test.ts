// Items of builds before the one runner: rows of cf_queue become items of durable work.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { World } from "../../testing/agent-core.test-support.ts";

/** As schema version 7 made it. */
const TABLE = [
  `CREATE TABLE cf_queue (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, callback TEXT NOT NULL,
     payload TEXT NOT NULL, created_at INTEGER NOT NULL, retry TEXT, attempts INTEGER NOT NULL DEFAULT 0,
     not_before INTEGER NOT NULL DEFAULT 0, unended_starts INTEGER NOT NULL DEFAULT 0, unended_since INTEGER,
     dead_error TEXT, dead_at INTEGER)`,
  "CREATE INDEX cf_queue_pending ON cf_queue (callback, seq) WHERE dead_at IS NULL",
  "CREATE INDEX cf_queue_aside ON cf_queue (not_before) WHERE dead_at IS NULL AND not_before > 0",
  "CREATE INDEX cf_queue_dead ON cf_queue (dead_at) WHERE dead_at IS NOT NULL"
];
const HOUR_MS = 3_600_000;

let world: World;

beforeEach(() => {
  world = new World();
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
});

test("items in every state go on where they were, in their order, and the table is gone", async () => {
  const now = world.nowMs;
  const rows: Readonly<Record<string, Record<string, string | number>>> = {
    fails: { attempts: 2 },
    "in flight": { unended_starts: 1, unended_since: now - 5 },
    aside: { not_before: now + 9_000, unended_starts: 4, unended_since: now - HOUR_MS },
    "too old": { not_before: now - 1, unended_starts: 300, unended_since: now - 25 * HOUR_MS },
    waits: { retry: '{"maxAttempts":2}' },
    "not options": { retry: "{half" },
    "not JSON": { payload: "{half" },
    dead: { dead_at: now - 7_000, dead_error: "boom", attempts: 3, retry: '{"maxAttempts":3}' },
    "newer dead": { dead_at: now - 1_000, dead_error: "bang", attempts: 1 }
  };
  for (const statement of TABLE) world.database.exec(statement);
  for (const [id, more] of Object.entries(rows)) {
    const row = { id, callback: "work", payload: JSON.stringify({ of: id }), created_at: now - 9_500, ...more };
    const columns = Object.keys(row);
    world.database
      .prepare(`INSERT INTO cf_queue (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`)
      .run(...Object.values(row));
  }
  const ran: unknown[] = [];
  const work = (payload: unknown, item: unknown) => {
    ran.push(item);
    if ((payload as { of: string }).of === "fails") throw new Error("still");
  };
  const { queue } = world.boot({ methods: { work } });
  expect(queue.deadLetters()).toMatchObject([
    { id: "newer dead", error: "bang", attempts: 1 },
    { id: "dead", error: "boom", attempts: 3, died_at: Math.floor((now - 7_000) / 1000), retry: { maxAttempts: 3 } }
  ]);
  expect(queue.get("waits")).toEqual({
    id: "waits",
    payload: { of: "waits" },
    callback: "work",
    created_at: Math.floor((now - 9_500) / 1000),
    retry: { maxAttempts: 2 }
  });
  expect(queue.get("dead")).toBeUndefined();
  await world.settle();
  const idsOf = (items: readonly unknown[]) => items.map((item) => (item as { id: string }).id);
  expect(idsOf(ran)).toEqual(["fails", "in flight", "waits", "not options"]);
  expect(world.eventsOf("queue:error")).toMatchObject([
    { id: "fails", error: "still", attempts: 3 },
    { id: "not JSON", callback: "work", attempts: 0 },
    { id: "too old", error: expect.stringContaining("300 times") as string }
  ]);
  expect(world.rows("SELECT source, body FROM cf_quarantine")).toEqual([
    { source: "cf_work", body: '{"payload":{half}' }
  ]);
  expect(world.rows("SELECT key, due_at FROM cf_work WHERE settled_at IS NULL")).toEqual([
    { key: "aside", due_at: now + 9_000 }
  ]);
  expect(await queue.requeue("dead")).toBe(true);
  await world.advance(9_000);
  expect(idsOf(ran).slice(4)).toEqual(["dead", "aside"]);
  expect(world.rows("SELECT name FROM sqlite_master WHERE name LIKE 'cf_queue%'")).toEqual([]);
  expect(world.alarmAt).toBeNull();
});
