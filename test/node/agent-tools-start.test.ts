// Children that do not begin: user code of theirs that never returns, when they start or read their input, is bounded and
// can be stopped, and no child begins what was stopped.
import { tool } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { createGate, fail, reply, stall, text, toolCall } from "../../src/testing/index.ts";
import {
  ask,
  callsResearch,
  connect,
  done,
  eventFrames,
  type Host,
  kinds,
  open,
  Parent,
  parentOf,
  research,
  results,
  scene
} from "./agent-tools-kit.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

const PLACES = ["start", "input"] as const;

const statusOf = async (host: Host, runId: string) => (await (await parentOf(host)).inspectAgentToolRun(runId))?.status;

describe("a child that never returns from reading its input", () => {
  test("is given up after the time of a silent child, and shown as not started", async () => {
    const host = open({ parent: [callsResearch, done], settings: { noProgressMs: 60_000 } });
    scene.childWaits.input = createGate().opened;
    const socket = await connect(host);
    const asking = ask(host, "q");
    await host.advance(55_000);
    expect(await (await parentOf(host)).runs()).toMatchObject([{ status: "starting" }]);
    await host.advance(10_000);
    await asking;
    expect(results(scene.parent.calls[1])).toMatchObject([
      { ok: false, status: "interrupted", reason: "not-started", retryable: true }
    ]);
    expect(kinds(eventFrames(socket))).toEqual(["started", "interrupted"]);
  });

  test("is given up after a quarter of an hour by default, also in the background", async () => {
    const host = open();
    scene.childWaits.input = createGate().opened;
    const parent = await parentOf(host);
    const run = parent.run({ input: "x", runId: "r" });
    const begun = parent.run({ input: "y", runId: "b", detached: true });
    await host.advance(905_000);
    for (const result of [await run, await begun]) {
      expect(result).toMatchObject({ status: "interrupted", reason: "not-started" });
    }
  });

  test("can be called again: it begins then, once", async () => {
    const gate = createGate();
    const host = open({ child: [reply(text("ok"))], settings: { noProgressMs: 60_000 } });
    scene.childWaits.input = gate.opened;
    const parent = await parentOf(host);
    const first = parent.run({ input: "x", runId: "r" });
    await host.advance(65_000);
    await first;
    // It still does not answer. That it was asked must not make it final.
    const second = parent.run({ input: "x", runId: "r" });
    await host.advance(200_000);
    expect(await second).toMatchObject({ status: "interrupted", reason: "not-started" });
    gate.open();
    await host.idle();
    expect(await parent.run({ input: "x", runId: "r" })).toMatchObject({ status: "completed", summary: "ok" });
    expect(scene.child.callCount).toBe(1);
  });
});

test("a child that never returns from its start is an error when the platform gives it up", async () => {
  const host = open({ parent: [callsResearch, done] });
  scene.childWaits.start = createGate().opened;
  const asking = ask(host, "q");
  await host.advance(35_000);
  await asking;
  expect(results(scene.parent.calls[1])).toMatchObject([{ ok: false, status: "error", retryable: false }]);
});

describe.each(PLACES)("a child that does not return from its %s", (place) => {
  test("is stopped at once by a cancel, and does not begin afterwards", async () => {
    const gate = createGate();
    const host = open({ child: () => reply(text("must not run")) });
    scene.childWaits[place] = gate.opened;
    const parent = await parentOf(host);
    const run = parent.run({ input: "x", runId: "r" });
    await host.idle();
    const cancelled = parent.cancelAgentToolRun("r", "enough");
    await host.advance(6_000);
    await cancelled;
    expect(await run).toMatchObject({ status: "aborted", error: "enough" });
    gate.open();
    await host.advance(120_000);
    expect(await statusOf(host, "r")).toBe("aborted");
    expect(scene.child.callCount).toBe(0);
    expect(host.alarm(Parent, "p")).toBeNull();
  });

  test("does not keep the parent's turn from being stopped", async () => {
    const gate = createGate();
    const host = open({ parent: [callsResearch], child: () => reply(text("must not run")) });
    scene.childWaits[place] = gate.opened;
    const asking = ask(host, "q");
    await host.idle();
    await (await parentOf(host)).cancelAllChats("enough");
    await host.idle();
    expect(await asking).toMatchObject({ status: "aborted" });
    gate.open();
    await host.advance(120_000);
    expect(scene.child.callCount).toBe(0);
    expect(await (await parentOf(host)).runs()).toMatchObject([{ status: "aborted" }]);
  });

  test("does not keep the parent's runs from being cleared", async () => {
    const host = open({ child: () => reply(text("must not run")) });
    scene.childWaits[place] = createGate().opened;
    const parent = await parentOf(host);
    const run = parent.run({ input: "x", runId: "r" });
    await host.idle();
    const cleared = parent.clearAgentToolRuns();
    // The platform gives a start half a minute.
    await host.advance(place === "start" ? 35_000 : 6_000);
    await cleared;
    expect(await run).toMatchObject({ status: "aborted" });
    expect(await parent.listSubAgents()).toEqual([]);
  });
});

test("a run that a crash cut off before its child was reached can still begin, if the child is out of reach at first", async () => {
  const host = open({ child: [reply(text("ok"))] });
  const parent = await parentOf(host);
  scene.childWaits.start = createGate().opened;
  void parent.run({ input: "x", runId: "r" }).catch(() => undefined);
  await host.idle();
  host.kill();
  scene.childWaits = {};
  scene.childFails = true;
  await host.restart();
  const again = await parentOf(host);
  const out = again.run({ input: "x", runId: "r" });
  await host.advance(5_000);
  expect(await out).toMatchObject({ status: "interrupted", reason: "not-started" });
  scene.childFails = false;
  expect(await again.run({ input: "x", runId: "r" })).toMatchObject({ status: "completed", summary: "ok" });
});

test("a run that a child had begun does not begin again when that child is gone", async () => {
  const host = open({ child: () => reply(text("a"), stall()), settings: { noProgressMs: 60_000 } });
  const parent = await parentOf(host);
  const first = parent.run({ input: "x", runId: "r" });
  await host.advance(70_000);
  expect(await first).toMatchObject({ status: "interrupted", reason: "no-progress" });
  await parent.dropChild("r");
  expect(await parent.run({ input: "x", runId: "r" })).toMatchObject({ status: "error" });
  expect([scene.child.callCount, await parent.listSubAgents()]).toEqual([1, []]);
});

test("an attempt that ends leaves its child alone: the next attempt of the turn has the answer", async () => {
  const gate = createGate();
  const host = open({
    parent: [callsResearch, done],
    child: [reply(text("half "), gate.wait(), text("whole"))],
    settings: { stallMs: 30_000 }
  });
  const asking = ask(host, "q");
  await host.advance(45_000);
  gate.open();
  await host.advance(60_000);
  await asking;
  expect(results(scene.parent.calls.at(-1))).toEqual(["half whole"]);
  expect(scene.child.callCount).toBe(1);
});

test.each([
  ["fails is stopped with it", fail(new Error("bad request")), "aborted"],
  ["is answered goes on", done, "running"]
])("a child of a turn that %s", async (_what, end, status) => {
  const kick = (agent: Parent) =>
    tool({
      description: "Starts a run and does not wait for it.",
      inputSchema: z.object({}),
      execute: async () => {
        void agent.run({ input: "x", runId: "r" });
        return "started";
      }
    });
  const host = open({
    parent: [reply(toolCall("kick", {}, { id: "c1" })), end],
    tools: (agent) => ({ kick: kick(agent) }),
    child: () => reply(text("a"), stall())
  });
  void ask(host, "q");
  await host.advance(60_000);
  expect(await statusOf(host, "r")).toBe(status);
});

test("a silent child of a background run is stopped, and reported", async () => {
  const host = open({
    child: [reply(text("a"), stall())],
    tools: () => ({ research: research() })
  });
  const parent = await parentOf(host);
  const detached = { noProgressBudgetMs: 60_000, onFinish: "onReport" };
  expect(await parent.run({ input: "x", runId: "r", detached })).toMatchObject({ status: "running" });
  await host.advance(70_000);
  expect(await parent.inspectAgentToolRun("r")).toMatchObject({
    status: "interrupted",
    reason: "no-progress",
    childStillRunning: false
  });
  expect(host.sql(Parent, "p", { path: ["Researcher:r"] }, "SELECT status FROM cf_own_runs")).toEqual([
    { status: "aborted" }
  ]);
  expect(scene.trace.at(-1)).toBe("report Researcher undefined");
});
