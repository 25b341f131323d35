// Recoveries that builds before the one runner owed: columns of a fiber's row become items of durable work.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { World } from "../../testing/agent-core.test-support.ts";
import type { FiberRecoveryContext } from "./fiber-row.ts";

const HOUR_MS = 3_600_000;

/** As schema version 7 made it. */
const FIBERS = [
  `CREATE TABLE cf_fibers (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, idempotency_key TEXT UNIQUE,
     name TEXT NOT NULL, managed INTEGER NOT NULL, status TEXT NOT NULL, snapshot TEXT, metadata TEXT, error TEXT,
     on_interrupted TEXT, recover_at INTEGER, recovery_step INTEGER NOT NULL DEFAULT 0,
     recovery_attempts INTEGER NOT NULL DEFAULT 0, recovery_is_last INTEGER NOT NULL DEFAULT 0, interrupted_at INTEGER,
     created_at INTEGER NOT NULL, started_at INTEGER, settled_at INTEGER, replaces TEXT, work TEXT,
     calls INTEGER NOT NULL DEFAULT 0)`,
  "CREATE INDEX cf_fibers_open ON cf_fibers (status) WHERE status IN ('pending', 'running')",
  "CREATE INDEX cf_fibers_recovery ON cf_fibers (recover_at) WHERE recover_at IS NOT NULL"
];

interface OldFiber {
  readonly managed?: 1;
  readonly status?: string;
  readonly snapshot?: string;
  readonly recover_at?: number | string;
  readonly recovery_step?: number;
  readonly recovery_attempts?: number;
  readonly recovery_is_last?: 1;
  readonly interrupted_at?: number;
}

let world: World;

beforeEach(() => {
  world = new World();
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
});

function leaveFibers(fibers: Readonly<Record<string, OldFiber>>): void {
  for (const statement of FIBERS) world.database.exec(statement);
  for (const [id, fiber] of Object.entries(fibers)) {
    const row = {
      id,
      name: "job",
      managed: 0,
      status: "interrupted",
      created_at: world.nowMs - 30 * HOUR_MS,
      ...fiber
    };
    const columns = Object.keys(row);
    const places = columns.map(() => "?").join(", ");
    world.database
      .prepare(`INSERT INTO cf_fibers (${columns.join(", ")}) VALUES (${places})`)
      .run(...Object.values(row));
  }
}

test("each is tried when it was to be tried, with its checkpoint, its failures and its age", async () => {
  const now = world.nowMs;
  const at = (hours: number) => now + hours * HOUR_MS;
  leaveFibers({
    due: { recover_at: now - 5, interrupted_at: now - 5, snapshot: '{"page":1}' },
    failed: { recover_at: now + 9_000, recovery_step: 3, recovery_attempts: 3, interrupted_at: at(-1) },
    last: {
      recover_at: now - 1,
      recovery_step: 300,
      recovery_attempts: 300,
      recovery_is_last: 1,
      interrupted_at: at(-25)
    },
    "not a time": { recover_at: "soon", snapshot: "{half" },
    managed: { managed: 1, recover_at: now, interrupted_at: now },
    undecided: { managed: 1, interrupted_at: now },
    done: { managed: 1, status: "completed" },
    open: { status: "running", snapshot: '"open"' }
  });
  const asked: [string, unknown, number][] = [];
  world.boot({
    methods: {
      onFiberRecovered: (context) => {
        const { id, snapshot } = context as FiberRecoveryContext;
        asked.push([id, snapshot, world.nowMs - now]);
        if (id === "failed" || id === "last") throw new Error("boom");
        return { status: "completed" };
      }
    }
  });
  expect(world.rows("SELECT key, due_at, claim, failures, troubled_since, created_at FROM cf_work")).toEqual([
    { key: "due", due_at: now - 5, claim: 0, failures: 0, troubled_since: null, created_at: now - 5 },
    { key: "failed", due_at: now + 9_000, claim: 3, failures: 3, troubled_since: at(-1), created_at: at(-1) },
    { key: "last", due_at: now - 1, claim: 300, failures: 300, troubled_since: at(-25), created_at: at(-25) },
    { key: "not a time", due_at: 0, claim: 0, failures: 0, troubled_since: null, created_at: at(-30) },
    { key: "managed", due_at: now, claim: 0, failures: 0, troubled_since: null, created_at: now },
    { key: "open", due_at: now, claim: 0, failures: 0, troubled_since: null, created_at: now }
  ]);
  await world.settle();
  expect(asked).toEqual([
    ["not a time", null, 0],
    ["due", { page: 1 }, 0],
    ["last", null, 0],
    ["managed", null, 0],
    ["open", "open", 0]
  ]);
  expect(world.eventsOf("fiber:recovery:skipped")).toMatchObject([{ fiberId: "last", reason: "max_age_exceeded" }]);
  expect(world.rows("SELECT source, body FROM cf_quarantine")).toEqual([{ source: "cf_fibers", body: "{half" }]);
  expect(world.rows("SELECT id, status FROM cf_fibers ORDER BY seq")).toEqual([
    { id: "failed", status: "interrupted" },
    { id: "managed", status: "completed" },
    { id: "undecided", status: "interrupted" },
    { id: "done", status: "completed" }
  ]);
  await world.advance(9_000);
  expect(asked.at(-1)).toEqual(["failed", null, 9_000]);
  expect(world.rows("SELECT key FROM cf_work")).toEqual([{ key: "failed" }]);
});

test("fibers of which none is owed a recovery leave no table of durable work", async () => {
  leaveFibers({ done: { managed: 1, status: "completed" } });
  const { fibers } = world.boot();
  await world.settle();
  expect(fibers.inspect("done")).toMatchObject({ status: "completed" });
  expect(world.rows("SELECT name FROM sqlite_master WHERE name IN ('cf_work', 'cf_fibers_recovery')")).toEqual([]);
  expect(world.alarmAt).toBeNull();
});
