// How runs of code end before they are done: cancelled, without end, or silent.
import { expect, test, vi } from "vitest";
import type { Connector } from "../../src/features/execute/index.ts";
import { reply, text, toolCall } from "../../src/testing/index.ts";
import { Coder, coder, open, outcomeOf, output, runs, say, scene, TOOLS } from "./execute-kit.ts";

test("36: cancelling the turn stops the run, and its tool is told", async () => {
  let stopped = 0;
  const connectors: Connector[] = [
    {
      name: () => "w",
      tools: () => ({
        slow: {
          execute: (_args, { abortSignal }) =>
            new Promise((resolve) => {
              scene.effects.push("slow");
              abortSignal.addEventListener("abort", () => resolve((stopped += 1)));
            })
        },
        next: { execute: () => scene.effects.push("next") }
      })
    }
  ];
  const host = open(runs("await w.slow({}); await w.next({})"), { connectors });
  const said = say(host);
  // The first code of a process loads the parser, which takes longer than a second on a busy machine.
  await vi.waitFor(() => expect(scene.effects).toEqual(["slow"]), 15_000);
  await (await coder(host)).cancelAllChats();
  await said;
  await vi.waitFor(
    () => expect(host.sql(Coder, "a", "SELECT status FROM cm_executions")).toEqual([{ status: "aborted" }]),
    15_000
  );
  expect([stopped, scene.effects]).toEqual([1, ["slow"]]);
});

test("36: a loop without end is stopped, and one in a getter of the result too", async () => {
  expect(await outcomeOf("while (true) {}")).toMatchObject({
    status: "error",
    error: expect.stringContaining("timed out")
  });
  expect(await outcomeOf("({ get x() { for (;;) {} } })")).toMatchObject({ status: "error" });
});

test("36: a loop without end does not keep another run from being approved", async () => {
  const looping = [reply(toolCall("execute", { code: "while (true) {}" }, { id: "c2" })), reply(text("x"))];
  // The last one is said when the approved run is over.
  const host = open(runs(`await tools.deploy({ ref: "main" })`, [...looping, reply(text("y"))]));
  await say(host);
  const stub = await coder(host);
  const [waiting] = await stub.pendingExecutions();
  const looped = say(host, "loop");
  const approved = await stub.approveExecution(waiting?.executionId ?? "");
  await looped;
  await host.idle();
  expect(approved).toMatchObject({ status: "completed" });
  expect(host.sql(Coder, "a", "SELECT status FROM cm_executions ORDER BY status")).toEqual([
    { status: "completed" },
    { status: "error" }
  ]);
});

test("a pass that waits for nothing ends at its deadline", async () => {
  const host = open(runs("await new Promise(() => {})"), { tools: TOOLS, timeout: 5_000 });
  const said = say(host);
  await host.advance(6_000);
  await said;
  expect(await output(host)).toMatchObject({ status: "error", error: expect.stringContaining("Execution timed out") });
});

test("tools of a run that is over are told to stop", async () => {
  const signals: AbortSignal[] = [];
  const connectors: Connector[] = [
    {
      name: () => "w",
      tools: () => ({
        slow: {
          execute: (_args, { abortSignal }) => {
            signals.push(abortSignal);
            return new Promise(() => undefined);
          }
        }
      })
    }
  ];
  const host = open(runs("await w.slow({})"), { connectors, timeout: 5_000 });
  const said = say(host);
  await vi.waitFor(() => expect(signals).toHaveLength(1), 15_000);
  expect(signals[0]?.aborted).toBe(false);
  await host.advance(6_000);
  await said;
  expect(await output(host)).toMatchObject({ status: "error", error: expect.stringContaining("timed out") });
  expect(signals[0]?.aborted).toBe(true);
});

test("a run that waits and fails in one pass waits for nothing any more, and wakes no one", async () => {
  const waits = () => host.sql(Coder, "a", "SELECT status FROM cm_executions WHERE status = 'paused'").length === 1;
  const bad = async () => {
    await vi.waitFor(() => expect(waits()).toBe(true), 15_000);
    // No JSON: it cannot be recorded.
    return () => 1;
  };
  const connectors: Connector[] = [{ name: () => "w", tools: () => ({ bad: { execute: bad } }) }];
  const code = `await Promise.all([tools.deploy({ ref: "a" }), w.bad({})])`;
  const host = open(runs(code), { tools: TOOLS, connectors });
  await say(host);
  expect(await output(host)).toMatchObject({ status: "error", error: expect.stringContaining("cannot be recorded") });
  expect(await (await coder(host)).pendingApprovals()).toEqual([]);
  expect(host.sql(Coder, "a", "SELECT status, due_at, is_placed FROM cm_executions")).toEqual([
    { status: "error", due_at: null, is_placed: 1 }
  ]);
});

test("an outcome that is not in the transcript yet is not cleaned away before it is", async () => {
  const host = open(runs(`await tools.deploy({ ref: "main" })`, [reply(text("y"))]), {
    tools: TOOLS,
    maxExecutions: 0
  });
  await say(host);
  const { executionId } = await output(host);
  await (await coder(host)).approveExecution(executionId);
  await host.idle();
  // As a process that died before the outcome was placed leaves it.
  host.sql(Coder, "a", "UPDATE cm_executions SET is_placed = 0");
  const stub = await coder(host);
  expect(await stub.use("pruneExecutions", 0)).toEqual([]);
  expect(host.sql(Coder, "a", "SELECT id FROM cm_executions")).toEqual([{ id: executionId }]);
  await host.restart();
  await coder(host);
  await host.idle();
  expect(await (await coder(host)).use("pruneExecutions", 0)).toEqual([executionId]);
});
