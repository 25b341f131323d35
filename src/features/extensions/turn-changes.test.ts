// What extensions are shown of a turn, and what of their answers is taken over.
import { expect, test } from "vitest";
import { snapshotOf } from "./snapshot.ts";
import { mergeTurnChanges, turnChangesOf } from "./turn-changes.ts";
import { parseUntrusted } from "./isolate-call.ts";

const bounds = { toolNames: ["a", "b"], maxSteps: 10 };
const messages = [{ role: "user", content: "hello" }];
const everything = {
  model: "m",
  tools: {},
  output: {},
  stopWhen: [],
  system: "s",
  messages,
  activeTools: ["b", "unknown"],
  toolChoice: { type: "tool", toolName: "b" },
  maxSteps: 50,
  sendReasoning: false,
  maxOutputTokens: 100,
  temperature: 0.5,
  topP: 0.9,
  topK: 5,
  presencePenalty: -1,
  frequencyPenalty: 1,
  stopSequences: ["x"],
  seed: 7,
  maxRetries: 100,
  timeout: 1_000,
  headers: { "x-a": "1", dropped: 5 },
  providerOptions: { openai: { effort: "low" } }
};

test("observe takes nothing, tune the sampling and what narrows, rewrite also prompt, messages and headers", () => {
  expect(turnChangesOf(everything, "observe", bounds).fields).toEqual({});
  const sampling = {
    activeTools: ["b"],
    sendReasoning: false,
    maxOutputTokens: 100,
    temperature: 0.5,
    topP: 0.9,
    topK: 5,
    presencePenalty: -1,
    frequencyPenalty: 1,
    stopSequences: ["x"],
    seed: 7,
    maxRetries: 10,
    timeout: 1_000
  };
  expect(turnChangesOf(everything, "tune", bounds).fields).toEqual({ ...sampling, maxSteps: 10 });
  expect(turnChangesOf(everything, "rewrite", bounds)).toEqual({
    fields: {
      ...sampling,
      maxSteps: 50,
      system: "s",
      messages,
      toolChoice: { type: "tool", toolName: "b" },
      headers: { "x-a": "1" },
      providerOptions: { openai: { effort: "low" } }
    },
    ignored: ["model", "tools", "output", "stopWhen"]
  });
});

test("the system prompt has two names; system counts where both are given", () => {
  const fields = (answer: object) => turnChangesOf(answer, "rewrite", bounds).fields;
  expect(fields({ instructions: "i" })).toEqual({ system: "i" });
  expect(fields({ system: "s", instructions: "i" })).toEqual({ system: "s" });
  expect(turnChangesOf({ instructions: "i" }, "tune", bounds)).toEqual({ fields: {}, ignored: ["system"] });
});

test("headers and provider options are joined key by key; of other fields the last answer counts", () => {
  const first = { headers: { a: "1", b: "1" }, providerOptions: { x: { y: 1 } }, temperature: 1 };
  const changes = { fields: { headers: { b: "2" }, providerOptions: { z: {} }, temperature: 2 }, ignored: [] };
  expect(mergeTurnChanges(first, changes)).toEqual({
    headers: { a: "1", b: "2" },
    providerOptions: { x: { y: 1 }, z: {} },
    temperature: 2
  });
});

test("a tool that must be called and is not offered is not asked for", () => {
  const choose = (toolChoice: unknown) =>
    mergeTurnChanges({ toolChoice }, { fields: { activeTools: ["a"] }, ignored: [] });
  expect(choose({ type: "tool", toolName: "b" })).toEqual({ activeTools: ["a"] });
  expect(choose("required")).toEqual({ activeTools: ["a"], toolChoice: "required" });
});

test("JSON of an extension reaches no prototype", () => {
  const text = String.raw`{"__proto__":{"polluted":1},"a":{"__proto__":{"polluted":1}},"constructor":{"prototype":{"x":1}}}`;
  expect(parseUntrusted(text)).toEqual({ a: {} });
  expect(Object.keys(mergeTurnChanges({}, turnChangesOf(parseUntrusted(text), "rewrite", bounds)))).toEqual([]);
  expect(Reflect.get({}, "polluted")).toBeUndefined();
});

test("a snapshot is plain JSON of bounded depth and size, whatever it is made of", () => {
  const loop: Record<string, unknown> = { big: 10n, at: new Date(0), bytes: new Uint8Array(3), fn: () => 1 };
  loop["self"] = loop;
  Object.defineProperty(loop, "thrower", { enumerable: true, get: () => Reflect.ownKeys(1 as never) });
  expect(snapshotOf({ loop, signal: new AbortController().signal, error: new TypeError("no") })).toEqual({
    loop: { big: "10", at: "1970-01-01T00:00:00.000Z", bytes: "[3 bytes]" },
    error: { name: "TypeError", message: "no" }
  });
  const deep = { a: { b: { c: { d: { e: { f: { g: 1 } } } } } } };
  expect(JSON.stringify(snapshotOf(deep))).toBe('{"a":{"b":{"c":{"d":{"e":{}}}}}}');
  const large = snapshotOf({ id: "x", text: "y".repeat(100_000_000), list: Array.from({ length: 1e6 }, () => 1) });
  expect(JSON.stringify(large).length).toBeLessThan(70_000);
  expect(large).toMatchObject({ id: "x", truncated: true });
});
