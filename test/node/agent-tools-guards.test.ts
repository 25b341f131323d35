// Runs of agent tools: guards that only hard use would miss.
import { beforeEach, expect, test, vi } from "vitest";
import { ChildLink } from "../../src/features/agent-tools/child-link.ts";
import { RUN_OUTPUT_LIMIT_BYTES } from "../../src/features/agent-tools/run.ts";
import { createGate, reply, stall, text } from "../../src/testing/index.ts";
import { open, Parent, parentOf, scene } from "./agent-tools-kit.ts";

beforeEach(() => {
  vi.restoreAllMocks();
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

test("a run that is over is its stored result: its child is not woken, and may be gone", async () => {
  const host = open({ child: [reply(text("The moon."))] });
  const parent = await parentOf(host);
  const first = await parent.run({ input: "x", runId: "r" });
  await parent.dropChild("r");
  const asked = vi.spyOn(ChildLink.prototype, "read");
  const started = scene.trace.filter((line) => line === "child starts").length;
  expect(await parent.run({ input: "x", runId: "r" })).toEqual(first);
  expect(asked).not.toHaveBeenCalled();
  expect(scene.trace.filter((line) => line === "child starts")).toHaveLength(started);
});

test("a child that dies between the end of its turn and its word about the run wakes by itself", async () => {
  const host = open({ child: () => reply(text("ok")), output: () => new Promise(() => undefined) });
  const parent = await parentOf(host);
  // No row at the parent: nothing follows it.
  await parent.startTwice("r");
  await host.idle();
  const rows = () => host.sql(Parent, "p", { path: ["Researcher:r"] }, "SELECT status FROM cf_own_runs");
  expect(rows()).toEqual([{ status: "running" }]);
  host.kill();
  scene.output = undefined;
  await host.restart();
  await host.advance(120_000);
  expect(rows()).toEqual([{ status: "completed" }]);
});

test("a child whose word about a run could not be written tries again by itself", async () => {
  const gate = createGate();
  const host = open({ child: () => reply(gate.wait(), text("ok")) });
  const parent = await parentOf(host);
  // No row at the parent: nothing follows it.
  await parent.startTwice("r");
  await gate.reached;
  const child = { path: ["Researcher:r"] };
  host.sql(
    Parent,
    "p",
    child,
    `CREATE TRIGGER full_disk BEFORE UPDATE ON cf_own_runs WHEN new.status <> 'running'
       BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`
  );
  const error = vi.mocked(console.error);
  const failures = () => error.mock.calls.filter(([line]) => String(line).endsWith("background work failed:")).length;
  gate.open();
  await host.advance(100);
  expect(failures()).toBe(1);
  await host.advance(120_000);
  const rows = () => host.sql(Parent, "p", child, "SELECT status FROM cf_own_runs");
  expect(rows()).toEqual([{ status: "running" }]);
  // Less and less often.
  expect(failures()).toBeGreaterThan(1);
  expect(failures()).toBeLessThan(6);
  host.sql(Parent, "p", child, "DROP TRIGGER full_disk");
  await host.advance(240_000);
  expect(rows()).toEqual([{ status: "completed" }]);
});

test("a child that works is stopped before its storage is deleted", async () => {
  const host = open({ child: [reply(text("a"), stall())] });
  const parent = await parentOf(host);
  const running = parent.run({ input: "x", runId: "r" });
  await host.idle();
  const steps: string[] = [];
  const { cancel, remove } = ChildLink.prototype;
  vi.spyOn(ChildLink.prototype, "cancel").mockImplementation(async function (this: ChildLink, row, reason) {
    await cancel.call(this, row, reason);
    steps.push("stopped");
  });
  vi.spyOn(ChildLink.prototype, "remove").mockImplementation(async function (this: ChildLink, row) {
    steps.push("deleted");
    await remove.call(this, row);
  });
  await parent.clearAgentToolRuns();
  await running;
  expect(steps.filter((step) => step === "deleted")).toHaveLength(1);
  expect(steps.indexOf("stopped")).toBeGreaterThanOrEqual(0);
  expect(steps.indexOf("stopped")).toBeLessThan(steps.indexOf("deleted"));
});

test("a run that is being deleted is not deleted a second time by those who clear meanwhile, nor by a wake", async () => {
  const host = open({ child: [reply(text("ok"))] });
  const parent = await parentOf(host);
  await parent.run({ input: "x", runId: "r" });
  let deletions = 0;
  const held = Promise.withResolvers<void>();
  const { remove } = ChildLink.prototype;
  vi.spyOn(ChildLink.prototype, "remove").mockImplementation(async function (this: ChildLink, row) {
    deletions += 1;
    await held.promise;
    await remove.call(this, row);
  });
  const first = parent.clearAgentToolRuns();
  await host.idle();
  const second = parent.clearAgentToolRuns();
  await host.advance(120_000);
  expect(deletions).toBe(1);
  held.resolve();
  // Both callers wait for the one deletion.
  await Promise.all([first, second]);
  expect(deletions).toBe(1);
  expect(host.sql(Parent, "p", "SELECT run_id FROM cf_child_runs")).toEqual([]);
});

test("an output over the limit fails the run, and is stored in neither agent", async () => {
  const output = "x".repeat(RUN_OUTPUT_LIMIT_BYTES);
  const host = open({ child: [reply(text("ok"))], output: () => output });
  const parent = await parentOf(host);
  const result = await parent.run({ input: "x", runId: "r" });
  expect(result).toMatchObject({ status: "error", error: expect.stringContaining("too large") });
  const child = { path: ["Researcher:r"] };
  expect(host.sql(Parent, "p", child, "SELECT output FROM cf_own_runs")).toEqual([{ output: null }]);
  expect(host.sql(Parent, "p", "SELECT output FROM cf_child_runs")).toEqual([{ output: null }]);
});

test.each([
  ["the end of a run", "new.status = 'completed'"],
  ["that an end was reported", "old.reports > 0 AND new.reports = 0"]
])("a parent that could not write %s tries again by itself", async (_what, when) => {
  const gate = createGate();
  const host = open({ child: () => reply(gate.wait(), text("ok")) });
  const parent = await parentOf(host);
  await parent.run({ input: "x", runId: "r", detached: true });
  await gate.reached;
  host.sql(
    Parent,
    "p",
    `CREATE TRIGGER full_disk BEFORE UPDATE ON cf_child_runs WHEN ${when}
       BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`
  );
  gate.open();
  await host.advance(60_000);
  const rows = () => host.sql(Parent, "p", "SELECT status, reports FROM cf_child_runs");
  expect(rows()).not.toEqual([{ status: "completed", reports: 0 }]);
  host.sql(Parent, "p", "DROP TRIGGER full_disk");
  await host.advance(600_000);
  expect(rows()).toEqual([{ status: "completed", reports: 0 }]);
  expect(host.alarm(Parent, "p")).toBeNull();
});
