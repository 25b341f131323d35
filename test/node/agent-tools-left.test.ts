// What is left of runs is durable work: reports that a dead process had begun, children that are to be stopped or deleted, ends
// that could not be written. Whatever hooks do and whoever wakes the object meanwhile, an item that is worked on is not due;
// what fails is tried less and less often, whichever process tries.
import { beforeEach, expect, test, vi } from "vitest";
import { ChildLink } from "../../src/features/agent-tools/child-link.ts";
import { REPORT_MS } from "../../src/features/agent-tools/run-reports.ts";
import { createGate, everyCrash, reply, stall, text } from "../../src/testing/index.ts";
import {
  answerOf,
  ask,
  callsResearch,
  done,
  type Host,
  open,
  Parent,
  parentOf,
  scene,
  stored
} from "./agent-tools-kit.ts";

// Each point of a crash boots the tree again.
vi.setConfig({ testTimeout: 120_000 });

const DAY_MS = 24 * 3_600_000;

beforeEach(() => {
  vi.restoreAllMocks();
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

const says = () => reply(text("The moon pulls."));
const calls = (kind: "finish" | "report") => scene.trace.filter((line) => line.startsWith(kind)).length;
const logged = () => vi.mocked(console.error).mock.calls.flat().map(String).join("\n");

const items = (host: Host, kind: string, path: string[] = []) =>
  host.sql<{ key: string; state: string; failures: number }>(
    Parent,
    "p",
    { path },
    `SELECT key, iif(claimed_at IS NULL, iif(due_at IS NULL, 'parked', 'waiting'), 'claimed') AS state, failures
     FROM cf_work WHERE kind = '${kind}' ORDER BY id`
  );

/** Runs that are over, with hooks that do not return. */
async function hanging(runs: readonly string[]): Promise<Host> {
  const host = open({ child: says, finishHook: () => new Promise(() => undefined) });
  const parent = await parentOf(host);
  const detached = { onFinish: "onReport" };
  for (const runId of runs) void parent.run({ input: "x", runId, detached }).catch(() => undefined);
  await host.advance(1_000);
  expect(calls("finish")).toBe(runs.length);
  return host;
}

/** The next process, whose hooks are these. */
async function restartWith(host: Host, finishHook: () => unknown): Promise<void> {
  scene.finishHook = finishHook;
  scene.trace.length = 0;
  await host.restart();
}

async function leftUnreported(finishHook: () => unknown, runs = ["r"]): Promise<Host> {
  const host = await hanging(runs);
  await restartWith(host, finishHook);
  return host;
}

/** Wakes of others, and starts of runs, for so long. */
async function wakeOften(host: Host, ms: number): Promise<void> {
  const parent = await parentOf(host);
  for (let second = 1; second <= 20; second += 1) await parent.schedule(second, "runs");
  await host.advance(ms);
}

test("a run whose process lives is no item of work, in the foreground and in the background", async () => {
  const host = open({ child: says });
  const parent = await parentOf(host);
  await parent.run({ input: "x", runId: "a" });
  await parent.run({ input: "x", runId: "b", detached: { onFinish: "onReport", notify: true } });
  await host.advance(60_000);
  const table = "SELECT name FROM sqlite_master WHERE name = 'cf_work'";
  const inChildren = [["Researcher:a"], ["Researcher:b"]].map((path) => host.sql(Parent, "p", { path }, table));
  expect(inChildren).toEqual([[], []]);
  // The root has the wakes of its sub-agents there.
  const kinds = host.sql(Parent, "p", "SELECT DISTINCT kind FROM cf_work WHERE kind <> 'child-wake'");
  expect(kinds).toEqual([]);
  expect(calls("report")).toBe(1);
});

test("a report that is claimed is never due: wakes that come while its hook runs call it no second time", async () => {
  const gate = Promise.withResolvers<void>();
  const host = await leftUnreported(() => gate.promise);
  await wakeOften(host, 10 * 60_000);
  expect(items(host, "agent-tool-run")).toEqual([
    { key: expect.stringMatching(/^[1-9]\d*:r$/), state: "claimed", failures: 0 }
  ]);
  expect(calls("finish")).toBe(1);
  gate.resolve();
  await wakeOften(host, 60_000);
  expect([calls("finish"), calls("report")]).toEqual([1, 1]);
  expect(items(host, "agent-tool-run")).toEqual([]);
  await host.advance(DAY_MS);
  expect(host.alarm(Parent, "p")).toBeNull();
});

test("fifty reports of a dead process are made once each, and one that hangs holds up no other", async () => {
  const runs = Array.from({ length: 50 }, (_, index) => `r${index}`);
  let hung = 0;
  const host = await leftUnreported(() => (++hung === 1 ? new Promise(() => undefined) : undefined), runs);
  await wakeOften(host, 60_000);
  expect([calls("finish"), calls("report")]).toEqual([50, 49]);
  expect(items(host, "agent-tool-run").map(({ state }) => state)).toEqual(["claimed"]);
  // It counts as called, and what comes after it in its report is called.
  await host.advance(REPORT_MS);
  expect([calls("finish"), calls("report")]).toEqual([50, 50]);
  expect(items(host, "agent-tool-run")).toEqual([]);
});

test("a report of a dead process whose hook throws counts as made, and the log has what it threw", async () => {
  const host = await leftUnreported(() => Promise.reject(new Error("no mail server")));
  await wakeOften(host, DAY_MS);
  expect([calls("finish"), calls("report")]).toEqual([1, 1]);
  expect(logged()).toContain("no mail server");
  expect(items(host, "agent-tool-run")).toEqual([]);
});

test("a disk that does not take that a hook has returned makes no process call it twice", async () => {
  const host = open({ child: says });
  const parent = await parentOf(host);
  await parent.run({ input: "x", runId: "first" });
  host.sql(
    Parent,
    "p",
    `CREATE TRIGGER full_disk BEFORE UPDATE ON cf_child_runs WHEN new.reports < old.reports
       BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`
  );
  scene.trace.length = 0;
  await parent.run({ input: "x", runId: "r", detached: { onFinish: "onReport" } });
  await wakeOften(host, DAY_MS);
  expect([calls("finish"), calls("report")]).toEqual([1, 1]);
  host.sql(Parent, "p", "DROP TRIGGER full_disk");
  await host.advance(2 * 3_600_000);
  expect([calls("finish"), calls("report")]).toEqual([1, 1]);
  expect(host.sql(Parent, "p", "SELECT reports FROM cf_child_runs WHERE run_id = 'r'")).toEqual([{ reports: 0 }]);
  expect(items(host, "agent-tool-run")).toEqual([]);
});

test("a run that a wake has taken up is not taken up again by the next ones", async () => {
  const gate = createGate();
  const host = open({ child: [reply(text("a"), gate.wait()), reply(text("b"), gate.wait())] });
  void (await parentOf(host)).run({ input: "x", runId: "r" }).catch(() => undefined);
  await host.advance(1_000);
  await host.restart();
  await wakeOften(host, 60_000);
  expect(scene.events.filter(({ type }) => type === "agent_tool:recovery:reattach")).toHaveLength(1);
  expect(items(host, "agent-tool-run")).toEqual([{ key: "0:r", state: "claimed", failures: 0 }]);
  gate.open();
  await host.advance(60_000);
  expect(await (await parentOf(host)).inspectAgentToolRun("r")).toMatchObject({ status: "completed", summary: "ab" });
  expect([calls("finish"), items(host, "agent-tool-run")]).toEqual([1, []]);
});

test("a run that a turn waits for is no item after a crash: the turn takes it up, and its result is that of the call", async () => {
  const gate = createGate();
  const host = open({
    parent: [callsResearch, done],
    child: [reply(text("a"), gate.wait()), reply(text("b"), gate.wait())]
  });
  void ask(host, "q").catch(() => undefined);
  await host.advance(1_000);
  await host.restart();
  await wakeOften(host, 60_000);
  expect(items(host, "agent-tool-run")).toEqual([]);
  gate.open();
  await host.advance(60_000);
  expect(answerOf(await stored(host))).toBe("Done.");
  expect(calls("finish")).toBe(1);
});

test("a child that cannot be deleted is tried less and less often, over restarts", async () => {
  const host = open({ child: says });
  await (await parentOf(host)).run({ input: "x", runId: "r" });
  const remove = vi.spyOn(ChildLink.prototype, "remove").mockRejectedValue(new Error("no disk"));
  await (await parentOf(host)).clearAgentToolRuns();
  for (let hour = 0; hour < 10; hour += 1) {
    await host.advance(3_600_000);
    for (let start = 0; start < 10; start += 1) await host.restart();
  }
  // After 30 s, 1, 2, 4, 8, 16, 32 minutes, then once an hour: a hundred starts have added none.
  expect(remove.mock.calls.length).toBeGreaterThan(10);
  expect(remove.mock.calls.length).toBeLessThan(20);
  remove.mockRestore();
  await host.advance(3_600_000);
  expect(await (await parentOf(host)).listSubAgents()).toEqual([]);
  expect(items(host, "agent-tool-removal")).toEqual([]);
});

test("who clears again tries at once what could not be deleted before", async () => {
  const host = open({ child: says });
  const parent = await parentOf(host);
  await parent.run({ input: "x", runId: "r" });
  const remove = vi.spyOn(ChildLink.prototype, "remove").mockRejectedValue(new Error("no disk"));
  await parent.clearAgentToolRuns();
  await host.advance(3 * 3_600_000);
  remove.mockRestore();
  expect(await parent.listSubAgents()).toHaveLength(1);
  await parent.clearAgentToolRuns();
  expect(await parent.listSubAgents()).toEqual([]);
});

test("a run under the id of one whose child is still being deleted does not begin, and begins when it is", async () => {
  const host = open({ child: says });
  const parent = await parentOf(host);
  await parent.run({ input: "x", runId: "r" });
  const remove = vi.spyOn(ChildLink.prototype, "remove").mockRejectedValue(new Error("no disk"));
  await parent.clearAgentToolRuns();
  const refused = await parent.run({ input: "x", runId: "r" });
  expect(refused).toMatchObject({ runId: "r", status: "aborted", error: "clearing agent tool run" });
  expect(await parent.runs()).toEqual([]);
  remove.mockRestore();
  await host.advance(60_000);
  expect(await parent.listSubAgents()).toEqual([]);
  expect(await parent.run({ input: "x", runId: "r" })).toMatchObject({ status: "completed" });
  await host.advance(DAY_MS);
  expect(await parent.listSubAgents()).toHaveLength(1);
});

test("a child that cannot be stopped is tried less and less often, over restarts", async () => {
  const host = open({ child: () => reply(text("a"), stall()) });
  const parent = await parentOf(host);
  await parent.run({ input: "x", runId: "r", detached: true });
  const cancel = vi.spyOn(ChildLink.prototype, "cancel").mockRejectedValue(new Error("unreachable"));
  await parent.cancelAgentToolRun("r", "enough");
  for (let hour = 0; hour < 10; hour += 1) {
    await host.advance(3_600_000);
    for (let start = 0; start < 10; start += 1) await host.restart();
  }
  expect(cancel.mock.calls.length).toBeGreaterThan(10);
  expect(cancel.mock.calls.length).toBeLessThan(20);
  cancel.mockRestore();
  await host.advance(3_600_000);
  const run = await (await parentOf(host)).inspectAgentToolRun("r");
  expect(run).toMatchObject({ status: "aborted", error: "enough" });
  expect(items(host, "agent-tool-run")).toEqual([]);
});

test("a child whose word about a run cannot be written tries less and less often, over restarts", async () => {
  const gate = createGate();
  const host = open({ child: () => reply(gate.wait(), text("ok")) });
  const path = ["Researcher:r"];
  let asked = 0;
  scene.output = () => void (asked += 1);
  // No row at the parent: nothing follows it.
  await (await parentOf(host)).startTwice("r");
  await gate.reached;
  host.sql(
    Parent,
    "p",
    { path },
    `CREATE TRIGGER full_disk BEFORE UPDATE ON cf_own_runs WHEN new.status <> 'running'
       BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`
  );
  gate.open();
  for (let halfMinute = 0; halfMinute < 6; halfMinute += 1) {
    await host.advance(30_000);
    for (let start = 0; start < 5; start += 1) {
      await host.restart();
      // Starts the child, too.
      await host.connect("/agents/parent/p/sub/researcher/r");
    }
  }
  // At its end, then 30 s, 1 and 2 minutes after it.
  expect(asked).toBe(4);
  host.sql(Parent, "p", { path }, "DROP TRIGGER full_disk");
  await host.advance(3_600_000);
  expect(host.sql(Parent, "p", { path }, "SELECT status FROM cf_own_runs")).toEqual([{ status: "completed" }]);
  expect(items(host, "agent-tool-own-run", path)).toEqual([]);
});

// ── The matrix ──

test("killed at every write while runs are cleared, nothing of them is left", async () => {
  const { points } = await everyCrash({
    create: async () => {
      const host = open({ child: [says(), reply(text("a"), stall()), says()] });
      const parent = await parentOf(host);
      await parent.run({ input: "x", runId: "a" });
      await parent.run({ input: "x", runId: "b", detached: true });
      return host;
    },
    script: async (host) => (await parentOf(host)).clearAgentToolRuns(),
    finish: async (host) => {
      // The caller does not know whether its call arrived.
      await (await parentOf(host)).clearAgentToolRuns();
      await host.advance(700_000);
    },
    inspect: async (host) => {
      const parent = await parentOf(host);
      return [
        await parent.runs(),
        await parent.listSubAgents(),
        items(host, "agent-tool-removal"),
        host.alarm(Parent, "p")
      ];
    },
    points: "writes"
  });
  expect(points).toBeGreaterThan(8);
});

test("killed at every write while retention deletes runs, each goes with its child", async () => {
  await everyCrash({
    create: async () => {
      const host = open({ child: says, settings: { retention: { maxRuns: 1 } } });
      await (await parentOf(host)).run({ input: "x", runId: "a" });
      return host;
    },
    script: async (host) => (await parentOf(host)).run({ input: "x", runId: "b" }),
    finish: async (host) => {
      for (const runId of ["b", "c"]) {
        await (await parentOf(host)).run({ input: "x", runId });
        await host.advance(200_000);
      }
    },
    inspect: async (host) => {
      const parent = await parentOf(host);
      const children = (await parent.listSubAgents()).map(({ name }) => name);
      return [(await parent.runs()).map(({ runId }) => runId), children, items(host, "agent-tool-removal")];
    },
    points: "writes"
  });
});

test("killed at every write while a report of a dead process is made, it is made, and nothing is left", async () => {
  const { points } = await everyCrash({
    create: async () => {
      const host = await hanging(["r"]);
      // From the third death on it waits, so that this process is killed in the report and not in its start.
      for (let kill = 0; kill < 3; kill += 1) await restartWith(host, () => new Promise(() => undefined));
      scene.finishHook = undefined;
      return host;
    },
    script: async (host) => {
      await host.advance(20_000);
      await wakeOften(host, 30_000);
    },
    finish: async (host) => {
      await parentOf(host);
      await host.advance(200_000);
    },
    inspect: (host) => ({
      isReported: calls("finish") > 0 && calls("report") > 0,
      rows: host.sql(Parent, "p", "SELECT status, reports FROM cf_child_runs"),
      items: items(host, "agent-tool-run"),
      isIdle: host.alarm(Parent, "p") === null
    }),
    points: "writes"
  });
  expect(points).toBeGreaterThan(10);
});
