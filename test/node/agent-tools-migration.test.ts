// What builds before the one runner left of runs, a status and a count in the run's row, becomes items of durable work.
import { beforeEach, expect, test, vi } from "vitest";
import { ChildLink } from "../../src/features/agent-tools/child-link.ts";
import { reply, text } from "../../src/testing/index.ts";
import { type Host, open, Parent, parentOf, scene } from "./agent-tools-kit.ts";

/** As schema version 7 made it. */
const CHILD_RUNS = `CREATE TABLE cf_child_runs (run_id TEXT PRIMARY KEY, ordinal INTEGER NOT NULL, class_name TEXT NOT NULL,
  call_id TEXT, turn_id TEXT, preview TEXT, display TEXT, display_order INTEGER NOT NULL, status TEXT NOT NULL, summary TEXT,
  output TEXT, error TEXT, reason TEXT, still_running INTEGER, tokens INTEGER NOT NULL DEFAULT 0,
  last_event INTEGER NOT NULL DEFAULT 0, cancel TEXT, detached TEXT, reports INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER NOT NULL, completed_at INTEGER) WITHOUT ROWID`;

beforeEach(() => {
  vi.restoreAllMocks();
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

interface OldRun {
  readonly status: string;
  readonly reports?: number | string;
  readonly last_event?: number;
  readonly cancel?: string;
  readonly detached?: string;
  readonly class_name?: string;
  readonly summary?: string;
}

async function leave(runs: Readonly<Record<string, OldRun>>): Promise<Host> {
  const host = open({ child: () => reply(text("The moon pulls.")) });
  await parentOf(host);
  host.kill();
  host.sql(Parent, "p", CHILD_RUNS);
  for (const [index, [run_id, run]] of Object.entries(runs).entries()) {
    const base = {
      run_id,
      ordinal: index + 1,
      class_name: "Researcher",
      display_order: 0,
      started_at: host.now - 5_000
    };
    const row = { ...base, completed_at: run.status === "completed" ? host.now - 1_000 : null, ...run };
    const values = Object.values(row).map((value) => (typeof value === "string" ? `'${value}'` : String(value)));
    host.sql(Parent, "p", `INSERT INTO cf_child_runs (${Object.keys(row).join(", ")}) VALUES (${values.join(", ")})`);
  }
  return host;
}

const items = (host: Host) =>
  host.sql(
    Parent,
    "p",
    `SELECT kind, key, payload, due_at IS NOT NULL AS isDue, claimed_at IS NOT NULL AS isClaimed, claim, starts FROM cf_work
     ORDER BY kind, id`
  );

const finished = () => scene.trace.filter((line) => line.startsWith("finish")).length;

test("every state of a run is taken up as it was: reported, stopped, followed, deleted", async () => {
  const host = await leave({
    done: { status: "completed", summary: "ok" },
    "never begun": { status: "starting", detached: "{}" },
    working: { status: "running", detached: "{}" },
    "to be stopped": { status: "running", cancel: "enough" },
    unreported: { status: "completed", reports: 1, last_event: 4, detached: '{"onFinish":"onReport"}', summary: "one" },
    "died twice": { status: "error", reports: 2, last_event: 3, detached: '{"onFinish":"onReport"}' },
    "died often": {
      status: "completed",
      reports: 7,
      last_event: 2,
      detached: '{"onFinish":"onReport"}',
      summary: "seven"
    },
    "given up": { status: "completed", reports: 20, last_event: 1, detached: '{"onFinish":"onReport"}' },
    "no count": { status: "completed", reports: "many", last_event: 1, detached: "{half" },
    cleared: { status: "clearing", cancel: "clearing agent tool run" },
    expired: { status: "clearing" },
    "cleared, unreported": { status: "clearing", reports: 1, class_name: "Bystander" }
  });
  const stopped: string[] = [];
  const removed: string[] = [];
  const { cancel, remove } = ChildLink.prototype;
  vi.spyOn(ChildLink.prototype, "cancel").mockImplementation(function (this: ChildLink, run, reason) {
    stopped.push(run.run_id);
    return cancel.call(this, run, reason);
  });
  vi.spyOn(ChildLink.prototype, "remove").mockImplementation(function (this: ChildLink, run) {
    removed.push(`${run.class_name} ${run.run_id}`);
    return remove.call(this, run);
  });
  await host.restart();
  await parentOf(host);
  await host.advance(10_000);
  expect(finished()).toBe(6);
  // So many processes have died in them that they wait for half a minute.
  const item = { kind: "agent-tool-run", payload: "null", isDue: 1, isClaimed: 0 };
  expect(items(host)).toEqual([
    { ...item, key: "2:died often", claim: 7, starts: 6 },
    { ...item, key: "1:given up", claim: 20, starts: 19 }
  ]);
  expect(stopped.toSorted()).toEqual(["cleared", "to be stopped"]);
  expect(removed.toSorted()).toEqual(["Bystander cleared, unreported", "Researcher cleared", "Researcher expired"]);
  await host.advance(60_000);
  expect(items(host)).toEqual([]);
  expect(scene.trace.filter((line) => line.startsWith("report")).toSorted()).toEqual([
    "report Researcher one",
    "report Researcher seven",
    "report Researcher undefined"
  ]);
  const logged = vi.mocked(console.error).mock.calls.flat().map(String).join("\n");
  expect(logged).toContain("was reported 20 times");
  expect(host.sql(Parent, "p", "SELECT run_id, status, reports FROM cf_child_runs ORDER BY ordinal")).toEqual([
    { run_id: "done", status: "completed", reports: 0 },
    { run_id: "never begun", status: "interrupted", reports: 0 },
    { run_id: "working", status: "error", reports: 0 },
    { run_id: "to be stopped", status: "aborted", reports: 0 },
    { run_id: "unreported", status: "completed", reports: 0 },
    { run_id: "died twice", status: "error", reports: 0 },
    { run_id: "died often", status: "completed", reports: 0 },
    { run_id: "given up", status: "completed", reports: 0 },
    { run_id: "no count", status: "completed", reports: 0 }
  ]);
  expect(host.alarm(Parent, "p")).toBeNull();
});

test("runs that were over and reported leave no table of durable work", async () => {
  const host = await leave({ done: { status: "completed", summary: "ok" } });
  await host.restart();
  expect(await (await parentOf(host)).inspectAgentToolRun("done")).toMatchObject({
    status: "completed",
    summary: "ok"
  });
  await host.advance(60_000);
  expect(host.sql(Parent, "p", "SELECT name FROM sqlite_master WHERE name = 'cf_work'")).toEqual([]);
  expect(host.alarm(Parent, "p")).toBeNull();
});
