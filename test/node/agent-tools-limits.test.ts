// How many children work at a time, and wait for it, also when runs are asked for in the same moment.
import { beforeEach, expect, test, vi } from "vitest";
import { Slots } from "../../src/features/agent-tools/slots.ts";
import { createGate, reply, text, toolCall } from "../../src/testing/index.ts";
import { answerOf, ask, open, parentOf, research, results, scene, stored } from "./agent-tools-kit.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

const EXCEEDED = "maxConcurrentAgentTools (2) exceeded";

/** Children that say how many of them work at once, until the gate opens. */
function counted(gate: ReturnType<typeof createGate>) {
  const seen = { working: 0, most: 0 };
  const child = () => {
    seen.working += 1;
    seen.most = Math.max(seen.most, seen.working);
    return reply(text("ok"), gate.wait());
  };
  return { child, seen, output: () => void (seen.working -= 1) };
}

test("ten runs that are started in one tick pass no limit: two work, three wait, five are refused at once", async () => {
  const gate = createGate();
  const { child, seen, output } = counted(gate);
  const host = open({ child, output, settings: { maxConcurrent: 2, maxQueued: 3 } });
  const running = (await parentOf(host)).runTogether(10);
  await host.idle();
  const states = (await (await parentOf(host)).runs()).map(({ status }) => status);
  expect(states.filter((status) => status === "error")).toHaveLength(5);
  expect(states.filter((status) => status === "running")).toHaveLength(2);
  gate.open();
  const ended = await running;
  expect(ended.map(({ status }) => status)).toEqual([...Array(5).fill("completed"), ...Array(5).fill("error")]);
  expect(ended.slice(5).map(({ error }) => error)).toEqual(Array(5).fill(EXCEEDED));
  expect(seen.most).toBe(2);
});

test("calls of one model step pass no limit: the model reads which of them were refused", async () => {
  const gate = createGate();
  const { child, seen, output } = counted(gate);
  const calls = ["a", "b", "c", "d", "e"].map((query) => toolCall("research", { query }, { id: query }));
  const host = open({
    parent: [reply(...calls), reply(text("Done."))],
    child,
    output,
    tools: () => ({ research: research() }),
    settings: { maxConcurrent: 2, maxQueued: 1 }
  });
  const asking = ask(host, "q");
  await host.idle();
  gate.open();
  await asking;
  expect(answerOf(await stored(host))).toBe("Done.");
  const refused = { ok: false, status: "error", error: EXCEEDED, retryable: false };
  expect(results(scene.parent.calls[1])).toEqual(["ok", "ok", "ok", refused, refused]);
  expect(seen.most).toBe(2);
});

test("a run that is cancelled while it waits gives its place up", async () => {
  const gate = createGate();
  const { child, output } = counted(gate);
  const host = open({ child, output, settings: { maxConcurrent: 2, maxQueued: 1 } });
  const parent = await parentOf(host);
  const running = parent.runTogether(3);
  await host.idle();
  await parent.cancelAgentToolRun("r2", "not needed");
  const next = parent.run({ input: "x", runId: "next" });
  await host.idle();
  gate.open();
  expect(await next).toMatchObject({ status: "completed" });
  expect((await running).map(({ status }) => status)).toEqual(["completed", "completed", "aborted"]);
});

test("a hook that refuses a run, or a child that cannot start, gives its slot up", async () => {
  const host = open({ child: () => reply(text("ok")), settings: { maxConcurrent: 1 } });
  const parent = await parentOf(host);
  scene.startHook = () => {
    throw new Error("not today");
  };
  expect(await parent.run({ input: "x", runId: "a" })).toMatchObject({ status: "error", error: "not today" });
  scene.startHook = undefined;
  scene.childFails = true;
  expect(await parent.run({ input: "x", runId: "b" })).toMatchObject({ status: "error" });
  scene.childFails = false;
  expect(await parent.run({ input: "x", runId: "c" })).toMatchObject({ status: "completed" });
});

test("a waiting run that is left before it has waited for its slot keeps no place", async () => {
  const running: string[] = [];
  const slots = new Slots({
    agent: { maxConcurrentAgentTools: 1, maxQueuedAgentTools: 1 },
    table: { open: () => running.map((run_id) => ({ run_id, status: "running" })) }
  });
  expect([slots.reserve("a"), slots.reserve("b"), slots.reserve("c")]).toEqual([true, true, false]);
  slots.leave("b");
  expect(slots.reserve("c")).toBe(true);
  slots.free("a");
  await slots.take("c", new AbortController().signal);
  // It is next: what has a slot keeps it when it leaves.
  slots.leave("c");
  expect(slots.reserve("d")).toBe(true);
  const { signal } = new AbortController();
  await expect(Promise.race([slots.take("d", signal), Promise.resolve("waits")])).resolves.toBe("waits");
});
