// What is left of an answer whose process died, and what becomes of it: each test is named after its promise.
import { tool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { reasoning, reply, stall, text, toolCall, type Step } from "../../src/testing/index.ts";
import {
  connect,
  die,
  HEARTBEAT_MS,
  isTerminal,
  open,
  Patient,
  rolesOf,
  scene,
  settleDown,
  stored,
  wake
} from "./recovery-kit.ts";
import { ask } from "../kit/frames.ts";
import { linesOf, textOf, toolParts, user } from "../kit/messages.ts";
import { promptOf } from "../kit/prompts.ts";
import { never } from "../kit/time.ts";

const counting = (name = "count") => ({
  [name]: tool({ inputSchema: z.object({}), execute: async () => scene.effects.push(name) })
});

describe("killed before anything was said", () => {
  test("a question is answered within one heartbeat, with no client there, and appears once", async () => {
    const host = open([reply(stall()), reply(text("hello"))]);
    ask(await connect(host), "r1");
    await die(host);
    await host.advance(HEARTBEAT_MS);
    expect(scene.script.callCount).toBe(2);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:hello"]);
    expect(promptOf(scene.script.calls[1])).toBe(promptOf(scene.script.calls[0]));
    expect(scene.recoveries).toMatchObject([{ recoveryKind: "retry", attempt: 1, partialText: "", partialParts: [] }]);
  });

  test("killed during beforeTurn, it is asked again; the hook is told that nothing was streamed", async () => {
    let runs = 0;
    const host = open([reply(text("hello"))], { beforeTurn: () => (++runs === 1 ? never() : undefined) });
    ask(await connect(host), "r1");
    await die(host);
    await wake(host);
    expect(scene.recoveries).toMatchObject([{ recoveryKind: "retry", streamId: "", requestId: "r1" }]);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:hello"]);
  });

  test("an open stream that held only reasoning counts as nothing, and the reasoning is written anew", async () => {
    const host = open([reply(reasoning("hmm"), stall()), reply(reasoning("aha"), text("hello"))]);
    ask(await connect(host), "r1");
    await die(host);
    await wake(host);
    expect(scene.recoveries).toMatchObject([{ recoveryKind: "retry" }]);
    const [, answer] = await stored(host);
    expect(answer?.parts).toMatchObject([{ type: "step-start" }, { type: "reasoning", text: "aha" }, { type: "text" }]);
  });
});

describe("killed in the middle of a text", () => {
  test("one message starts with what was flushed and ends with the continuation; no prompt ends in an answer", async () => {
    const host = open([reply(text("The answer "), stall()), reply(text("is 42."))]);
    ask(await connect(host), "r1");
    await die(host);
    await wake(host);
    const messages = await stored(host);
    expect(linesOf(messages)).toEqual(["user:u-r1", "assistant:The answer is 42."]);
    expect(messages[1]?.parts.map(({ type }) => type)).toEqual(["step-start", "text"]);
    for (const call of scene.script.calls) expect(rolesOf(call).at(-1)).not.toBe("assistant");
    expect(promptOf(scene.script.calls[1])).toContain("The answer ");
    expect(scene.recoveries).toMatchObject([{ recoveryKind: "continue", partialText: "The answer " }]);
    expect(scene.recoveries[0]?.streamId).not.toBe("");
  });

  test("a recovery that is killed itself goes on from where it was, and there is still one answer", async () => {
    const host = open([reply(text("a"), stall()), reply(text("b"), stall()), reply(text("c"))]);
    ask(await connect(host), "r1");
    await die(host);
    await wake(host);
    await die(host);
    await settleDown(host);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:abc"]);
    expect(scene.recoveries.map(({ partialText }) => partialText)).toEqual(["a", "ab"]);
    expect(new Set(scene.recoveries.map(({ incidentId }) => incidentId))).toEqual(new Set(["r1:u-r1"]));
  });

  test("of an answer whose last words were lost with the process, clients end with what is stored", async () => {
    const host = open([reply(text("lost"), stall()), reply(text("found"))]);
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    expect(JSON.stringify(socket.frames)).toContain("lost");
    await host.restart();
    await wake(host);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:found"]);
  });
});

describe("killed around tools", () => {
  test("a tool whose result was streamed is not run again", async () => {
    const host = open([reply(toolCall("count", {}, { id: "c1" })), reply(stall()), reply(text("one"))], {
      tools: () => counting()
    });
    ask(await connect(host), "r1");
    await die(host);
    await wake(host);
    expect(scene.effects).toEqual(["count"]);
    const messages = await stored(host);
    expect(toolParts(messages)).toMatchObject([{ toolCallId: "c1", state: "output-available", output: 1 }]);
    expect(textOf(messages[1])).toBe("one");
    expect(rolesOf(scene.script.calls[2]).at(-1)).toBe("tool");
  });

  test("over N kills of a long tool loop, at most N calls are repeated, and each result is there once", async () => {
    const KILLS = 4;
    const STEPS = 3 * KILLS;
    /** A model that asks again for what has no result. */
    const step: Step = (call) => {
      const done = promptOf(call).match(/"value":"did \d+"/g)?.length ?? 0;
      return done < STEPS ? reply(toolCall("work", { n: done })) : reply(text("done"));
    };
    const isFirstRun = (n: number) => scene.effects.filter((effect) => effect === `work ${n}`).length === 1;
    const work = tool({
      inputSchema: z.object({ n: z.number() }),
      execute: async ({ n }) => {
        scene.effects.push(`work ${n}`);
        return n % 3 === 1 && isFirstRun(n) ? never<string>() : `did ${n}`;
      }
    });
    const host = open(Array<Step>(2 * STEPS).fill(step), {
      recovery: { maxInterruptedAttempts: KILLS + 1 },
      tools: () => ({ work })
    });
    ask(await connect(host), "r1");
    for (let kills = 0; kills < KILLS; kills += 1) {
      await die(host);
      await settleDown(host);
    }
    expect(scene.effects).toHaveLength(STEPS + KILLS);
    const messages = await stored(host);
    const outputs = toolParts(messages).flatMap(({ output }) => (output === undefined ? [] : [output]));
    expect(outputs).toEqual(Array.from({ length: STEPS }, (_, n) => `did ${n}`));
    expect(textOf(messages[1])).toBe("done");
  });

  test("killed while a tool runs, the next prompt holds that call with an error, and so does the stored message", async () => {
    const hang = tool({
      inputSchema: z.object({}),
      execute: () => {
        scene.effects.push("hang");
        return never();
      }
    });
    const host = open([reply(text("Wait. "), toolCall("hang", {}, { id: "c1" })), reply(text("sorry"))], {
      tools: () => ({ hang })
    });
    ask(await connect(host), "r1");
    await die(host);
    await wake(host);
    expect(scene.effects).toEqual(["hang"]);
    const reported = scene.script.calls[1]?.prompt.at(-1);
    expect(reported).toMatchObject({ role: "tool", content: [{ toolCallId: "c1", output: { type: "error-text" } }] });
    expect(toolParts(await stored(host))).toMatchObject([{ toolCallId: "c1", state: "output-error" }]);
    expect(linesOf(await stored(host)).at(-1)).toBe("assistant:Wait. sorry");
  });

  test("killed between two parallel results of a client, exactly one continuation runs after the second", async () => {
    const calls = reply(toolCall("a", {}, { id: "ca" }), toolCall("b", {}, { id: "cb" }));
    const host = open([calls, reply(text("both"))]);
    const socket = await connect(host);
    ask(socket, "r1", { clientTools: [{ name: "a" }, { name: "b" }] });
    await socket.next(isTerminal("r1"));
    socket.send({ type: "cf_agent_tool_result", toolCallId: "ca", toolName: "a", output: 1, autoContinue: true });
    await die(host);
    await wake(host);
    expect(scene.script.callCount).toBe(1);
    const again = await connect(host);
    again.send({ type: "cf_agent_tool_result", toolCallId: "cb", toolName: "b", output: 2, autoContinue: true });
    await settleDown(host);
    expect(scene.script.callCount).toBe(2);
    const messages = await stored(host);
    expect(linesOf(messages)).toEqual(["user:u-r1", "assistant:both"]);
    expect(toolParts(messages).map(({ output }) => output)).toEqual([1, 2]);
  });

  test("killed after the last result and before its continuation, the continuation runs with no client there", async () => {
    const host = open([reply(toolCall("a", {}, { id: "ca" })), reply(text("known"))]);
    const socket = await connect(host);
    ask(socket, "r1", { clientTools: [{ name: "a" }] });
    await socket.next(isTerminal("r1"));
    socket.send({ type: "cf_agent_tool_result", toolCallId: "ca", toolName: "a", output: 1, autoContinue: true });
    await host.idle();
    await host.restart();
    await wake(host);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:known"]);
  });

  test("a continuation that is killed before it said anything goes on from the same message", async () => {
    const host = open([reply(text("Let me see. "), toolCall("a", {}, { id: "ca" })), reply(stall()), reply(text("7"))]);
    const socket = await connect(host);
    ask(socket, "r1", { clientTools: [{ name: "a" }] });
    await socket.next(isTerminal("r1"));
    socket.send({ type: "cf_agent_tool_result", toolCallId: "ca", toolName: "a", output: 7, autoContinue: true });
    await die(host);
    await wake(host);
    expect(scene.recoveries).toMatchObject([{ recoveryKind: "continue" }]);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:Let me see. 7"]);
  });
});

test("killed while one turn streams and another waits, both are answered in order, and the first never sees the second", async () => {
  const host = open([reply(text("one"), stall()), reply(text("...")), reply(text("two"))]);
  const socket = await connect(host);
  ask(socket, "r1");
  await host.idle();
  ask(socket, "r2");
  await die(host);
  await wake(host);
  expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:one...", "user:u-r2", "assistant:two"]);
  expect(promptOf(scene.script.calls[1])).not.toContain("u-r2");
  expect(promptOf(scene.script.calls[2])).toContain("u-r2");
});

test.each([
  ["before it said anything", reply(stall()), reply(text("second"))],
  ["in the middle", reply(text("sec"), stall()), reply(text("ond"))]
])(
  "a regeneration killed %s ends as a sibling of the old answer, which it was never shown",
  async (_when, ...steps) => {
    const host = open([reply(text("first")), ...steps]);
    const socket = await connect(host);
    ask(socket, "r1");
    await socket.next(isTerminal("r1"));
    ask(socket, "r2", { messages: [user("u-r1")], trigger: "regenerate-message" });
    await die(host);
    await wake(host);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:second"]);
    for (const call of scene.script.calls.slice(1)) expect(promptOf(call)).not.toContain("first");
    expect(await (await host.get(Patient, "a")).answersTo("u-r1")).toEqual(["first", "second"]);
  }
);

test.each([
  ["retried", reply(stall()), "retry"],
  ["continued", reply(text("half "), stall()), "continue"]
])("events tell of a turn that is %s, each once, in one order and under one identity", async (_how, first, kind) => {
  const host = open([first, reply(text("done"))]);
  ask(await connect(host), "r1");
  await die(host);
  await wake(host);
  const reported = scene.events.filter(({ type }) => type.startsWith("chat:recovery:"));
  expect(reported.map(({ type }) => type.slice("chat:recovery:".length))).toEqual([
    "detected",
    "attempt",
    "scheduled",
    "completed"
  ]);
  const identity = { incidentId: "r1:u-r1", requestId: "r1", attempt: 1, maxAttempts: 10, recoveryKind: kind };
  for (const { payload } of reported) expect(payload).toEqual(identity);
});

test("an answer whose hook was cut off is not run again, and its hook is", async () => {
  let runs = 0;
  const host = open([reply(text("one"))], { respond: () => (++runs === 1 ? never() : undefined) });
  ask(await connect(host), "r1");
  await die(host);
  await wake(host);
  expect(scene.script.callCount).toBe(1);
  expect(scene.responses.map(({ status }) => status)).toEqual(["completed", "completed"]);
  expect(scene.recoveries).toEqual([]);
});
