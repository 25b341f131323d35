// Runs that go on without their caller, and the budget that a turn shares with its children.
import { tool } from "ai";
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { ChildLink } from "../../src/features/agent-tools/child-link.ts";
import { createGate, everyCrash, reply, stall, text, toolCall, usage } from "../../src/testing/index.ts";
import {
  answerOf,
  ask,
  callsResearch,
  connect,
  done,
  eventFrames,
  type Host,
  open,
  Parent,
  parentOf,
  readTool,
  research,
  results,
  scene,
  stored
} from "./agent-tools-kit.ts";
import { framesOf } from "../kit/frames.ts";

// Each point of a crash boots the tree again.
vi.setConfig({ testTimeout: 60_000 });

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

test("a background run returns at once, outlives its turn, and is reported to its method and into the chat, once", async () => {
  const gate = createGate();
  const host = open({
    parent: [callsResearch, reply(text("I am on it."))],
    child: [reply(text("The moon "), gate.wait(), text("pulls."))],
    tools: () => ({ research: research({ detached: { onFinish: "onReport", notify: true } }) })
  });
  await ask(host, "q");
  const [run] = await (await parentOf(host)).runs();
  expect(results(scene.parent.calls[1])).toEqual([{ runId: run!.runId, status: "running" }]);
  expect(answerOf(await stored(host))).toBe("I am on it.");
  const socket = await connect(host);
  gate.open();
  await host.idle();
  expect(scene.trace.filter((line) => line.startsWith("report"))).toEqual(["report Researcher The moon pulls."]);
  expect(answerOf(await stored(host))).toBe("Researcher: The moon pulls.");
  expect(eventFrames(socket).at(-1)?.event).toMatchObject({ kind: "finished" });
  expect(framesOf(socket).some(({ type }) => type === "cf_agent_chat_messages")).toBe(true);
});

test("a background run is not stopped with the turn that started it, and can be cancelled by its id", async () => {
  const host = open({ child: [reply(text("a"), stall())] });
  const parent = await parentOf(host);
  const begun = await parent.run({ input: "x", runId: "r", detached: { onFinish: "onReport" } });
  expect(begun).toEqual({ runId: "r", agentType: "Researcher", status: "running" });
  await parent.cancelAllChats();
  await host.idle();
  expect(await parent.inspectAgentToolRun("r")).toMatchObject({ status: "running" });
  await parent.cancelAgentToolRun("r", "not needed");
  expect(await parent.inspectAgentToolRun("r")).toMatchObject({ status: "aborted", error: "not needed" });
  expect(scene.trace.at(-1)).toBe("report Researcher undefined");
  scene.child.push(reply(text("b"), stall()));
  await parent.run({ input: "x", runId: "s", detached: true });
  await parent.cancelAgentTool("s");
  expect(await parent.inspectAgentToolRun("s")).toMatchObject({ status: "aborted", error: "cancelled" });
});

test("a background run that takes longer than it may is stopped and reported as that", async () => {
  const host = open({ child: [reply(text("a"), stall())] });
  const parent = await parentOf(host);
  await parent.run({ input: "x", runId: "r", detached: { maxBudgetMs: 60_000, onFinish: "onReport" } });
  await host.advance(61_000);
  expect(await parent.inspectAgentToolRun("r")).toMatchObject({
    status: "interrupted",
    reason: "budget-exceeded",
    childStillRunning: false
  });
  expect(host.sql(Parent, "p", { path: ["Researcher:r"] }, "SELECT status FROM cf_own_runs")).toEqual([
    { status: "aborted" }
  ]);
});

test("killed at every write, a background run is reported, into the chat exactly once, and its child ran once", async () => {
  await everyCrash({
    create: async () => {
      const host = open({ child: () => reply(text("The moon pulls.")) });
      await parentOf(host);
      return host;
    },
    script: async (host) => (await parentOf(host)).run({ input: "x", runId: "r", detached: { notify: true } }),
    finish: async (host) => {
      // The caller does not know whether its call arrived.
      await (await parentOf(host)).run({ input: "x", runId: "r", detached: { notify: true } });
      await host.advance(200_000);
    },
    inspect: async (host) => ({
      messages: (await stored(host)).map(({ parts }) => parts),
      status: (await (await parentOf(host)).runs()).map(({ status }) => status)
    }),
    points: "writes"
  });
});

test("runAgentTool in work that is run again after a crash has the same run", async () => {
  const host = open({ child: () => reply(text("ok")) });
  const parent = await parentOf(host);
  await parent.schedule(1, "scheduledRun", "x");
  await host.advance(2_000);
  const [first] = await parent.runs();
  expect(first?.runId).toMatch(/^agent-tool:/);
  expect(scene.child.callCount).toBe(1);
});

test("a turn's token budget counts its children: no model call starts once they have used it up", async () => {
  const host = open({
    parent: [reply(toolCall("research", { query: "a" }, { id: "c1" }), usage({ input: 10, output: 5 })), done],
    child: [reply(text("long"), usage({ input: 60, output: 40 }))],
    settings: { maxTurnTokens: 100 }
  });
  const outcome = await ask(host, "q");
  expect(outcome).toMatchObject({ status: "error", error: expect.stringContaining("token") });
  expect(scene.parent.callCount).toBe(1);
});

test("what is left of the budget goes down the tree: a grandchild stops its own steps at it", async () => {
  const step = reply(toolCall("read", { page: "1" }, { id: "r" }), usage({ input: 20, output: 10 }));
  const host = open({
    parent: [reply(toolCall("research", { query: "a" }, { id: "c1" }), usage({ input: 10, output: 0 })), done],
    child: [step, reply(text("never"))],
    childTools: () => ({ read: readTool() }),
    grandchild: [reply(text("much"), usage({ input: 50, output: 50 }))],
    settings: { maxTurnTokens: 100 }
  });
  await ask(host, "q");
  // What the child's own child used is the child's: neither it nor the parent asks its model again.
  expect([scene.parent.callCount, scene.child.callCount, scene.grandchild.callCount]).toEqual([1, 1, 1]);
  const [row] = host.sql<{ tokens: number }>(Parent, "p", "SELECT tokens FROM cf_child_runs");
  expect(row?.tokens).toBeGreaterThanOrEqual(100);
});

test("parallel children are stopped when together they have used the budget up", async () => {
  const calls = ["a", "b"].map((query) => toolCall("research", { query }, { id: query }));
  const host = open({
    parent: [reply(calls, usage({ input: 0, output: 0 })), done],
    child: ({ prompt }) =>
      prompt.some(({ role }) => role === "tool")
        ? reply(text("x"), stall())
        : reply(toolCall("read", { page: "1" }, { id: "r" }), usage({ input: 60, output: 0 })),
    childTools: () => ({ read: readTool() }),
    grandchild: () => reply(text("x"), usage({ input: 0, output: 0 })),
    settings: { maxTurnTokens: 100 }
  });
  const outcome = ask(host, "q");
  // A child's words, and what it has used, are known when they are written.
  await host.advance(1_000);
  expect(await outcome).toMatchObject({ status: "error" });
  expect((await (await parentOf(host)).runs()).map(({ status }) => status)).toEqual(["error", "error"]);
  expect(scene.parent.callCount).toBe(1);
});

test.each([
  ["a restart", (host: Host) => host.restart()],
  ["a retry after a stall", async () => undefined]
])("the budget holds over %s: what children used before is counted after it", async (_what, interrupt) => {
  const asks = (id: string) => reply(toolCall("research", { query: id }, { id }), usage({ input: 10, output: 0 }));
  const host = open({
    parent: [asks("c1"), reply(text("thinking"), stall()), asks("c2"), reply(text("never"))],
    child: () => reply(text("long"), usage({ input: 60, output: 0 })),
    settings: { maxTurnTokens: 100 }
  });
  const asking = ask(host, "q").catch(() => undefined);
  await host.advance(2_000);
  expect([scene.parent.callCount, scene.child.callCount]).toEqual([2, 1]);
  await interrupt(host);
  await host.advance(11 * 60_000);
  await asking;
  // 10 and 60 before, 10 and 60 after: no further call of the parent's model.
  expect([scene.parent.callCount, scene.child.callCount]).toEqual([3, 2]);
  const [row] = host.sql<{ tokens: number }>(Parent, "p", "SELECT SUM(tokens) AS tokens FROM cf_child_runs");
  expect(row?.tokens).toBe(120);
});

test("a run that is taken up again in its turn is counted once", async () => {
  const gate = createGate();
  const asks = (agent: Parent) =>
    tool({
      description: "Asks twice for the same run.",
      inputSchema: z.object({}),
      execute: async () => {
        const first = await agent.run({ input: "x", runId: "r" });
        const again = await agent.run({ input: "x", runId: "r" });
        return [first.status, again.status];
      }
    });
  const host = open({
    parent: [reply(toolCall("asks", {}, { id: "c1" }), usage({ input: 0, output: 0 })), done],
    tools: (agent) => ({ asks: asks(agent) }),
    child: [
      reply(toolCall("read", { page: "1" }, { id: "r1" }), usage({ input: 60, output: 0 })),
      reply(text("a"), gate.wait(), text("b"), usage({ input: 10, output: 0 }))
    ],
    childTools: () => ({ read: readTool() }),
    grandchild: [reply(text("x"), usage({ input: 0, output: 0 }))],
    settings: { maxTurnTokens: 100, noProgressMs: 60_000 }
  });
  const outcome = ask(host, "q");
  // The first is given up, the second follows the same child.
  await host.advance(90_000);
  gate.open();
  await host.advance(5_000);
  expect(await outcome).toMatchObject({ status: "completed" });
  expect(results(scene.parent.calls[1])).toEqual([["interrupted", "completed"]]);
});

test("retention takes no run of a turn that is open: its budget counts them, and a crash asks for them again", async () => {
  const calls = [1, 2, 3, 4].map((id) =>
    reply(toolCall("research", { query: `${id}` }, { id: `c${id}` }), usage({ input: 0, output: 0 }))
  );
  const host = open({
    parent: [...calls, done],
    child: () => reply(text("ok"), usage({ input: 60, output: 0 })),
    settings: { maxTurnTokens: 150, retention: { maxRuns: 1, maxAgeMs: 1 } }
  });
  const outcome = await ask(host, "q");
  expect(outcome).toMatchObject({ status: "error", error: expect.stringContaining("token") });
  expect(scene.child.callCount).toBe(3);
  await host.advance(3_600_000);
  expect(await (await parentOf(host)).runs()).toEqual([]);
  expect(await (await parentOf(host)).listSubAgents()).toEqual([]);
  expect(host.alarm(Parent, "p")).toBeNull();
});

test("runs of an open turn are kept however old they are, and cause no wakes", async () => {
  const gate = createGate();
  const host = open({
    parent: [callsResearch, reply(text("Still "), gate.wait(), text("thinking."))],
    child: [reply(text("ok"))],
    settings: { retention: { maxAgeMs: 1_000 } }
  });
  const asking = ask(host, "q");
  await host.idle();
  await host.advance(60_000);
  expect(await (await parentOf(host)).runs()).toHaveLength(1);
  // The keep-alive of the turn.
  expect(host.alarm(Parent, "p")).toBeGreaterThan(host.now + 100);
  gate.open();
  await asking;
  await host.advance(5_000);
  expect(await (await parentOf(host)).runs()).toEqual([]);
});

test("a child that can never be deleted is tried less and less often", async () => {
  const host = open({ child: [reply(text("ok"))] });
  const parent = await parentOf(host);
  await parent.run({ input: "x", runId: "r" });
  const remove = vi.spyOn(ChildLink.prototype, "remove").mockRejectedValue(new Error("no disk"));
  try {
    await parent.clearAgentToolRuns();
    await host.advance(24 * 3_600_000);
    expect(remove.mock.calls.length).toBeGreaterThan(10);
    expect(remove.mock.calls.length).toBeLessThan(40);
  } finally {
    remove.mockRestore();
  }
  await host.advance(2 * 3_600_000);
  expect(await parent.listSubAgents()).toEqual([]);
  expect(host.alarm(Parent, "p")).toBeNull();
});
