// Killed anywhere, a parent with children ends as if it had not been: no child's work starts twice, every run has one
// end, and no start of an object calls another one.
import { beforeEach, expect, test, vi } from "vitest";
import { RunTable } from "../../src/features/agent-tools/run-table.ts";
import {
  createGate,
  everyCrash,
  planModel,
  reply,
  stall,
  text,
  toolCall,
  type AnswerPlans
} from "../../src/testing/index.ts";
import {
  answerOf,
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
  readTool,
  research,
  results,
  scene,
  stored
} from "./agent-tools-kit.ts";
import { RECOVERED_MS } from "../kit/time.ts";

// Each point of a crash boots the tree again.
vi.setConfig({ testTimeout: 240_000 });

// Every crash is reported by what was in the middle of something.
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

/** What was streamed is in the journal by then. */
const WRITTEN_MS = 600;

test("a parent killed while its child works takes the child up where it is: the child ran one turn", async () => {
  const gate = createGate();
  const host = open({ parent: [callsResearch, done], child: [reply(text("half "), gate.wait(), text("whole"))] });
  void ask(host, "q");
  await host.advance(WRITTEN_MS);
  scene.child.push(reply(text("whole")));
  await host.restart();
  gate.open();
  await host.advance(RECOVERED_MS);
  expect(results(scene.parent.calls.at(-1))).toEqual(["half whole"]);
  expect(answerOf(await stored(host))).toBe("Done.");
  const [run] = await (await parentOf(host)).runs();
  const child = { path: [`Researcher:${run!.runId}`] };
  expect(host.sql(Parent, "p", child, "SELECT * FROM cf_turns")).toHaveLength(1);
  expect(scene.trace.filter((line) => line.startsWith("finish"))).toEqual(["finish Researcher completed"]);
});

test("a child that dies alone is followed through its recovery: the parent sees a slower run", async () => {
  const gate = createGate();
  const host = open({
    parent: [callsResearch, done],
    child: [reply(text("half "), gate.wait()), reply(text("whole"))]
  });
  const socket = await connect(host);
  const asking = ask(host, "q");
  await host.advance(WRITTEN_MS);
  const parent = await parentOf(host);
  const [run] = await parent.runs();
  await parent.killChild(run!.runId);
  await host.advance(RECOVERED_MS);
  await asking;
  expect(results(scene.parent.calls.at(-1))).toEqual(["half whole"]);
  const numbers = eventFrames(socket).map(({ sequence }) => sequence);
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
  expect(kinds(eventFrames(socket)).at(-1)).toBe("finished");
});

test("a child whose model goes silent recovers before its parent gives it up: the parent sees a slower run", async () => {
  const host = open({
    parent: [callsResearch, done],
    child: [reply(toolCall("read", { page: "1" }, { id: "read-1" })), reply(text("The moon."))],
    childTools: () => ({ read: readTool() }),
    // The default of every class: ten minutes.
    grandchild: [reply(text("half "), stall()), reply(text("whole"))]
  });
  const asking = ask(host, "q");
  await host.advance(11 * 60_000);
  await asking;
  expect(results(scene.child.calls.at(-1))).toEqual(["half whole"]);
  expect(results(scene.parent.calls.at(-1))).toEqual(["The moon."]);
});

test("a number that clients were given is never that of another chunk, whatever a crash took back", async () => {
  const gates = [createGate(), createGate()];
  const [first, second] = gates;
  const host = open({
    parent: [callsResearch, done],
    child: [reply(text("half "), first!.wait(), text("lost "), second!.wait()), reply(text("whole"))]
  });
  const socket = await connect(host);
  const asking = ask(host, "q");
  await host.advance(WRITTEN_MS);
  first!.open();
  await host.idle();
  const parent = await parentOf(host);
  const [run] = await parent.runs();
  await parent.killChild(run!.runId);
  await host.advance(RECOVERED_MS);
  await asking;
  const shown = new Map<number, string>();
  for (const { sequence, event } of eventFrames(socket)) {
    expect(shown.get(sequence) ?? event.body).toBe(event.body);
    if (event.body !== undefined) shown.set(sequence, event.body);
  }
  const deltas = [...shown.values()].map((body) => (JSON.parse(body) as { delta?: string }).delta ?? "");
  expect(deltas.join("")).toBe("half whole");
});

test("a start calls no other object: a parent whose children cannot start is up, and reports them later", async () => {
  const host = open({
    parent: [callsResearch, done],
    child: [reply(text("x"), stall())],
    settings: { noProgressMs: 60_000 }
  });
  void ask(host, "q");
  await host.idle();
  scene.trace.length = 0;
  host.kill();
  scene.childFails = true;
  await host.restart();
  const parent = await parentOf(host);
  expect(await parent.runs()).toMatchObject([{ status: "running" }]);
  expect(scene.trace).not.toContain("parent waited for child");
  await host.advance(RECOVERED_MS);
  expect(results(scene.parent.calls.at(-1))).toMatchObject([
    { ok: false, status: "interrupted", reason: "inspect-failed", retryable: true }
  ]);
  expect(answerOf(await stored(host))).toBe("Done.");
});

test("a child of an earlier process that cannot be reached is reported two seconds after it was asked", async () => {
  vi.spyOn(console, "error").mockReturnValue();
  const host = open({ parent: [callsResearch, done], child: [reply(text("x"), stall())] });
  void ask(host, "q");
  await host.idle();
  host.kill();
  scene.childFails = true;
  await host.restart();
  await host.advance(1_000);
  expect(await (await parentOf(host)).runs()).toMatchObject([{ status: "running" }]);
  await host.advance(9_000);
  expect(results(scene.parent.calls.at(-1))).toMatchObject([
    { ok: false, status: "interrupted", reason: "inspect-failed", retryable: true }
  ]);
  // It is not given up: a later call has its result.
  scene.childFails = false;
  const [run] = await (await parentOf(host)).runs();
  expect(run).toMatchObject({ status: "interrupted" });
});

test("what a wake takes up after a crash is reported as events: each run, and the end of all", async () => {
  const gate = createGate();
  const host = open({ child: [reply(text("a"), gate.wait()), reply(text("b"))] });
  void (await parentOf(host)).run({ input: "x", runId: "r" }).catch(() => undefined);
  await host.advance(WRITTEN_MS);
  await host.restart();
  await host.advance(RECOVERED_MS);
  const seen = scene.events.flatMap(({ type, payload }) => (type.startsWith("agent_tool:") ? [[type, payload]] : []));
  const run = { runId: "r", agentType: "Researcher" };
  expect(seen).toEqual([
    ["agent_tool:recovery:begin", { runCount: 1 }],
    ["agent_tool:recovery:reattach", { ...run, budgetMs: 120_000 }],
    ["agent_tool:run:ended", { ...run, status: "completed" }],
    ["agent_tool:recovery:row", { ...run, status: "completed", elapsedMs: expect.any(Number) }],
    ["agent_tool:recovery:complete", { runCount: 1, elapsedMs: expect.any(Number) }]
  ]);
});

test("a run that cannot be written down after a crash is a failed recovery, and the agent stays up", async () => {
  const report = vi.spyOn(console, "error").mockReturnValue();
  const host = open({ child: [reply(text("a"), stall()), reply(text("b"))] });
  void (await parentOf(host)).run({ input: "x", runId: "r" }).catch(() => undefined);
  await host.advance(WRITTEN_MS);
  await host.restart();
  const end = vi.spyOn(RunTable.prototype, "end").mockImplementation(() => {
    throw new Error("disk full");
  });
  await host.advance(RECOVERED_MS).finally(() => end.mockRestore());
  const failed = scene.events.filter(({ type }) => type === "agent_tool:recovery:failed");
  expect(failed.map(({ payload }) => payload)).toContainEqual({ error: expect.stringContaining("disk full") });
  expect(report).toHaveBeenCalled();
  expect(await (await parentOf(host)).runs()).toMatchObject([{ status: "running" }]);
  await host.advance(RECOVERED_MS);
  expect(await (await parentOf(host)).runs()).toMatchObject([{ status: "completed" }]);
});

test("a silent child of an earlier process is given up after the budget, left running, and repaired by a later call", async () => {
  const gate = createGate();
  const host = open({
    parent: [callsResearch, done],
    child: [reply(text("a"), stall()), reply(gate.wait(), text("b"))]
  });
  void ask(host, "q");
  await host.advance(WRITTEN_MS);
  await host.restart();
  await host.advance(200_000);
  expect(results(scene.parent.calls.at(-1))).toMatchObject([
    { status: "interrupted", reason: "no-progress", childStillRunning: true, retryable: true }
  ]);
  gate.open();
  await host.idle();
  const parent = await parentOf(host);
  const [run] = await parent.runs();
  expect(await parent.run({ input: "", runId: run!.runId })).toEqual({
    runId: run!.runId,
    agentType: "Researcher",
    status: "completed",
    summary: "ab"
  });
});

test("a run of user code that no turn waits for any more is followed to its end by a wake", async () => {
  const gate = createGate();
  const host = open({ child: [reply(text("a"), gate.wait()), reply(text("b"))] });
  void (await parentOf(host)).run({ input: "x", runId: "r" }).catch(() => undefined);
  await host.advance(WRITTEN_MS);
  await host.restart();
  await host.advance(RECOVERED_MS);
  expect(await (await parentOf(host)).inspectAgentToolRun("r")).toMatchObject({ status: "completed", summary: "ab" });
  expect(scene.trace.filter((line) => line.startsWith("finish"))).toEqual(["finish Researcher completed"]);
  await host.advance(3_600_000);
  expect(host.alarm(Parent, "p")).toBeNull();
});

test.each([["name"], ["class_name"]])(
  "a child whose %s in the registry became garbage is found again by its run, and an event names the row",
  async (column) => {
    const gate = createGate();
    const host = open({ parent: [callsResearch, done], child: [reply(text("half "), gate.wait(), text("whole"))] });
    void ask(host, "q");
    await host.advance(WRITTEN_MS);
    scene.child.push(reply(text("whole")));
    const [run] = await (await parentOf(host)).runs();
    host.kill();
    host.sql(Parent, "p", `UPDATE cf_children SET ${column} = '{"broken'`);
    await host.restart();
    gate.open();
    await host.advance(RECOVERED_MS);
    expect(answerOf(await stored(host))).toBe("Done.");
    expect(results(scene.parent.calls.at(-1))).toEqual(["half whole"]);
    const named = scene.events.filter(({ type }) => type === "storage:row:quarantined");
    expect(named.at(-1)?.payload).toEqual({
      table: "cf_children",
      key: run!.runId,
      error: expect.stringContaining("registered again")
    });
  }
);

test("a child that user code deleted while it worked is not made again", async () => {
  const host = open({ child: [reply(text("x"), stall())] });
  const parent = await parentOf(host);
  const running = parent.run({ input: "x", runId: "r" }).catch(() => undefined);
  await host.advance(WRITTEN_MS);
  await parent.dropChild("r");
  const started = scene.trace.filter((line) => line === "child starts").length;
  await host.restart();
  await host.advance(RECOVERED_MS);
  await running;
  expect(scene.trace.filter((line) => line === "child starts")).toHaveLength(started);
  expect(await (await parentOf(host)).listSubAgents()).toEqual([]);
  expect(scene.events.some(({ type }) => type === "storage:row:quarantined")).toBe(false);
});

test("killed at every write of a cancel, the tree is stopped in the end", async () => {
  await everyCrash({
    create: async () => {
      const host = open({
        parent: () => callsResearch,
        child: () => reply(toolCall("read", { page: "1" }, { id: "read-1" })),
        childTools: () => ({ read: readTool() }),
        grandchild: () => reply(text("a"), stall())
      });
      void ask(host, "q").catch(() => undefined);
      await host.idle();
      return host;
    },
    script: async (host) => (await parentOf(host)).cancelAllChats("enough"),
    finish: async (host) => {
      // A client that does not know whether its frame arrived sends it again.
      await (await parentOf(host)).cancelAllChats("enough");
      await host.advance(RECOVERED_MS);
    },
    inspect: async (host) => {
      const [run] = await (await parentOf(host)).runs();
      const child = { path: [`Researcher:${run!.runId}`] };
      const [below] = host.sql<{ run_id: string; status: string }>(
        Parent,
        "p",
        child,
        "SELECT run_id, status FROM cf_child_runs"
      );
      const grandchild = { path: [...child.path, `Reader:${below!.run_id}`] };
      const own = "SELECT status FROM cf_own_runs";
      return [run?.status, host.sql(Parent, "p", child, own), below?.status, host.sql(Parent, "p", grandchild, own)];
    },
    points: "writes"
  });
});

test("waiting runs respect the limit after a crash, too", async () => {
  let working = 0;
  let most = 0;
  const calls = Array.from({ length: 6 }, (_unused, index) =>
    toolCall("research", { query: `${index}` }, { id: `c${index}` })
  );
  const host = open({
    parent: [reply(calls), done],
    child: async () => {
      working += 1;
      most = Math.max(most, working);
      await host.boundary();
      return reply(text("ok"));
    },
    output: () => void (working -= 1),
    settings: { maxConcurrent: 2, maxQueued: 10 }
  });
  host.crashAfterWrite(40);
  void ask(host, "q").catch(() => undefined);
  expect(await host.untilCrashOrIdle()).toBe(true);
  working = 0;
  most = 0;
  await host.restart();
  await host.advance(RECOVERED_MS);
  expect(results(scene.parent.calls.at(-1)).map(String)).toEqual(Array(6).fill("ok"));
  expect(most).toBeLessThanOrEqual(2);
});

// ── The matrix ──

const QUESTION = "Compare tides and winds.";
const PARENT_PLAN: AnswerPlans = {
  [QUESTION]: [
    {
      text: "Asking two. ",
      calls: [
        { tool: "research", input: { query: "tides" } },
        { tool: "research", input: { query: "winds" } }
      ]
    },
    { text: "Both move." }
  ]
};
const CHILD_PLAN: AnswerPlans = {
  [JSON.stringify({ query: "tides" }, null, 2)]: [
    { text: "Reading. ", calls: [{ tool: "read", input: { page: "moon" } }] },
    { text: "The moon pulls." }
  ],
  [JSON.stringify({ query: "winds" }, null, 2)]: [{ text: "The sun heats." }]
};
const GRANDCHILD_PLAN: AnswerPlans = { [JSON.stringify({ page: "moon" }, null, 2)]: [{ text: "The moon is near." }] };

/** How many turns an agent of the tree has had. */
function turnsOf(host: Host, path: string[]): number {
  return host.sql(Parent, "p", { path }, "SELECT * FROM cf_turns").length;
}

async function endOf(host: Host) {
  const messages = await stored(host);
  const parts = messages.flatMap((message) => message.parts);
  const outputs = parts.flatMap((part) =>
    "output" in part && part.type.startsWith("tool-") ? [String(part.output)] : []
  );
  const runs = await (await parentOf(host)).runs();
  return {
    roles: messages.map(({ role }) => role),
    answer: answerOf(messages),
    outputs: [...new Set(outputs)].toSorted(),
    // By what was asked: a call that had not begun when the process died is made again under another id.
    runs: runs.map(({ inputPreview, status }) => `${inputPreview} ${status}`).toSorted(),
    // Each child has answered one question, once.
    turns: runs
      .map(({ runId, inputPreview }) => `${inputPreview} ${turnsOf(host, [`Researcher:${runId}`])}`)
      .toSorted(),
    isIdle: host.alarm(Parent, "p") === null
  };
}

test("killed at every write, two parallel children and a grandchild end the same", async () => {
  const { points } = await everyCrash({
    create: async () => {
      const host = open({
        tools: () => ({ research: research() }),
        childTools: () => ({ read: readTool() })
      });
      scene.models = {
        parent: planModel(PARENT_PLAN),
        child: planModel(CHILD_PLAN),
        grandchild: planModel(GRANDCHILD_PLAN)
      };
      await parentOf(host);
      return host;
    },
    script: (host) => ask(host, QUESTION),
    finish: async (host) => {
      await host.advance(RECOVERED_MS);
      // A client that does not know whether it was accepted asks again.
      if ((await stored(host)).length === 0) await ask(host, QUESTION);
      // Until nothing is left to delete.
      await host.advance(700_000);
    },
    inspect: endOf,
    points: process.env["CRASH_POINTS"] === "awaits" ? "awaits" : "writes"
  });
  if (process.env["SHOW_POINTS"]) console.log("crash points", points);
  expect(points).toBeGreaterThan(30);
});
