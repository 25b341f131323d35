// An agent without a conversation as the parent of runs, and as the child of one: the same promises as for a Think, with no
// turn that would wait for a run or take it up again.
import { tool, type ToolExecutionOptions } from "ai";
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { agentTool } from "../../src/features/agent-tools/index.ts";
import { Agent } from "../../src/agent-class/index.ts";
import {
  Think,
  type AgentToolChunk,
  type AgentToolRunInfo,
  type AgentToolRunInspection,
  type RunAgentToolOptions,
  type RunAgentToolResult
} from "../../src/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  everyCrash,
  reply,
  scriptedModel,
  text,
  type Step,
  type StepFunction
} from "../../src/testing/index.ts";
import { eventFrames, kinds } from "./agent-tools-kit.ts";
import { RECOVERED_MS } from "../kit/time.ts";

// Every crash is reported by what was in the middle of something.
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

const WRITTEN_MS = 600;

const scene = {
  child: createScript([]),
  trace: [] as string[],
  ended: [] as string[],
  maxConcurrent: Infinity,
  noProgressMs: undefined as number | undefined
};

class Dispatcher extends Agent {
  override maxConcurrentAgentTools = scene.maxConcurrent;
  override agentToolNoProgressMs = scene.noProgressMs;
  #stop = new AbortController();

  override onAgentToolStart({ agentType }: AgentToolRunInfo) {
    scene.trace.push(`start ${agentType}`);
  }
  override onAgentToolFinish({ agentType, runId }: AgentToolRunInfo, { status }: RunAgentToolResult) {
    scene.ended.push(`${runId} ${status}`);
    scene.trace.push(`finish ${agentType} ${status}`);
  }
  onReport({ runId }: AgentToolRunInfo, { status, summary }: RunAgentToolResult) {
    scene.trace.push(`report ${runId} ${status} ${summary}`);
  }
  run(options: RunAgentToolOptions): Promise<RunAgentToolResult> {
    return this.runAgentTool(Writer, options);
  }
  runStoppable(runId: string): Promise<RunAgentToolResult> {
    this.#stop = new AbortController();
    return this.runAgentTool(Writer, { input: "x", runId, signal: this.#stop.signal });
  }
  stopIt(): void {
    this.#stop.abort("enough");
  }
  runMeter(runId: string): Promise<RunAgentToolResult> {
    return this.runAgentTool(Meter, { input: { upTo: 2 }, runId });
  }
  runBystander(): Promise<RunAgentToolResult> {
    return this.runAgentTool(Bystander, { input: "x" });
  }
  /** As a model call in user code would. */
  async callTool(toolCallId: string, topic: string): Promise<object> {
    const asTool = agentTool(Writer, {
      description: "Writes.",
      inputSchema: z.object({ topic: z.string() }),
      outputSchema: z.object({ title: z.string() })
    });
    const options: ToolExecutionOptions<unknown> = { toolCallId, messages: [], context: undefined };
    return Object(await tool(asTool).execute?.({ topic }, options));
  }
  async scheduledRun(input: string) {
    scene.trace.push((await this.runAgentTool(Writer, { input })).runId);
  }
  runs() {
    return this.listAgentToolRuns();
  }
}

class Writer extends Think {
  override getModel() {
    return scriptedModel(scene.child);
  }
  override getAgentToolOutput() {
    return { title: "Tides" };
  }
}

class Bystander extends Agent {}

/** A child without a conversation: it counts, a number per second, as chunks. */
class Meter extends Agent<unknown, { runs: Record<string, { upTo: number; at: number; stopped?: string }> }> {
  override initialState = { runs: {} };
  async startAgentToolRun(input: { upTo: number }, { runId }: { runId: string }) {
    scene.trace.push("meter starts");
    this.setState({ runs: { ...this.state.runs, [runId]: { upTo: input.upTo, at: this.#now } } });
    await this.schedule(input.upTo, "tick");
    return this.inspectAgentToolRun(runId);
  }
  override async inspectAgentToolRun(runId: string): Promise<AgentToolRunInspection | null> {
    const run = this.state.runs[runId];
    if (!run) return null;
    const count = this.#count(run);
    const status = run.stopped !== undefined ? "aborted" : count >= run.upTo ? "completed" : "running";
    return { runId, status, summary: `counted to ${count}`, startedAt: run.at };
  }
  override async cancelAgentToolRun(runId: string, reason = "cancelled") {
    const run = this.state.runs[runId];
    if (run) this.setState({ runs: { ...this.state.runs, [runId]: { ...run, stopped: reason } } });
  }
  async getAgentToolChunks(runId: string, { afterSequence = -1 }): Promise<AgentToolChunk[]> {
    const run = this.state.runs[runId];
    const chunks = Array.from({ length: run ? this.#count(run) : 0 }, (_unused, sequence) => ({
      sequence,
      body: JSON.stringify({ type: "text-delta", id: "1", delta: String(sequence + 1) })
    }));
    return chunks.filter(({ sequence }) => sequence > afterSequence);
  }
  tick() {}
  #count({ upTo, at }: { upTo: number; at: number }): number {
    return Math.min(upTo, Math.floor((this.#now - at) / 1_000));
  }
  get #now(): number {
    return host.now;
  }
}

function open(child: Step[] | StepFunction = [], settings: Partial<typeof scene> = {}) {
  Object.assign(scene, { maxConcurrent: Infinity, noProgressMs: undefined, ...settings, trace: [], ended: [] });
  scene.child = createScript(child, { maxCalls: 10_000 });
  host = createTestHost({ agents: { Dispatcher }, exports: [Writer, Meter, Bystander] });
  return host;
}

let host: ReturnType<typeof createTestHost<{ Dispatcher: typeof Dispatcher }>>;
const parent = () => host.get(Dispatcher, "p");
const connect = () => host.connect("/agents/dispatcher/p");
const turnsOf = (runId: string) =>
  host.sql(Dispatcher, "p", { path: [`Writer:${runId}`] }, "SELECT * FROM cf_turns").length;

test("an agent without a conversation runs a chat agent: hooks, result, and its run can be inspected", async () => {
  open([reply(text("The moon pulls."))]);
  const result = await (await parent()).run({ input: "tides", runId: "r" });
  expect(result).toMatchObject({ status: "completed", summary: "The moon pulls.", output: { title: "Tides" } });
  expect(scene.trace).toEqual(["start Writer", "finish Writer completed"]);
  expect(await (await parent()).inspectAgentToolRun("r")).toMatchObject({ status: "completed", inputPreview: "tides" });
  expect(await (await parent()).hasAgentToolRun("Writer", "r")).toBe(true);
  expect(await (await parent()).inspectAgentToolRun("none")).toBeNull();
});

test("its clients see the run as those of a chat agent do, also one that connects later: each frame exactly once", async () => {
  const gate = createGate();
  open([reply(text("a"), gate.wait(), text("b"))]);
  const early = await connect();
  const running = (await parent()).run({ input: "x", runId: "r" });
  await host.advance(WRITTEN_MS);
  const joined = await connect();
  gate.open();
  await running;
  await host.idle();
  const after = await connect();
  await host.idle();
  for (const socket of [early, joined, after]) {
    const frames = eventFrames(socket);
    expect(kinds(frames).filter((kind) => kind !== "chunk")).toEqual(["started", "finished"]);
    const numbers = frames.map(({ sequence }) => sequence);
    expect(numbers).toEqual(numbers.map((_unused, index) => index));
  }
  expect(eventFrames(after).every(({ replay }) => replay === true)).toBe(true);
});

test("agentTool re-executed with the same call after a crash collects the same child's result; the child ran one turn", async () => {
  const gate = createGate();
  open([reply(text("half "), gate.wait())]);
  void (await parent()).callTool("call_0", "tides").catch(() => undefined);
  await host.advance(WRITTEN_MS);
  scene.child.push(reply(text("whole")));
  await host.restart();
  const again = (await parent()).callTool("call_0", "tides");
  await host.advance(RECOVERED_MS);
  expect(await again).toEqual({ title: "Tides" });
  const [run, ...others] = await (await parent()).runs();
  expect([turnsOf(run!.runId), others]).toEqual([1, []]);
});

test("a provider that reuses the ids of its calls gets a run of its own for another input", async () => {
  open(() => reply(text("ok")));
  await (await parent()).callTool("call_0", "tides");
  await (await parent()).callTool("call_0", "winds");
  expect(await (await parent()).runs()).toHaveLength(2);
});

test("a running child that keeps streaming across a parent restart is followed to completion by a wake", async () => {
  const gate = createGate();
  open([reply(text("a"), gate.wait()), reply(text("b"))]);
  void (await parent()).run({ input: "x", runId: "r" }).catch(() => undefined);
  await host.advance(WRITTEN_MS);
  await host.restart();
  await host.advance(RECOVERED_MS);
  expect(await (await parent()).inspectAgentToolRun("r")).toMatchObject({ status: "completed", summary: "ab" });
  expect(scene.trace).toEqual(["start Writer", "finish Writer completed"]);
  await host.advance(3_600_000);
  expect(host.alarm(Dispatcher, "p")).toBeNull();
});

test("a silent child is sealed as no-progress and left running; a re-issue after it finished returns completed", async () => {
  const gate = createGate();
  open([reply(text("a"), gate.wait(), text("b"))], { noProgressMs: 60_000 });
  const running = (await parent()).run({ input: "x", runId: "r" });
  await host.advance(100_000);
  expect(await running).toMatchObject({ status: "interrupted", reason: "no-progress", childStillRunning: true });
  gate.open();
  await host.advance(WRITTEN_MS);
  const again = await (await parent()).run({ input: "x", runId: "r" });
  expect(again).toEqual({
    runId: "r",
    agentType: "Writer",
    status: "completed",
    summary: "ab",
    output: { title: "Tides" }
  });
});

test("with a cap of 2, three simultaneous runs give two completions and one immediate error", async () => {
  open(() => reply(text("ok")), { maxConcurrent: 2 });
  const stub = await parent();
  const results = await Promise.all(["a", "b", "c"].map((runId) => stub.run({ input: "x", runId })));
  expect(results.map(({ status, error }) => error ?? status)).toEqual([
    "completed",
    "completed",
    "maxConcurrentAgentTools (2) exceeded"
  ]);
});

test("aborting the caller's signal cancels the child; so does cancelAgentToolRun", async () => {
  const gate = createGate();
  open(() => reply(text("a"), gate.wait()));
  const first = (await parent()).runStoppable("one");
  await host.advance(WRITTEN_MS);
  await (await parent()).stopIt();
  expect(await first).toMatchObject({ status: "aborted", error: "enough" });
  const second = (await parent()).run({ input: "x", runId: "two" });
  await host.advance(WRITTEN_MS);
  await (await parent()).cancelAgentToolRun("two", "not needed");
  expect(await second).toMatchObject({ status: "aborted", error: "not needed" });
  for (const runId of ["one", "two"]) {
    const own = host.sql(Dispatcher, "p", { path: [`Writer:${runId}`] }, "SELECT status FROM cf_own_runs");
    expect(own).toEqual([{ status: "aborted" }]);
  }
});

test("clearAgentToolRuns cancels running children, deletes all children, and a second call is a no-op", async () => {
  const gate = createGate();
  open([reply(text("ok")), reply(text("a"), gate.wait())]);
  await (await parent()).run({ input: "x", runId: "done" });
  const running = (await parent()).run({ input: "x", runId: "open" });
  await host.advance(WRITTEN_MS);
  await (await parent()).clearAgentToolRuns();
  expect((await running).status).toBe("aborted");
  await (await parent()).clearAgentToolRuns();
  expect(await (await parent()).runs()).toEqual([]);
  expect(await (await parent()).listSubAgents()).toEqual([]);
});

test("a background run is reported to the method it names; without a conversation there is nothing to post to", async () => {
  open([reply(text("ok"))]);
  const detached = { onFinish: "onReport", notify: true };
  expect(await (await parent()).run({ input: "x", runId: "r", detached })).toMatchObject({ status: "running" });
  await host.advance(WRITTEN_MS);
  expect(scene.trace.at(-1)).toBe("report r completed ok");
  expect(console.warn).toHaveBeenCalledWith(expect.stringContaining('"notify" needs a conversation'));
});

test("runAgentTool in scheduled work that is run again after a crash has the same run", async () => {
  const gate = createGate();
  open([reply(text("a"), gate.wait()), reply(text("b"))]);
  await (await parent()).schedule(1, "scheduledRun", "x");
  await host.advance(2_000);
  await host.restart();
  await host.advance(RECOVERED_MS);
  const [run, ...others] = await (await parent()).runs();
  expect([run?.status, turnsOf(run!.runId), others]).toEqual(["completed", 1, []]);
  expect(scene.trace).toContain(run?.runId);
});

test("a class that takes no runs is refused as a result, and no child is made of it", async () => {
  open();
  expect(await (await parent()).runBystander()).toMatchObject({
    status: "error",
    error: expect.stringContaining("cannot run as a tool")
  });
  expect(await (await parent()).listSubAgents()).toEqual([]);
});

test("a child without a conversation runs by its own methods: chunks are sent as they come, a restart starts nothing twice", async () => {
  open();
  const socket = await connect();
  const running = (await parent()).runMeter("m");
  await host.advance(1_500);
  expect(kinds(eventFrames(socket))).toEqual(["started", "chunk"]);
  await host.advance(1_500);
  expect(await running).toMatchObject({ status: "completed", summary: "counted to 2" });
  expect(kinds(eventFrames(socket))).toEqual(["started", "chunk", "chunk", "finished"]);
  void (await parent()).runMeter("n").catch(() => undefined);
  await host.advance(500);
  await host.restart();
  await host.advance(RECOVERED_MS);
  expect(await (await parent()).inspectAgentToolRun("n")).toMatchObject({ status: "completed" });
  expect(scene.trace.filter((line) => line === "meter starts")).toHaveLength(2);
});

test("a child without a conversation is cancelled by its own method", async () => {
  open();
  const running = (await parent()).runMeter("m");
  await host.advance(500);
  await (await parent()).cancelAgentToolRun("m", "enough");
  expect(await running).toMatchObject({ status: "aborted", error: "enough" });
});

test("an agent that runs no children has no row of them, and nothing wakes it", async () => {
  open();
  expect(await (await parent()).runs()).toEqual([]);
  await (await parent()).clearAgentToolRuns();
  await (await parent()).cancelAgentToolRun("none");
  await connect();
  expect(host.sql(Dispatcher, "p", "SELECT name FROM sqlite_master WHERE name LIKE '%run%'")).toEqual([]);
  expect(host.alarm(Dispatcher, "p")).toBeNull();
});

test("killed at every write, two parallel runs end the same: each child ran one turn, each end is reported", async () => {
  const run = async () => {
    const stub = await parent();
    await Promise.all(["a", "b"].map((runId) => stub.run({ input: runId, runId })));
  };
  const { points } = await everyCrash({
    create: async () => {
      open(() => reply(text("ok")));
      await parent();
      return host;
    },
    script: run,
    finish: async () => {
      await host.advance(RECOVERED_MS);
      // The caller does not know whether its call arrived.
      await run();
      // Until nothing is left to delete.
      await host.advance(700_000);
    },
    inspect: async () => ({
      runs: (await (await parent()).runs())
        .map(({ runId, status }) => `${runId} ${status} ${turnsOf(runId)}`)
        .toSorted(),
      // One whose child had not begun when the process died has been reported as that before.
      isReported: ["a", "b"].map((runId) => scene.ended.includes(`${runId} completed`)),
      isIdle: host.alarm(Dispatcher, "p") === null
    }),
    points: "writes"
  });
  expect(points).toBeGreaterThan(10);
}, 60_000);
