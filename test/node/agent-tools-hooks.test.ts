// The end of a run is reported to user code once. A hook takes its time, hangs, throws or dies with the process: it is
// called again only after the process that called it is gone, and the object wakes no more often than anything else that
// runs keeps it awake.
import { beforeEach, expect, test, vi } from "vitest";
import { AgentRuntime } from "../../src/agent/runtime.ts";
import { REPORT_MS, REPORT_TRIES } from "../../src/features/agent-tools/run-reports.ts";
import { createGate, everyCrash, reply, text } from "../../src/testing/index.ts";
import {
  answerOf,
  ask,
  callsResearch,
  done,
  type Host,
  open,
  Parent,
  parentOf,
  research,
  scene,
  stored
} from "./agent-tools-kit.ts";

// Each point of a crash boots the tree again.
vi.setConfig({ testTimeout: 60_000 });

let wakes = 0;
const { wake } = AgentRuntime.prototype;

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  wakes = 0;
  vi.spyOn(AgentRuntime.prototype, "wake").mockImplementation(function (this: AgentRuntime) {
    wakes += 1;
    return wake.call(this);
  });
});

const says = () => reply(text("The moon pulls."));

const calls = (kind: "finish" | "report") => scene.trace.filter((line) => line.startsWith(kind)).length;

/** A hook that returns when it is let go. */
function slowHook() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { finishHook: () => promise, letGo: () => resolve() };
}

const logged = () => vi.mocked(console.error).mock.calls.flat().map(String).join("\n");

const rowsToReport = (host: Host) => host.sql(Parent, "p", "SELECT run_id FROM cf_child_runs WHERE reports > 0");

test("onAgentToolFinish is called once however long it takes, and the object wakes as rarely as for any other work", async () => {
  const { finishHook, letGo } = slowHook();
  const host = open({ parent: [callsResearch, done], child: says, finishHook });
  const asking = ask(host, "q");
  await host.idle();
  wakes = 0;
  await host.advance(120_000);
  expect(calls("finish")).toBe(1);
  // The heartbeat of work that only memory holds: twice a minute.
  expect(wakes).toBeLessThanOrEqual(5);
  letGo();
  expect(await asking).toMatchObject({ status: "completed" });
  await host.advance(120_000);
  expect(calls("finish")).toBe(1);
  expect(rowsToReport(host)).toEqual([]);
  expect(answerOf(await stored(host))).toBe("Done.");
});

test("onFinish of a background run is called once however long it takes", async () => {
  const { finishHook, letGo } = slowHook();
  const host = open({ child: says, finishHook });
  await (await parentOf(host)).run({ input: "x", runId: "r", detached: { onFinish: "onReport", notify: true } });
  await host.idle();
  wakes = 0;
  await host.advance(120_000);
  letGo();
  await host.advance(120_000);
  expect([calls("finish"), calls("report")]).toEqual([1, 1]);
  expect(wakes).toBeLessThanOrEqual(12);
  expect(answerOf(await stored(host))).toBe("Researcher: The moon pulls.");
});

test("runs that end together are reported once each", async () => {
  const { finishHook, letGo } = slowHook();
  const host = open({ child: says, finishHook });
  const parent = await parentOf(host);
  const runs = Array.from({ length: 50 }, (_, index) => parent.run({ input: "x", runId: `r${index}` }));
  await host.idle();
  await host.advance(60_000);
  letGo();
  await Promise.all(runs);
  await host.advance(60_000);
  expect(calls("finish")).toBe(50);
  expect(rowsToReport(host)).toEqual([]);
});

test("wakes that come while the hook runs do not call it again: a schedule, the queue, another run", async () => {
  const { finishHook, letGo } = slowHook();
  const host = open({ child: says, finishHook });
  const parent = await parentOf(host);
  const running = parent.run({ input: "x", runId: "r" });
  await host.idle();
  for (let second = 1; second <= 20; second += 1) await parent.schedule(second, "runs");
  await host.advance(25_000);
  expect(calls("finish")).toBe(1);
  letGo();
  await running;
  expect(calls("finish")).toBe(1);
});

test("a hook that hangs holds nothing for ever: after its time it counts as called, the log names it, the agent sleeps", async () => {
  const host = open({ child: says, finishHook: () => new Promise(() => undefined) });
  const parent = await parentOf(host);
  const running = parent.run({ input: "x", runId: "r" });
  await host.advance(REPORT_MS + 60_000);
  expect(await running).toMatchObject({ status: "completed", summary: "The moon pulls." });
  expect(calls("finish")).toBe(1);
  expect(rowsToReport(host)).toEqual([]);
  expect(logged()).toContain("onAgentToolFinish");
  await host.advance(3_600_000);
  expect(calls("finish")).toBe(1);
  expect(host.alarm(Parent, "p")).toBeNull();
});

test("a hook that throws is logged and counts as called", async () => {
  const finishHook = () => Promise.reject(new Error("no mail server"));
  const host = open({ child: says, finishHook });
  expect(await (await parentOf(host)).run({ input: "x", runId: "r" })).toMatchObject({ status: "completed" });
  await host.advance(120_000);
  expect(calls("finish")).toBe(1);
});

test("a hook that the process dies in is called once more by the next one, not again and again", async () => {
  const { finishHook, letGo } = slowHook();
  const host = open({ child: says, finishHook });
  void (await parentOf(host)).run({ input: "x", runId: "r" }).catch(() => undefined);
  await host.advance(2_000);
  await host.restart();
  await host.advance(120_000);
  expect(calls("finish")).toBe(2);
  letGo();
  await host.advance(120_000);
  expect(calls("finish")).toBe(2);
  expect(rowsToReport(host)).toEqual([]);
});

test("a hook that every process dies in is called by twenty of them, half a minute apart, and then given up by name", async () => {
  const host = open({ child: says, finishHook: () => new Promise(() => undefined) });
  void (await parentOf(host)).run({ input: "x", runId: "r" }).catch(() => undefined);
  await host.idle();
  for (let kill = 0; kill < 2; kill += 1) {
    await host.restart();
    await (await parentOf(host)).runs();
    await host.advance(1_000);
  }
  expect(calls("finish")).toBe(3);
  // From the third on it may be the hook's doing.
  await host.restart();
  await (await parentOf(host)).runs();
  await host.advance(25_000);
  expect(calls("finish")).toBe(3);
  await host.advance(10_000);
  expect(calls("finish")).toBe(4);
  for (let kill = 0; kill < 30; kill += 1) {
    await host.restart();
    await host.advance(100_000);
  }
  expect(calls("finish")).toBe(REPORT_TRIES);
  expect(rowsToReport(host)).toEqual([]);
  expect(logged()).toContain("was reported 20 times");
  expect(await (await parentOf(host)).inspectAgentToolRun("r")).toMatchObject({ status: "completed" });
});

test("a run that is cleared while its hook runs is deleted all the same, and reported no more", async () => {
  const { finishHook, letGo } = slowHook();
  const host = open({ child: says, finishHook });
  const parent = await parentOf(host);
  const running = parent.run({ input: "x", runId: "r" });
  await host.idle();
  await parent.clearAgentToolRuns();
  expect(await parent.listSubAgents()).toEqual([]);
  letGo();
  await running;
  await host.advance(120_000);
  expect(calls("finish")).toBe(1);
  expect(host.alarm(Parent, "p")).toBeNull();
});

test("a run that ends anew while its first end is being reported has both reported", async () => {
  const { finishHook, letGo } = slowHook();
  const gate = createGate();
  const host = open({
    child: () => reply(text("a"), gate.wait(), text("b")),
    finishHook,
    settings: { noProgressMs: 60_000 }
  });
  const parent = await parentOf(host);
  const first = parent.run({ input: "x", runId: "r" });
  await host.advance(90_000);
  expect(scene.trace.at(-1)).toBe("finish Researcher interrupted");
  const second = parent.run({ input: "x", runId: "r" });
  gate.open();
  await host.advance(5_000);
  expect(scene.trace.at(-1)).toBe("finish Researcher completed");
  expect(rowsToReport(host)).toHaveLength(1);
  // The second has not returned when the process dies: it is reported once more, and the first is not.
  await host.restart();
  letGo();
  await host.advance(120_000);
  expect(scene.trace.filter((line) => line.startsWith("finish"))).toEqual([
    "finish Researcher interrupted",
    "finish Researcher completed",
    "finish Researcher completed"
  ]);
  await Promise.allSettled([first, second]);
});

test("the report of an earlier end does not stand for that of a later one", async () => {
  const hooks = new Map<string, () => void>();
  const finishHook = ({ status }: { status: string }) => new Promise<void>((resolve) => hooks.set(status, resolve));
  const gate = createGate();
  const host = open({
    child: () => reply(text("a"), gate.wait(), text("b")),
    finishHook,
    settings: { noProgressMs: 60_000 }
  });
  const parent = await parentOf(host);
  const runs = [parent.run({ input: "x", runId: "r" })];
  await host.advance(90_000);
  runs.push(parent.run({ input: "x", runId: "r" }));
  gate.open();
  await host.advance(5_000);
  hooks.get("interrupted")?.();
  await host.idle();
  expect(rowsToReport(host)).toHaveLength(1);
  // The later one is under way all the same: no wake makes it again.
  await host.advance(60_000);
  const made = ["finish Researcher interrupted", "finish Researcher completed"];
  expect(scene.trace.filter((line) => line.startsWith("finish"))).toEqual(made);
  await host.restart();
  await host.advance(40_000);
  hooks.get("completed")?.();
  await host.advance(5_000);
  expect(rowsToReport(host)).toEqual([]);
  await Promise.allSettled(runs);
});

test("killed at every write around a hook that reports twice per run, no end is lost", async () => {
  await everyCrash({
    create: async () => {
      const host = open({ parent: () => done, child: says, tools: () => ({ research: research() }) });
      await parentOf(host);
      return host;
    },
    script: async (host) => (await parentOf(host)).run({ input: "x", runId: "r", detached: { onFinish: "onReport" } }),
    finish: async (host) => {
      await (await parentOf(host)).run({ input: "x", runId: "r", detached: { onFinish: "onReport" } });
      await host.advance(200_000);
    },
    inspect: async (host) => ({
      isReported: calls("finish") > 0 && calls("report") > 0,
      left: rowsToReport(host),
      isIdle: host.alarm(Parent, "p") === null
    }),
    points: "writes"
  });
});
