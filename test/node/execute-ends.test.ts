// How runs of code end before they are done: cancelled, without end, or silent.
import { expect, test, vi } from "vitest";
import type { Connector } from "../../src/execute/index.ts";
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
