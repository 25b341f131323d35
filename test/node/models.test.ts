// Several models, from a class's point of view: who answers when one fails, what of its answer stays, what is remembered, and
// what is written down. Each test is named after its promise.
import { tool } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import {
  anthropicThinking,
  fail,
  failInBand,
  finish,
  openaiReasoning,
  reply,
  stall,
  text,
  toolCall,
  usage,
  type RecordedCall,
  type Step
} from "../../src/testing/index.ts";
import { linesOf, textOf, toolParts } from "../kit/messages.ts";
import { agentOf, eventsOf, memoryOf, openScene, recordsOf, scene, stored } from "./models-kit.ts";

beforeEach(() => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
  return () => {
    warn.mockRestore();
    error.mockRestore();
  };
});

const overloaded = () => fail(new Error("Overloaded"), { statusCode: 529 });
const limited = (retryAfterMs: number) => fail(new Error("slow down"), { statusCode: 429, retryAfterMs });
const said = async (host: ReturnType<typeof openScene>) => linesOf(await stored(host));
const chosen = async (host: ReturnType<typeof openScene>) =>
  (await recordsOf(host, "model-called")).map((record) => record.chosen);

describe("a model that fails", () => {
  test.each<[string, Step, string]>([
    ["is overloaded", overloaded(), "transient"],
    ["cannot be reached", fail(new Error("fetch failed")), "transient"],
    ["sends an error in its stream", reply(failInBand(new Error("overloaded_error"))), "transient"],
    ["asks for a minute's pause", limited(60_000), "rate_limit"],
    ["names no pause", fail(new Error("rate limit exceeded"), { statusCode: 429 }), "rate_limit"],
    ["refuses its key", fail(new Error("invalid x-api-key"), { statusCode: 401 }), "model-refused"],
    ["does not exist any more", fail(new Error("no such model"), { statusCode: 404 }), "model-refused"],
    ["has a window that is too small", fail(new Error("prompt is too long"), { statusCode: 400 }), "context_overflow"]
  ])("because it %s, is stood in for by the next one at once", async (_name, failure, code) => {
    const host = openScene({ a: [failure], b: [reply(text("Hello."))] });
    expect(await (await agentOf(host)).ask("Hi")).toBe("completed");
    expect(await said(host)).toEqual(["user:Hi", "assistant:Hello."]);
    expect(scene.asked).toEqual(["a", "b"]);
    expect(eventsOf("chat:model:switched")).toMatchObject([{ from: "a.chat/large", to: "b.chat/large", code }]);
    expect(await recordsOf(host, "attempt-ended")).toMatchObject([
      { reason: "failed", retryAt: null, error: { code }, next: { model: "b.chat/large", keepsText: false } }
    ]);
  });

  test("because of what was asked is not: the next one would be given the same", async () => {
    const host = openScene({ a: [fail(new Error("tools.0: bad schema"), { statusCode: 400 })], b: [] });
    expect(await (await agentOf(host)).ask("Hi")).toMatch(/^error/);
    expect(scene.asked).toEqual(["a"]);
    expect(memoryOf(host)).toEqual([]);
  });

  test("and asks for a short pause is waited for, once", async () => {
    const host = openScene({ a: [limited(2_000), limited(2_000)], b: [reply(text("Hello."))] });
    const answered = (await agentOf(host)).ask("Hi");
    await host.advance(2_000);
    expect(await answered).toBe("completed");
    expect(scene.asked).toEqual(["a", "a", "b"]);
  });

  test("is not asked again by the SDK first", async () => {
    const host = openScene({ a: [overloaded(), overloaded()], b: [reply(text("Hello."))] });
    await (await agentOf(host)).ask("Hi");
    expect(scene.scripts["a"]?.callCount).toBe(1);
  });

  test("by its silence is stood in for when it is over", async () => {
    const host = openScene({ a: [reply(text("Hel"), stall())], b: [reply(text("Whole."))] }, { stallMs: 30_000 });
    const answered = (await agentOf(host)).ask("Hi");
    await host.advance(31_000);
    expect(await answered).toBe("completed");
    expect(await said(host)).toEqual(["user:Hi", "assistant:Whole."]);
    expect(await recordsOf(host, "attempt-ended")).toMatchObject([{ error: { code: "silence" } }]);
  });

  test("with all the others is asked again after a pause, as one model alone would be", async () => {
    const host = openScene({ a: [overloaded(), reply(text("Back."))], b: [overloaded()] });
    const answered = (await agentOf(host)).ask("Hi");
    await host.advance(1_000);
    expect(await answered).toBe("completed");
    expect(scene.asked).toEqual(["a", "b", "a"]);
    expect(await said(host)).toEqual(["user:Hi", "assistant:Back."]);
  });

  test("with all the others for ever ends the turn after five rounds", async () => {
    const always: Step[] = Array<Step>(30).fill(overloaded());
    const host = openScene({ a: always, b: always });
    const answered = (await agentOf(host)).ask("Hi");
    await host.advance(600_000);
    expect(await answered).toMatch(/^error/);
    expect(scene.asked).toEqual(Array.from({ length: 5 }, () => ["a", "b"]).flat());
  });

  test("is stood in for in a class that does not recover turns, too", async () => {
    const host = openScene({ a: [overloaded()], b: [reply(text("Hello."))] }, { recovery: false });
    expect(await (await agentOf(host)).ask("Hi")).toBe("completed");
  });
});

describe("half an answer", () => {
  const half: Step = reply(text("The answer is fo"), failInBand(new Error("overloaded_error")));

  test("of one model is not continued by the next: that one is not even shown it", async () => {
    const host = openScene({ a: [half], b: [reply(text("It is 42."))] });
    await (await agentOf(host)).ask("Hi");
    expect(await said(host)).toEqual(["user:Hi", "assistant:It is 42."]);
    expect(JSON.stringify(scene.scripts["b"]?.calls[0]?.prompt)).not.toContain("The answer is");
  });

  test("is continued where the class asks for it", async () => {
    const host = openScene({ a: [half], b: [reply(text("rty-two."))] }, { fallback: { unfinishedStep: "continue" } });
    await (await agentOf(host)).ask("Hi");
    expect(await said(host)).toEqual(["user:Hi", "assistant:The answer is forty-two."]);
    expect(JSON.stringify(scene.scripts["b"]?.calls[0]?.prompt)).toContain("The answer is fo");
  });

  test("after a finished step keeps that step, and a tool that ran is not run again", async () => {
    const count = tool({
      inputSchema: z.object({}),
      execute: async () => `counted ${scene.effects.push("count")}`
    });
    const steps: Step[] = [reply(text("Let me count. "), toolCall("count", {}, { id: "c1" })), half];
    const host = openScene({ a: steps, b: [reply(text("One."))] }, { tools: () => ({ count }) });
    await (await agentOf(host)).ask("Hi");
    expect(await said(host)).toEqual(["user:Hi", "assistant:Let me count. One."]);
    expect(scene.effects).toEqual(["count"]);
    expect(toolParts(await stored(host)).map(({ state }) => state)).toEqual(["output-available"]);
  });

  test("with a call in the very step that failed: it has run once and stays, or has not run and is gone", async () => {
    const execute = async () => `counted ${scene.effects.push("count")}`;
    const count = tool({ inputSchema: z.object({}), execute });
    const cutOff = reply(text("Let me "), toolCall("count", {}, { id: "c1" }), failInBand(new Error("overloaded")));
    const host = openScene({ a: [cutOff], b: [reply(text("One."))] }, { tools: () => ({ count }) });
    await (await agentOf(host)).ask("Hi");
    const answer = (await stored(host)).at(-1)!;
    expect(textOf(answer)).toBe("One.");
    const kept = toolParts([answer]).map(({ output }) => output);
    expect(kept).toEqual(scene.effects.map((_effect, index) => `counted ${index + 1}`));
    expect(kept.length).toBeLessThanOrEqual(1);
  });
});

describe("a stand-in", () => {
  const twoSteps: Step[] = [reply(toolCall("count", {}, { id: "c1" })), reply(text("One."))];
  const count = tool({ inputSchema: z.object({}), execute: async () => "counted" });

  test("stays for the whole turn", async () => {
    const host = openScene({ a: [overloaded()], b: twoSteps }, { tools: () => ({ count }) });
    await (await agentOf(host)).ask("Hi");
    expect(scene.asked).toEqual(["a", "b", "b"]);
  });

  test("is asked first in the next turns, for a minute: the first model is not waited for again", async () => {
    const host = openScene({ a: [overloaded(), reply(text("Three."))], b: [reply(text("One.")), reply(text("Two."))] });
    const agent = await agentOf(host);
    await agent.ask("first");
    await agent.ask("second");
    expect(scene.asked).toEqual(["a", "b", "b"]);
    await host.advance(60_000);
    await agent.ask("third");
    expect(scene.asked).toEqual(["a", "b", "b", "a"]);
    expect(memoryOf(host)).toEqual([]);
  });

  test("is asked first after a restart, too", async () => {
    const host = openScene({ a: [overloaded()], b: [reply(text("One.")), reply(text("Two."))] });
    await (await agentOf(host)).ask("first");
    await host.restart();
    await (await agentOf(host)).ask("second");
    expect(scene.asked).toEqual(["a", "b", "b"]);
    expect(await chosen(host)).toEqual(["a.chat/large", "b.chat/large", "b.chat/large"]);
  });

  test("is not remembered where the class does not want it, nor for a prompt that was too long", async () => {
    const host = openScene({ a: [overloaded()], b: [reply(text("One."))] }, { fallback: { rememberMs: 0 } });
    await (await agentOf(host)).ask("first");
    expect(memoryOf(host)).toEqual([]);
    const other = openScene({
      a: [fail(new Error("prompt is too long"), { statusCode: 400 })],
      b: [reply(text("One."))]
    });
    await (await agentOf(other)).ask("first");
    expect(memoryOf(other)).toEqual([]);
  });

  test("answers when a provider withholds an answer, by choice only", async () => {
    const filtered: Step = reply(text("I ca"), finish("content-filter"));
    const host = openScene({ a: [filtered], b: [] });
    expect(await (await agentOf(host)).ask("Hi")).toBe("completed");
    const other = openScene({ a: [filtered], b: [reply(text("I can."))] }, { fallback: { contentFilter: true } });
    expect(await (await agentOf(other)).ask("Hi")).toBe("completed");
    expect(await said(other)).toEqual(["user:Hi", "assistant:I can."]);
    expect(memoryOf(other)).toEqual([]);
  });
});

describe("what one provider wrote for itself", () => {
  const optionsOf = (call: RecordedCall | undefined) => JSON.stringify(call?.prompt);

  test("is not sent to the next: signatures, ids of items, and thoughts that carry them", async () => {
    const count = tool({ inputSchema: z.object({}), execute: async () => "counted" });
    const thinking = anthropicThinking("Let me see.", "sig-a");
    const steps: Step[] = [reply(thinking, toolCall("count", {}, { id: "c1" })), overloaded()];
    const host = openScene({ a: steps, b: [reply(text("One."))] }, { tools: () => ({ count }) });
    await (await agentOf(host)).ask("Hi");
    // The model that wrote it is sent it back.
    expect(optionsOf(scene.scripts["a"]?.calls[1])).toContain("sig-a");
    const sent = optionsOf(scene.scripts["b"]?.calls[0]);
    expect(sent).toContain("counted");
    for (const foreign of ["sig-a", "Let me see.", '"everthink"']) expect(sent).not.toContain(foreign);
  });

  test("is sent back to it in later turns, and what the other one wrote is not", async () => {
    const count = tool({ inputSchema: z.object({}), execute: async () => "counted" });
    const item = { itemId: "rs_b", encryptedContent: "secret-b" };
    const host = openScene(
      {
        a: [reply(anthropicThinking("Hm.", "sig-a"), text("First.")), overloaded(), reply(text("Third."))],
        b: [reply(openaiReasoning("So.", item), toolCall("count", {}, { id: "c1" })), reply(text("Second."))]
      },
      { tools: () => ({ count }), fallback: { rememberMs: 0 } }
    );
    const agent = await agentOf(host);
    for (const question of ["one", "two", "three"]) await agent.ask(question);
    expect(scene.asked).toEqual(["a", "a", "b", "b", "a"]);
    const [first, second] = scene.scripts["b"]?.calls ?? [];
    expect(optionsOf(first)).not.toContain("sig-a");
    expect(optionsOf(second)).toContain("rs_b");
    const back = optionsOf(scene.scripts["a"]?.calls[2]);
    expect(back).toContain("sig-a");
    for (const foreign of ["rs_b", "secret-b", '"everthink"']) expect(back).not.toContain(foreign);
  });
});

describe("which model wrote what", () => {
  test("is in the record of each step, and in the answer's metadata where the class wants it", async () => {
    const count = tool({ inputSchema: z.object({}), execute: async () => "counted" });
    const host = openScene(
      {
        a: [reply(toolCall("count", {}, { id: "c1" }), usage({ input: 5, output: 1 })), overloaded()],
        b: [reply(text("One."))]
      },
      { tools: () => ({ count }), fallback: { sendModels: true } }
    );
    await (await agentOf(host)).ask("Hi");
    expect(await recordsOf(host, "step-finished")).toMatchObject([
      { model: "a.chat/large" },
      { model: "b.chat/large" }
    ]);
    expect((await stored(host)).at(-1)?.metadata).toEqual({ models: ["a.chat/large", "b.chat/large"] });
  });

  test("is not sent to clients otherwise", async () => {
    const host = openScene({ a: [overloaded()], b: [reply(text("One."))] });
    await (await agentOf(host)).ask("Hi");
    expect(JSON.stringify(await stored(host))).not.toContain("large");
  });
});

describe("onModelFailure", () => {
  test("is given the failure, and what happens if it says nothing", async () => {
    const host = openScene({ a: [overloaded()], b: [reply(text("Hello."))] });
    await (await agentOf(host)).ask("Hi");
    expect(scene.failures).toMatchObject([
      {
        classification: "transient",
        attempt: 1,
        model: "a.chat/large",
        models: ["a.chat/large", "b.chat/large"],
        decision: { action: "switch", to: "b.chat/large" }
      }
    ]);
    expect(scene.failures[0]?.error).toMatchObject({ statusCode: 529 });
  });

  test("chooses another model", async () => {
    const onFailure = () => ({ action: "switch", to: "c.chat/large" }) as const;
    const host = openScene({ a: [overloaded()], b: [], c: [reply(text("Hello."))] }, { onFailure });
    expect(await (await agentOf(host)).ask("Hi")).toBe("completed");
    expect(scene.asked).toEqual(["a", "c"]);
  });

  test("stays with the model, which is asked again after a pause", async () => {
    const onFailure = () => ({ action: "retry" }) as const;
    const host = openScene({ a: [overloaded(), reply(text("Hello."))], b: [] }, { onFailure });
    const answered = (await agentOf(host)).ask("Hi");
    await host.advance(1_000);
    expect(await answered).toBe("completed");
    expect(scene.asked).toEqual(["a", "a"]);
  });

  test("ends the turn", async () => {
    const host = openScene({ a: [overloaded()], b: [] }, { onFailure: () => ({ action: "fail" }) });
    expect(await (await agentOf(host)).ask("Hi")).toMatch(/^error/);
    expect(scene.asked).toEqual(["a"]);
  });

  test.each([
    ["throws", () => Promise.reject(new Error("a bug"))],
    ["names no model", () => ({ action: "switch", to: "nobody" }) as const],
    ["never answers", () => new Promise<never>(() => undefined)]
  ])("that %s changes nothing", async (_name, onFailure) => {
    const host = openScene({ a: [overloaded()], b: [reply(text("Hello."))] }, { onFailure });
    const answered = (await agentOf(host)).ask("Hi");
    await host.advance(10_000);
    expect(await answered).toBe("completed");
    expect(scene.asked).toEqual(["a", "b"]);
  });
});
