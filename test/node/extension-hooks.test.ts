// Hooks of extensions in turns: what each is given, in which order, what it may change, and that none of them can harm the
// turn. Numbers are those of the specification's list.
import { tool } from "ai";
import { afterEach, beforeEach, expect, test, vi, type MockInstance } from "vitest";
import { z } from "zod";
import type { ExtensionManifest } from "../../src/features/extensions/index.ts";
import { reply, text, textChunks, toolCall } from "../../src/testing/index.ts";
import { agentOf, extension, messages, open, say, scene, type Host } from "./extensions-kit.ts";

let warn: MockInstance;

beforeEach(() => void (warn = vi.spyOn(console, "warn").mockImplementation(() => undefined)));
afterEach(() => void vi.restoreAllMocks());

const add = tool({
  inputSchema: z.object({ a: z.number(), b: z.number().optional() }),
  execute: ({ a, b = 1 }) => ({ sum: a + b })
});
const calls = (input: object = { a: 2 }) => [
  reply(toolCall("add", input, { id: "c" })),
  reply(text("That "), text("is all."))
];
const writes = (permissions: ExtensionManifest["permissions"] = {}) => ({
  permissions: { workspace: "read-write" as const, ...permissions }
});
/** Writes every snapshot of its hooks to a file, one JSON per line. */
const recorder = (...hooks: string[]) =>
  `({ hooks: { ${hooks
    .map(
      (name) => `async ${name}(snapshot, host) {
      globalThis.lines = (globalThis.lines ?? "") + JSON.stringify(["${name}", snapshot]) + "\\n";
      await host.writeFile("/seen", globalThis.lines);
      return { temperature: 1.5, action: "block" };
    }`
    )
    .join(",")} } })`;

async function seen(host: Host): Promise<[string, Record<string, unknown>][]> {
  await host.advance(1_000);
  const file = (await (await agentOf(host)).file("/seen")) ?? "";
  return file
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as [string, Record<string, unknown>]);
}

test("onStepEnd is onStepFinish under the name of AI SDK 7, and is called where an extension has both", async () => {
  const source = recorder("onStepFinish", "onStepEnd");
  const host = open(calls(), { extensions: [extension("rec", source, writes())], tools: () => ({ add }) });
  await say(host, "add");
  const lines = await seen(host);
  expect(lines.map(([name]) => name)).toEqual(["onStepEnd", "onStepEnd"]);
  expect(lines[0]?.[1]).toMatchObject({ stepNumber: 0, finishReason: "tool-calls" });
});

test("11: hooks are given the tabled snapshots, in the order of the turn, and what they return is ignored", async () => {
  const source = recorder("beforeToolCall", "afterToolCall", "onStepFinish");
  const host = open(calls(), { extensions: [extension("rec", source, writes())], tools: () => ({ add }) });
  await say(host, "add");
  const lines = await seen(host);
  expect(lines.map(([name]) => name)).toEqual(["beforeToolCall", "afterToolCall", "onStepFinish", "onStepFinish"]);
  expect(lines[0]?.[1]).toEqual({ toolName: "add", toolCallId: "c", input: { a: 2 } });
  expect(lines[1]?.[1]).toEqual({
    toolName: "add",
    toolCallId: "c",
    input: { a: 2 },
    stepNumber: 0,
    durationMs: expect.any(Number),
    success: true,
    output: { sum: 3 }
  });
  expect(lines[3]?.[1]).toMatchObject({
    stepNumber: 1,
    finishReason: "stop",
    text: "That is all.",
    toolCallCount: 0,
    toolResultCount: 0,
    usage: expect.any(Object)
  });
  expect(scene.script.calls[0]?.settings.temperature).toBeUndefined();
  expect((await messages(host)).at(-1)?.parts).toContainEqual(expect.objectContaining({ output: { sum: 3 } }));
});

test("11: onChunk is given every chunk once, in order, and before what follows it; a batch if it wants one", async () => {
  const each = recorder("onChunk");
  const batch = `({ hooks: { onChunk: { batch: true, async handler(chunks, host) {
    globalThis.all = [...(globalThis.all ?? []), ...chunks.map(({ type, text }) => type + ":" + text)];
    await host.writeFile("/batches", globalThis.all.join("|"));
  } } } })`;
  const host = open([reply(...textChunks(300))], {
    extensions: [extension("each", each, writes()), extension("batch", batch, writes())]
  });
  await say(host, "go");
  const chunks = (await seen(host)).map(([, chunk]) => chunk).filter(({ type }) => type === "text-delta");
  const whole = Array.from({ length: 300 }, (_, at) => `w${at} `).join("");
  expect(chunks.map((chunk) => chunk["text"]).join("")).toBe(whole);
  const batches = (await (await agentOf(host)).file("/batches")) ?? "";
  expect(batches.replaceAll(/\|?text-delta:/g, "")).toContain(whole);
});

test("beforeToolCall sees the input that the class decided on, also for a call that the class blocks", async () => {
  const source = recorder("beforeToolCall", "afterToolCall");
  const host = open([...calls(), ...calls()], {
    extensions: [extension("rec", source, writes())],
    tools: () => ({ add }),
    beforeToolCall: () => ({ action: "allow", input: { a: 5, b: 5 } })
  });
  await say(host, "changed");
  expect((await seen(host))[0]?.[1]).toMatchObject({ input: { a: 5, b: 5 } });
  scene.beforeToolCall = () => ({ action: "block", reason: "not now" });
  await say(host, "blocked");
  const lines = (await seen(host)).slice(-2);
  expect(lines).toMatchObject([
    ["beforeToolCall", { input: { a: 2 } }],
    ["afterToolCall", { success: true, output: "not now" }]
  ]);
});

test("12: beforeTurn runs in load order; the second sees the first's changes; model and tools are ignored", async () => {
  const first = `({ hooks: { beforeTurn: (s) => ({ system: s.system + " one", activeTools: ["add"], model: "x", tools: {} }) } })`;
  const second = `({ hooks: { beforeTurn: (s) => ({ system: s.system + " two:" + s.toolNames, temperature: 0.3 }) } })`;
  const host = open([reply(text("Ok."))], {
    extensions: [extension("first", first), extension("second", second)],
    tools: () => ({ add }),
    beforeTurn: () => ({ system: "of the class", temperature: 0.9 })
  });
  await say(host, "go");
  const call = scene.script.calls[0];
  expect(call?.prompt[0]).toMatchObject({ role: "system", content: "of the class one two:add" });
  expect(call?.settings.temperature).toBe(0.3);
  expect(call?.tools.map(({ name }) => name)).toEqual(["add"]);
  expect(warn.mock.calls.flat().join()).toContain('"first" may not set, or set to no use: model, tools');
});

test("beforeTurn is given the tabled snapshot of the turn", async () => {
  const source = recorder("beforeTurn");
  const host = open([reply(text("Ok."))], { extensions: [extension("rec", source, writes())], tools: () => ({ add }) });
  await say(host, "go");
  const [, snapshot] = (await seen(host))[0] ?? [];
  expect(snapshot).toMatchObject({ messageCount: 1, continuation: false, modelId: expect.any(String) });
  expect(snapshot?.["system"]).toContain("the prompt of the class");
  expect(snapshot?.["toolNames"]).toContain("add");
});

test("what was loaded at run time only observes, unless its manifest was given more", async () => {
  const source = `({ hooks: { beforeTurn: () => ({ temperature: 0.1, maxSteps: 50, system: "mine", activeTools: ["add", "write"] }) } })`;
  const host = open([reply(text("1")), reply(text("2")), reply(text("3"))], { tools: () => ({ add }) });
  const agent = await agentOf(host);
  for (const turn of ["observe", "tune", "rewrite"] as const) {
    await agent.load({ name: turn, version: "1", permissions: { turn } }, source);
    await say(host, turn);
    await agent.unload(turn);
  }
  const shown = scene.script.calls.map(({ prompt, settings, tools }) => [
    JSON.stringify(prompt[0]).includes('"mine"'),
    settings.temperature,
    tools.length
  ]);
  expect(shown).toEqual([
    [false, undefined, 8],
    [false, 0.1, 2],
    [true, 0.1, 2]
  ]);
});

test.each([
  ["throws", `() => { throw new Error("broken hook") }`],
  ["hangs", `() => new Promise(() => {})`],
  [
    "answers what no call can be made with",
    `() => ({ messages: [{ role: "nobody" }], toolChoice: { type: "tool", toolName: "none" }, temperature: "hot", maxSteps: -1, headers: { "a b": "\\n" }, stopSequences: 5, timeout: {} , providerOptions: "x" })`
  ],
  [
    "answers calls without results",
    `() => ({ messages: [{ role: "assistant", content: [{ type: "tool-call", toolCallId: "x", toolName: "add", input: {} }] }] })`
  ]
])("13: a hook that %s changes nothing but a line in the log", async (_what, hook) => {
  const source = `({ hooks: { beforeTurn: ${hook}, beforeToolCall: ${hook}, afterToolCall: ${hook}, onStepFinish: ${hook}, onChunk: ${hook} } })`;
  const host = open(calls(), { extensions: [extension("bad", source)], tools: () => ({ add }), hookTimeout: 30 });
  expect(await say(host, "go")).toMatchObject({ status: "completed" });
  expect(JSON.stringify((await messages(host)).at(-1))).toContain("That is all.");
  expect(warn.mock.calls.flat().join()).toContain('"bad"');
});

test("13: a hook that was timed out reaches nothing afterwards, and is not waited for again in that turn", async () => {
  const source = `({ hooks: { async beforeTurn(s, host) {
    await new Promise((done) => setTimeout(done, 150));
    await host.writeFile("/late", "late");
  }, onStepFinish: (s, host) => host.writeFile("/step", "step") } })`;
  const host = open([reply(text("Ok.")), reply(text("Ok."))], {
    extensions: [extension("slow", source, writes())],
    hookTimeout: 30
  });
  await say(host, "go");
  await new Promise((done) => setTimeout(done, 250));
  const agent = await agentOf(host);
  expect([await agent.file("/late"), await agent.file("/step")]).toEqual([null, null]);
  const lines = warn.mock.calls.flat().filter((line) => String(line).includes('"slow"'));
  expect(lines).toHaveLength(1);
});

test("a hook that fails costs its own part: the next extension is asked all the same", async () => {
  const bad = `({ hooks: { beforeTurn: () => { throw new Error("broken") } } })`;
  const good = `({ hooks: { beforeTurn: () => ({ temperature: 0.2 }) } })`;
  const host = open([reply(text("Ok."))], { extensions: [extension("bad", bad), extension("good", good)] });
  await say(host, "go");
  expect(scene.script.calls[0]?.settings.temperature).toBe(0.2);
});

test("the manifest chooses among the source's hooks, and a declared hook needs a handler", async () => {
  const source = recorder("beforeToolCall", "afterToolCall");
  const chosen = { ...writes(), hooks: ["afterToolCall" as const] };
  const host = open(calls(), { extensions: [extension("rec", source, chosen)], tools: () => ({ add }) });
  await say(host, "go");
  expect((await seen(host)).map(([name]) => name)).toEqual(["afterToolCall"]);
  const agent = await agentOf(host);
  const without = { name: "no", version: "1", hooks: ["onChunk" as const] };
  await expect(agent.load(without, source)).rejects.toThrow("has no handler");
  const unknown = { name: "no", version: "1", hooks: ["beforeStep"] as never };
  await expect(agent.load(unknown, source)).rejects.toThrow("beforeStep");
});
