// Sub-agents as tools, without crashes: what the model, hooks, callers and clients get of a run.
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { agentTool } from "../../src/index.ts";
import { createGate, fail, reply, stall, text, textChunks, toolCall } from "../../src/testing/index.ts";
import {
  answerOf,
  ask,
  Bystander,
  callsResearch,
  connect,
  done,
  eventFrames,
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
import { sendChat } from "../kit/frames.ts";
import { storedMessages, user } from "../kit/messages.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

test("a child runs as a tool: its answer is what the model reads, and its input is its first message", async () => {
  const host = open({ parent: [callsResearch, done], child: [reply(text("The moon "), text("pulls."))] });
  await ask(host, "Why tides?");
  await host.idle();
  expect(results(scene.parent.calls[1])).toEqual(["The moon pulls."]);
  expect(scene.child.calls[0]?.lastUserText).toBe(JSON.stringify({ query: "tides" }, null, 2));
  expect(answerOf(await stored(host))).toBe("Done.");
  expect(scene.trace).toEqual(['start Researcher {"query":"tides"}', "child starts", "finish Researcher completed"]);
  expect(await (await parentOf(host)).runs()).toMatchObject([
    { agentType: "Researcher", status: "completed", parentToolCallId: "call-1", display: { name: "Researcher" } }
  ]);
});

test("clients see the run: started, every chunk in order, finished, each with its number", async () => {
  const host = open({ parent: [callsResearch, done], child: [reply(textChunks(5))] });
  const socket = await connect(host);
  await ask(host, "q");
  await host.idle();
  const frames = eventFrames(socket);
  expect(frames.map(({ sequence }) => sequence)).toEqual(frames.map((_frame, index) => index));
  expect(frames.every(({ parentToolCallId, replay }) => parentToolCallId === "call-1" && !replay)).toBe(true);
  expect([kinds(frames)[0], kinds(frames).at(-1)]).toEqual(["started", "finished"]);
  expect(frames[0]?.event).toMatchObject({ agentType: "Researcher", order: 0, display: { name: "Researcher" } });
  const bodies = frames
    .slice(1, -1)
    .map(({ event }) => JSON.parse(event.body ?? "") as { type: string; delta?: string });
  expect(bodies.flatMap(({ delta }) => delta ?? []).join("")).toBe("w0 w1 w2 w3 w4 ");
  expect(frames.at(-1)?.event["summary"]).toBe("w0 w1 w2 w3 w4 ");
});

test("a client that connects during or after a run gets started, all chunks and the end exactly once", async () => {
  const gate = createGate();
  const host = open({ parent: [callsResearch, done], child: [reply(textChunks(3), gate.wait(), textChunks(2))] });
  const first = await connect(host);
  const asking = ask(host, "q");
  await host.advance(600);
  const second = await connect(host);
  await host.idle();
  expect(kinds(eventFrames(second)).filter((kind) => kind === "chunk").length).toBeGreaterThan(3);
  gate.open();
  await asking;
  await host.idle();
  const third = await connect(host);
  await host.idle();
  const plain = (frames: ReturnType<typeof eventFrames>) => frames.map(({ replay: _replay, ...frame }) => frame);
  expect(plain(eventFrames(second))).toEqual(plain(eventFrames(first)));
  expect(plain(eventFrames(third))).toEqual(plain(eventFrames(first)));
  expect(eventFrames(third).every(({ replay }) => replay)).toBe(true);
});

test("what a run says while a client is being given what came before reaches that client behind it", async () => {
  const gate = createGate();
  const host = open({ parent: [callsResearch, done], child: [reply(textChunks(3), gate.wait(), textChunks(2))] });
  const first = await connect(host);
  const asking = ask(host, "q");
  await host.advance(600);
  const second = await connect(host);
  // The end of the run is on its way together with the replay.
  gate.open();
  await host.idle();
  await asking;
  const numbers = (frames: ReturnType<typeof eventFrames>) => frames.map(({ sequence }) => sequence);
  expect(numbers(eventFrames(second))).toEqual(numbers(eventFrames(first)));
});

test("a run that ended long ago is replayed from the stored answer, its numbers below that of its end", async () => {
  const host = open({ parent: [callsResearch, done], child: [reply(textChunks(4))] });
  await ask(host, "q");
  await host.advance(3_600_000);
  const socket = await connect(host);
  await host.idle();
  const frames = eventFrames(socket);
  const numbers = frames.map(({ sequence }) => sequence);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  expect(new Set(numbers).size).toBe(numbers.length);
  const shown = frames.flatMap(({ event }) => (event.body === undefined ? [] : [JSON.parse(event.body)]));
  expect(shown.flatMap(({ delta }) => delta ?? []).join("")).toBe("w0 w1 w2 w3 ");
  expect(kinds(frames).at(-1)).toBe("finished");
});

test("the child's chat can be opened below the parent, live and to talk to it; its frames are its own", async () => {
  const gate = createGate();
  const host = open({
    parent: [callsResearch, done],
    child: [reply(text("one "), gate.wait(), text("two")), reply(text("You are welcome."))]
  });
  const asking = ask(host, "q");
  await host.idle();
  const [run] = await (await parentOf(host)).runs();
  const path = `/agents/parent/p/sub/researcher/${encodeURIComponent(run!.runId)}`;
  const socket = await host.connect(path);
  await host.idle();
  gate.open();
  await asking;
  const messages = await storedMessages(host, path);
  expect(answerOf(messages)).toBe("one two");
  expect(eventFrames(socket)).toEqual([]);
  socket.send({
    type: "cf_agent_use_chat_request",
    id: "r1",
    init: {
      method: "POST",
      body: JSON.stringify({
        messages: [...messages, user("m", "Thanks")]
      })
    }
  });
  await host.idle();
  expect(answerOf(await storedMessages(host, path))).toBe("You are welcome.");
  // The run's result is what it was.
  expect(await (await parentOf(host)).inspectAgentToolRun(run!.runId)).toMatchObject({ summary: "one two" });
});

test("a child that lets clients only watch is shown live, and takes nothing from them", async () => {
  const gate = createGate();
  const host = open({
    parent: [callsResearch, done],
    child: [reply(text("one "), gate.wait(), text("two"))],
    settings: { isWatchOnly: true }
  });
  const asking = ask(host, "q");
  await host.idle();
  const [run] = await (await parentOf(host)).runs();
  const path = `/agents/parent/p/sub/researcher/${encodeURIComponent(run!.runId)}`;
  const socket = await host.connect(path);
  await host.idle();
  const question = user("m", "Do this instead");
  const body = JSON.stringify({ messages: [question] });
  sendChat(socket, "r1", [question]);
  socket.send({ type: "cf_agent_chat_clear" });
  socket.send({ type: "cf_agent_chat_request_cancel", id: "r1" });
  const headers = { "Content-Type": "application/json" };
  expect((await host.fetch(`${path}/chat`, { method: "POST", headers, body })).status).toBe(403);
  expect((await host.fetch(`${path}/chat`, { method: "DELETE" })).status).toBe(403);
  await host.idle();
  gate.open();
  await asking;
  const messages = await storedMessages(host, path);
  expect([messages.length, answerOf(messages)]).toEqual([2, "one two"]);
  // It saw the answer being written.
  const shown = socket.frames.map((frame) => JSON.stringify(frame)).join("");
  expect([shown.includes("one "), shown.includes("two")]).toEqual([true, true]);
  expect(await (await parentOf(host)).inspectAgentToolRun(run!.runId)).toMatchObject({ status: "completed" });
});

test("a child that cannot be stopped is deleted all the same, and the log names it", async () => {
  const warn = vi.spyOn(console, "warn").mockReturnValue();
  vi.spyOn(console, "error").mockReturnValue();
  const host = open({ child: [reply(text("x"), stall())] });
  const parent = await parentOf(host);
  void parent.run({ input: "a", runId: "a" }).catch(() => undefined);
  await host.idle();
  scene.childFails = true;
  await parent.killChild("a");
  await parent.clearAgentToolRuns();
  expect(await parent.runs()).toEqual([]);
  expect(await parent.listSubAgents()).toEqual([]);
  expect(warn).toHaveBeenCalledWith(expect.stringContaining("Researcher"), expect.anything());
});

test("hasAgentToolRun knows runs by class and id, for onBeforeSubAgent", async () => {
  const host = open({ child: [reply(text("x"))] });
  const parent = await parentOf(host);
  await parent.run({ input: "a", runId: "r1" });
  expect(await parent.hasAgentToolRun("Researcher", "r1")).toBe(true);
  expect(await parent.hasAgentToolRun("Reader", "r1")).toBe(false);
  expect(await parent.hasAgentToolRun("Researcher", "r2")).toBe(false);
});

test("runAgentTool returns failures as results: a child whose model fails, a class that is no chat agent", async () => {
  const host = open({
    child: [fail(new Error("no such model"))],
    tools: () => ({
      research: agentTool(Bystander, { description: "x", inputSchema: z.object({ query: z.string() }) })
    }),
    parent: [callsResearch, done]
  });
  const parent = await parentOf(host);
  const failed = await parent.run({ input: "a" });
  expect(failed).toMatchObject({ status: "error", agentType: "Researcher" });
  expect(failed.runId).toHaveLength(12);
  expect(failed.error).not.toBe("");
  await ask(host, "q");
  expect(results(scene.parent.calls[1])).toEqual([
    { ok: false, status: "error", error: '"Bystander" cannot run as a tool: it is no chat agent.', retryable: false }
  ]);
  expect(scene.trace.filter((line) => line.startsWith("finish"))).toEqual([
    "finish Researcher error",
    "finish Bystander error"
  ]);
});

test("a hook that throws before the start refuses the run; the child never begins", async () => {
  const host = open({
    startHook: () => {
      throw new Error("Not on a Sunday.");
    }
  });
  expect(await (await parentOf(host)).run({ input: "a", runId: "r" })).toMatchObject({
    status: "error",
    error: "Not on a Sunday."
  });
  expect(scene.child.callCount).toBe(0);
  expect(host.sql(Parent, "p", "SELECT * FROM cf_child_runs WHERE status IN ('starting', 'running')")).toEqual([]);
});

test("the same run id never starts a second turn: a second call waits for the first, a later one has its result", async () => {
  const gate = createGate();
  const host = open({ child: [reply(text("once"), gate.wait())] });
  const parent = await parentOf(host);
  const both = [parent.run({ input: "a", runId: "r" }), parent.run({ input: "b", runId: "r" })];
  await host.idle();
  gate.open();
  expect((await Promise.all(both)).map(({ summary }) => summary)).toEqual(["once", "once"]);
  expect(await parent.run({ input: "c", runId: "r" })).toMatchObject({ status: "completed", summary: "once" });
  expect(scene.child.callCount).toBe(1);
});

test("a child that is asked twice at once, and takes its time to read the input, starts one turn", async () => {
  const gate = createGate();
  const host = open({ child: [reply(text("once"))] });
  scene.childWaits.input = gate.opened;
  const states = (await parentOf(host)).startTwice("r");
  await host.idle();
  gate.open();
  expect(await states).toEqual(["running", "running"]);
  await host.idle();
  expect(scene.child.callCount).toBe(1);
});

test("structured output: what the child returns is validated, and a mismatch or nothing at all is a failure", async () => {
  const outputs: unknown[] = [{ facts: ["wet"] }, { facts: "wet" }, undefined];
  const host = open({
    parent: outputs.flatMap((_output, index) => [
      reply(toolCall("research", { query: "q" }, { id: `call-${index}` })),
      done
    ]),
    child: outputs.map(() => reply(text("Found."))),
    output: () => outputs.shift(),
    tools: () => ({ research: research({ outputSchema: z.object({ facts: z.array(z.string()) }) }) })
  });
  for (const question of ["1", "2", "3"]) await ask(host, question);
  const [matching, other, none] = [1, 3, 5].map((index) => results(scene.parent.calls[index]).at(-1));
  expect(matching).toEqual({ facts: ["wet"] });
  expect(other).toMatchObject({
    ok: false,
    status: "error",
    retryable: false,
    error: expect.stringContaining("schema")
  });
  expect(none).toMatchObject({ ok: false, error: expect.stringContaining("structured output") });
});

test("providers that reuse call ids get a run of its own for each answer", async () => {
  const call = reply(toolCall("research", { query: "q" }, { id: "call_0" }));
  const host = open({ parent: [call, done, call, done], child: [reply(text("one")), reply(text("two"))] });
  await ask(host, "first");
  await (await parentOf(host)).clearMessages();
  await ask(host, "second");
  expect(results(scene.parent.calls[3])).toEqual(["two"]);
});

test("with a cap of 2, three simultaneous runs give two completions and one immediate error", async () => {
  const gate = createGate();
  const host = open({ child: () => reply(text("ok"), gate.wait()), settings: { maxConcurrent: 2 } });
  const socket = await connect(host);
  const parent = await parentOf(host);
  const runs = ["a", "b", "c"].map((runId) => parent.run({ input: runId, runId }));
  const refused = await runs[2];
  expect(refused).toMatchObject({ status: "error", error: "maxConcurrentAgentTools (2) exceeded" });
  await host.idle();
  const ofRefused = eventFrames(socket).filter(({ event }) => event.runId === "c");
  expect(kinds(ofRefused)).toEqual(["started", "error"]);
  gate.open();
  expect((await Promise.all(runs)).map(({ status }) => status)).toEqual(["completed", "completed", "error"]);
  expect(scene.child.callCount).toBe(2);
  expect(await parent.run({ input: "d" })).toMatchObject({ status: "completed" });
});

test("50 runs that may wait respect the limit, begin in order, and all end", async () => {
  let working = 0;
  let most = 0;
  const host = open({
    child: async () => {
      working += 1;
      most = Math.max(most, working);
      await host.boundary();
      return reply(text("ok"));
    },
    settings: { maxConcurrent: 3, maxQueued: 100 }
  });
  scene.output = () => void (working -= 1);
  const parent = await parentOf(host);
  const ids = Array.from({ length: 50 }, (_unused, index) => `run-${index}`);
  const ended = await Promise.all(ids.map((runId) => parent.run({ input: runId, runId })));
  expect(ended.every(({ status }) => status === "completed")).toBe(true);
  expect(most).toBe(3);
  expect(scene.trace.filter((line) => line.startsWith("start "))).toEqual(ids.map((id) => `start Researcher ${id}`));
});

test("aborting the parent's turn cancels the tree within one step: child and grandchild stop, the run is aborted", async () => {
  const host = open({
    parent: [callsResearch],
    child: [reply(text("Reading."), toolCall("read", { page: "1" }, { id: "read-1" }))],
    childTools: () => ({ read: readTool() }),
    grandchild: [reply(text("word"), stall())]
  });
  const socket = await connect(host);
  const asking = ask(host, "q");
  await host.idle();
  expect(scene.grandchild.callCount).toBe(1);
  await (await parentOf(host)).cancelAllChats("enough");
  await host.idle();
  expect(await asking).toMatchObject({ status: "aborted" });
  const [run] = await (await parentOf(host)).runs();
  expect(run).toMatchObject({ status: "aborted" });
  expect(eventFrames(socket).at(-1)?.event).toMatchObject({ kind: "aborted", reason: "enough" });
  const child = { path: [`Researcher:${run!.runId}`] };
  expect(host.sql(Parent, "p", child, "SELECT status, error FROM cf_own_runs")).toEqual([
    { status: "aborted", error: "enough" }
  ]);
  expect(host.sql(Parent, "p", child, "SELECT status FROM cf_child_runs")).toEqual([{ status: "aborted" }]);
  expect(host.alarm(Parent, "p")).not.toBeNull();
  await host.advance(3_600_000);
  expect(host.alarm(Parent, "p")).toBeNull();
});

test("a run whose signal is aborted already starts no child", async () => {
  const host = open();
  const parent = await parentOf(host);
  const stopped = AbortSignal.abort("too late");
  // In the agent: a signal cannot cross to another object.
  const result = await parent.runStopped(stopped.aborted);
  expect(result).toMatchObject({ status: "aborted" });
  expect(await parent.listSubAgents()).toEqual([]);
});

test("a child that never answers is bounded by a deadline and shown as interrupted; a later call has its result", async () => {
  const gate = createGate();
  const host = open({
    parent: [callsResearch, done],
    child: [reply(text("thinking"), gate.wait(), text(" ... done"))],
    settings: { noProgressMs: 60_000 }
  });
  const socket = await connect(host);
  const asking = ask(host, "q");
  await host.advance(61_000);
  await asking;
  expect(results(scene.parent.calls[1])).toMatchObject([
    { ok: false, status: "interrupted", reason: "no-progress", retryable: true, childStillRunning: true }
  ]);
  expect(eventFrames(socket).at(-1)?.event).toMatchObject({ kind: "interrupted", reason: "no-progress" });
  gate.open();
  await host.idle();
  const parent = await parentOf(host);
  const [run] = await parent.runs();
  expect(await parent.run({ input: "", runId: run!.runId })).toEqual({
    runId: run!.runId,
    agentType: "Researcher",
    status: "completed",
    summary: "thinking ... done"
  });
  const numbers = eventFrames(socket).map(({ sequence }) => sequence);
  expect(Math.max(...numbers)).toBe(numbers.at(-1));
  expect(kinds(eventFrames(socket)).at(-1)).toBe("finished");
});

test("what a grandchild says is a sign of life of the child: the parent waits on", async () => {
  const gates = [createGate(), createGate(), createGate()];
  const host = open({
    parent: [callsResearch, done],
    child: [reply(toolCall("read", { page: "1" }, { id: "read-1" })), reply(text("Read it."))],
    childTools: () => ({ read: readTool() }),
    grandchild: [reply(gates.flatMap((gate, index) => [text(`${index} `), gate.wait()]))],
    settings: { noProgressMs: 60_000 }
  });
  const asking = ask(host, "q");
  for (const gate of gates) {
    await host.advance(50_000);
    gate.open();
    await host.idle();
  }
  await asking;
  expect(results(scene.parent.calls[1])).toEqual(["Read it."]);
});

test("clearAgentToolRuns cancels running children and deletes all of them; a second call changes nothing", async () => {
  const host = open({ child: [reply(text("ok")), reply(text("x"), stall())] });
  const parent = await parentOf(host);
  await parent.run({ input: "a", runId: "a" });
  const running = parent.run({ input: "b", runId: "b" });
  await host.idle();
  await parent.clearAgentToolRuns();
  expect(await running).toMatchObject({ status: "aborted" });
  expect(await parent.runs()).toEqual([]);
  expect(await parent.listSubAgents()).toEqual([]);
  expect(host.sql(Parent, "p", "SELECT * FROM cf_child_runs")).toEqual([]);
  await parent.clearAgentToolRuns();
  const socket = await connect(host);
  await host.idle();
  expect(eventFrames(socket)).toEqual([]);
});

test("clearAgentToolRuns takes only runs of a state, or that began before a time", async () => {
  const host = open({ child: [reply(text("ok")), fail(new Error("bad")), reply(text("ok"))] });
  const parent = await parentOf(host);
  await parent.run({ input: "a", runId: "a" });
  await parent.run({ input: "b", runId: "b" });
  await host.advance(10_000);
  const start = host.now;
  await parent.run({ input: "c", runId: "c" });
  await parent.clearAgentToolRuns({ status: "error" });
  expect((await parent.runs()).map(({ runId }) => runId)).toEqual(["a", "c"]);
  await parent.clearAgentToolRuns({ olderThan: start });
  expect((await parent.runs()).map(({ runId }) => runId)).toEqual(["c"]);
});

test("clearing the conversation deletes its runs with their children", async () => {
  const host = open({ parent: [callsResearch, done], child: [reply(text("ok"))] });
  await ask(host, "q");
  const parent = await parentOf(host);
  await parent.clearMessages();
  await host.idle();
  expect(await parent.runs()).toEqual([]);
  expect(await parent.listSubAgents()).toEqual([]);
});

test("retention keeps the newest runs, and those younger than an age", async () => {
  const host = open({ child: () => reply(text("ok")), settings: { retention: { maxRuns: 2, maxAgeMs: 60_000 } } });
  const parent = await parentOf(host);
  for (const runId of ["a", "b", "c"]) await parent.run({ input: runId, runId });
  await host.idle();
  expect((await parent.runs()).map(({ runId }) => runId)).toEqual(["b", "c"]);
  await host.advance(61_000);
  expect(await parent.runs()).toEqual([]);
  expect(await parent.listSubAgents()).toEqual([]);
});

test("an agent that runs no children has no row of them, and a chunk of its turns costs no call", async () => {
  const host = open({ parent: [done] });
  await ask(host, "q");
  const tables = host.sql(Parent, "p", "SELECT name FROM sqlite_master WHERE name LIKE '%_runs'");
  expect(tables).toEqual([]);
});

test("the child's run can be read by others: inspected, its chunks, and a tail that ends with it", async () => {
  const gate = createGate();
  const host = open({ child: [reply(text("a"), gate.wait(), text("b"))] });
  const parent = await parentOf(host);
  const running = parent.run({ input: "x", runId: "r" });
  await host.idle();
  const tail = parent.tailOf("r");
  await host.idle();
  gate.open();
  await running;
  const lines = (await tail)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { sequence: number; body: string });
  expect(lines.map(({ sequence }) => sequence)).toEqual(lines.map((_line, index) => index));
  expect(lines.map(({ body }) => JSON.parse(body).delta ?? "").join("")).toBe("ab");
  expect(await parent.inspectChild("r")).toMatchObject({ runId: "r", status: "completed", summary: "ab" });
  expect(await parent.inspectChild("unknown")).toBeNull();
});
