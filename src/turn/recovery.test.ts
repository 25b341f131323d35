// A turn engine that is killed, stalled and refused, on a real journal. The model's script goes on where the engine asks
// it to: what it is asked with is part of what is tested.
import { tool, type UIMessage } from "ai";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { JournalReader } from "../journal/reader.ts";
import { reply, stall, text, toolCall, type Step } from "../testing/model/index.ts";
import { installedModel } from "../testing/model/installed-model.test-support.ts";
import type { Admission } from "./admit.ts";
import { textOf, user, World, type WorldInit } from "./engine.test-support.ts";

describe("a process that dies", () => {
  test("in the middle of a text goes on with it, in the same part of the same message", async () => {
    const w = world([reply(text("The answer "), stall()), reply(text("is 42."))]);
    void w.engine.admit(ask("r1"));
    await untilText(w, "The answer ");
    await restart(w);
    await untilIdle(w);
    expect(w.texts()).toEqual(["user:r1", "assistant:The answer is 42."]);
    expect(answer(w).parts.map(({ type }) => type)).toEqual(["step-start", "text"]);
    expect(w.model.calls[1]?.prompt.at(-1)?.role).toBe("user");
    expect(w.hooksCalled).toContain("recover:continue:1");
    expect(w.incidents[0]).toMatchObject({ partialText: "The answer ", streamId: expect.stringMatching(/./) });
    const replayed = [...(w.engine.replay("r1")?.chunks ?? [])].map(({ body }) => JSON.parse(body).type);
    expect(replayed.filter((type) => type === "start" || type === "text-start")).toEqual(["start", "text-start"]);
  });

  test("has its records read once and its content once, however much is asked about the turn", async () => {
    const w = world([reply(text("The answer "), stall()), reply(text("is 42."))]);
    void w.engine.admit(ask("r1"));
    await untilText(w, "The answer ");
    const reads = vi.spyOn(JournalReader.prototype, "read");
    await restart(w);
    await untilIdle(w);
    expect(w.texts()).toEqual(["user:r1", "assistant:The answer is 42."]);
    expect(reads.mock.calls.map(([options]) => options?.outline ?? false)).toEqual([true, false]);
    reads.mockRestore();
  });

  test("before the first token asks again, and the question is there once", async () => {
    const w = world([reply(stall()), reply(text("hello"))]);
    void w.engine.admit(ask("r1"));
    await until(() => w.model.callCount === 1);
    await restart(w);
    await untilIdle(w);
    expect(w.texts()).toEqual(["user:r1", "assistant:hello"]);
    expect(w.incidents).toMatchObject([{ recoveryKind: "retry", partialText: "" }]);
  });

  test("while a tool runs tells the model that the outcome is not known, and does not run it again", async () => {
    let runs = 0;
    const hang = tool({
      inputSchema: z.object({}),
      execute: () => {
        runs += 1;
        return new Promise<string>(() => undefined);
      }
    });
    const w = world([reply(toolCall("hang", {}, { id: "c1" })), reply(text("sorry"))], { tools: { hang } });
    void w.engine.admit(ask("r1"));
    await until(() => runs === 1);
    await restart(w);
    await untilIdle(w);
    expect(runs).toBe(1);
    expect(answer(w).parts).toMatchObject([
      { type: "step-start" },
      { type: "tool-hang", state: "output-error", errorText: expect.stringContaining("interrupted") },
      { type: "step-start" },
      { type: "text", text: "sorry" }
    ]);
    expect(JSON.stringify(w.model.calls[1]?.prompt)).toContain("interrupted");
  });

  test("after a tool ran keeps its result and does not run it again", async () => {
    let runs = 0;
    const add = tool({ inputSchema: z.object({}), execute: () => ++runs });
    const w = world([reply(toolCall("add", {}, { id: "c1" })), reply(stall()), reply(text("one"))], { tools: { add } });
    void w.engine.admit(ask("r1"));
    await until(() => w.model.callCount === 2);
    await restart(w);
    await untilIdle(w);
    expect(runs).toBe(1);
    expect(answer(w).parts.map(({ type }) => type)).toEqual(["step-start", "tool-add", "step-start", "text"]);
    expect(w.model.calls[2]?.prompt.at(-1)?.role).toBe("tool");
  });

  test("in every attempt is given up after five deaths, even if each streamed something", async () => {
    const w = world(Array.from({ length: 9 }, (_, index) => reply(text(`part ${index}. `), stall())));
    void w.engine.admit(ask("r1"));
    for (let death = 0; death < 5; death += 1) {
      await until(() => w.model.callCount === death + 1 && textOf(streamed(w)).includes(`part ${death}.`));
      await restart(w);
      w.clock.skip(60_000);
    }
    await untilIdle(w);
    expect(w.model.callCount).toBe(5);
    expect(w.hooksCalled).toContain("exhausted:interrupted_attempts_exceeded");
    expect(w.engine.failed()).toMatchObject({ requestId: "r1", text: "gave up" });
    expect(w.texts()[1]).toBe("assistant:part 0. part 1. part 2. part 3. part 4. ");
  });
});

test("who follows a stream that stalls inside a tool hears every chunk that is replayed later, in order", async () => {
  const hang = tool({ inputSchema: z.object({}), execute: () => new Promise<string>(() => undefined) });
  const w = world([reply(toolCall("hang", {}, { id: "c1" })), reply(text("sorry"))], {
    tools: { hang },
    stall: { timeoutMs: 1_000, includesTools: true }
  });
  void w.engine.admit(ask("r1"));
  await until(() => w.hooksCalled.includes("before:hang"));
  w.clock.skip(5_000);
  // It is asked again after a pause.
  await until(() => w.retryAt > 0);
  w.clock.skip(5_000);
  await untilIdle(w);
  const heard = w.chunks("r1");
  expect(heard).toEqual([...(w.engine.replay("r1")?.chunks ?? [])]);
  expect(heard.map(({ body }) => JSON.parse(body).type)).toContain("tool-output-error");
});

function world(steps: Step[], init: Partial<WorldInit> = {}) {
  const model = installedModel(steps);
  return Object.assign(new World({ model: () => model, ...init }), { model });
}

function ask(requestId: string): Admission {
  return { requestId, trigger: "ws-chat", input: [user(requestId)] };
}

/** A new process on what is stored, after what is due was written. */
async function restart(w: World): Promise<void> {
  w.clock.skip(2_000);
  await new Promise((resolve) => setImmediate(resolve));
  w.boot();
  w.engine.resume();
}

function answer(w: World): UIMessage {
  const message = w.transcript.path().at(-1);
  if (!message) throw new Error("There is no message.");
  return message;
}

function streamed(w: World): UIMessage {
  const text = w.heard.map((one) => (one.what === "chunk" ? (JSON.parse(one.body).delta ?? "") : "")).join("");
  return { id: "s", role: "assistant", parts: [{ type: "text", text }] };
}

async function untilText(w: World, part: string): Promise<void> {
  await until(() => textOf(streamed(w)).includes(part));
}

async function untilIdle(w: World): Promise<void> {
  await until(() => w.conversation.row.openTurns.length === 0 && w.conversation.row.armedContinuations.length === 0);
}

/** Event-loop turns until it holds and stays so. */
async function until(condition: () => boolean): Promise<void> {
  for (let quiet = 0, rounds = 0; quiet < 40; rounds += 1) {
    if (rounds > 20_000) throw new Error("It does not come true.");
    await new Promise((resolve) => setImmediate(resolve));
    quiet = condition() ? quiet + 1 : 0;
  }
}
