import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  cutStream,
  failInBand,
  finish,
  googleText,
  openaiReasoning,
  rawPart,
  reasoning,
  reply,
  ScriptError,
  scriptedModel,
  stall,
  text,
  toolCall,
  toolResult,
  usage,
  breakStream,
  file,
  type Reply
} from "./index.ts";

const prompt = [{ role: "user", content: [{ type: "text", text: "Hi" }] }] as const;

async function partsOf(scripted: Reply, specification: "v3" | "v4" = "v4") {
  const model = specification === "v4" ? scriptedModel([scripted]) : scriptedModel([scripted], { specification: "v3" });
  const { stream } = await model.doStream({ prompt });
  const parts: { readonly type: string; readonly [field: string]: unknown }[] = [];
  for await (const part of stream) parts.push({ ...part });
  return parts;
}

const contentOf = async (scripted: Reply) => (await partsOf(scripted)).slice(2, -1);

describe("blocks", () => {
  test("a change of kind, a tool call, a name, newBlock and start metadata each open a new block", async () => {
    const content = await contentOf(
      reply(
        reasoning("a"),
        text("b"),
        toolCall("t", {}, { inputChunks: 0 }),
        text("c"),
        text("d", { block: "named" }),
        text("e", { newBlock: true }),
        googleText("f", "signature"),
        text("g")
      )
    );
    expect(content.filter((part) => part.type.endsWith("-start")).map((part) => part["id"])).toEqual([
      "0",
      "1",
      "2",
      "named",
      "4",
      "5"
    ]);
    expect(content.at(-1)).toEqual({ type: "text-end", id: "5" });
    const starts = content.filter((part) => part.type.endsWith("-start")).length;
    expect(content.filter((part) => part.type.endsWith("-end"))).toHaveLength(starts);
  });

  test("metadata sits on the part it was given for", async () => {
    const item = { itemId: "rs_1", encryptedContent: "gAAA" };
    expect(await contentOf(reply(openaiReasoning("x", item)))).toEqual([
      {
        type: "reasoning-start",
        id: "rs_1:0",
        providerMetadata: { openai: { itemId: "rs_1", reasoningEncryptedContent: null } }
      },
      { type: "reasoning-delta", id: "rs_1:0", delta: "x", providerMetadata: { openai: { itemId: "rs_1" } } },
      {
        type: "reasoning-end",
        id: "rs_1:0",
        providerMetadata: { openai: { itemId: "rs_1", reasoningEncryptedContent: "gAAA" } }
      }
    ]);
  });

  test("raw parts are sent as given and leave the open block open", async () => {
    const stray = { type: "reasoning-delta", id: "never-opened", delta: "hm" };
    const content = await contentOf(reply(text("a"), rawPart(stray), text("b")));
    expect(content.map((part) => part.type)).toEqual([
      "text-start",
      "text-delta",
      "reasoning-delta",
      "text-delta",
      "text-end"
    ]);
    expect(content[2]).toEqual(stray);
  });
});

describe("the finish reason", () => {
  test.each([
    ["stop", reply()],
    ["stop", reply(text("a"))],
    ["tool-calls", reply(toolCall("t"))],
    ["tool-calls", reply(rawPart({ type: "tool-call", toolCallId: "1", toolName: "t", input: "{}" }))],
    ["stop", reply(toolCall("t", {}, { providerExecuted: true }), toolResult("t", "done"))],
    ["error", reply(failInBand("overloaded"))],
    ["content-filter", reply(toolCall("t"), finish("content-filter"))]
  ] as const)("is %s", async (unified, scripted) => {
    expect((await partsOf(scripted)).at(-1)).toMatchObject({ type: "finish", finishReason: { unified } });
  });

  test("interrupted exists in v4 only", async () => {
    const interrupted = reply(text("a"), finish("interrupted"));
    expect((await partsOf(interrupted, "v4")).at(-1)).toMatchObject({ finishReason: { unified: "interrupted" } });
    expect((await partsOf(interrupted, "v3")).at(-1)).toMatchObject({
      finishReason: { unified: "other", raw: "interrupted" }
    });
  });
});

test("usage is split into cached, plain, text and reasoning tokens", async () => {
  const counts = usage({ input: 100, output: 30, cacheRead: 60, cacheWrite: 10, reasoning: 20 });
  expect((await partsOf(reply(counts))).at(-1)?.["usage"]).toEqual({
    inputTokens: { total: 100, noCache: 30, cacheRead: 60, cacheWrite: 10 },
    outputTokens: { total: 30, text: 10, reasoning: 20 }
  });
});

test("file data has the shape of the specification", async () => {
  const png = reply(file("image/png", "aGk="));
  expect((await partsOf(png, "v4"))[2]).toMatchObject({ data: { type: "data", data: "aGk=" } });
  expect((await partsOf(png, "v3"))[2]).toMatchObject({ data: "aGk=" });
});

describe("mistakes in a script are reported at once", () => {
  test.each([
    ["stall()", stall()],
    ["breakStream()", breakStream(new Error("x"))],
    ["cutStream()", cutStream()]
  ])("content after %s is refused when the reply is built", (_name, end) => {
    expect(() => reply(text("a"), end, text("b"))).toThrow(ScriptError);
    expect(() => reply(text("a"), end, usage({ input: 1 }))).not.toThrow();
  });

  test("a tool result without a call fails the stream", async () => {
    await expect(partsOf(reply(toolResult("search", "x")))).rejects.toThrow(ScriptError);
  });
});

describe("for any cutting of a text", () => {
  const pieces = fc.array(fc.record({ delta: fc.string({ unit: "grapheme" }), newBlock: fc.boolean() }), {
    maxLength: 30
  });

  test("the deltas joined are the text, and streaming and generating agree", async () => {
    await fc.assert(
      fc.asyncProperty(pieces, async (list) => {
        const scripted = reply(list.map(({ delta, newBlock }) => text(delta, { newBlock })));
        const whole = list.map(({ delta }) => delta).join("");
        const content = await contentOf(scripted);
        expect(content.map((part) => part["delta"] ?? "").join("")).toBe(whole);
        const generated = await scriptedModel([scripted]).doGenerate({ prompt });
        expect(generated.content.map((part) => (part.type === "text" ? part.text : "")).join("")).toBe(whole);
      }),
      { numRuns: 60 }
    );
  });

  test("streamed tool input joined is the input of the call", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.integer({ min: 1, max: 40 }), async (input, inputChunks) => {
        const content = await contentOf(reply(toolCall("t", input, { inputChunks })));
        const joined = content.map((part) => part["delta"] ?? "").join("");
        expect(joined).toBe(content.at(-1)?.["input"]);
        expect(JSON.parse(joined)).toEqual(JSON.parse(JSON.stringify(input)));
        for (const part of content) expect(String(part["delta"] ?? "").isWellFormed()).toBe(true);
      }),
      { numRuns: 60 }
    );
  });
});
