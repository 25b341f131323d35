// The scripted model under the real SDK, for every supported pair of major and specification.
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import {
  anthropicRedactedThinking,
  anthropicThinking,
  breakStream,
  createGate,
  createScript,
  cutStream,
  fail,
  failInBand,
  file,
  finish,
  googleToolCall,
  json,
  openaiReasoning,
  rawInput,
  reasoning,
  reply,
  response,
  ScriptExhaustedError,
  source,
  stall,
  text,
  textChunks,
  toolCall,
  toolResult,
  usage,
  warning
} from "./index.ts";
import { majors, weatherCalls, type SeenPart } from "./sdk-majors.fixture.ts";

beforeEach(() => {
  weatherCalls.length = 0;
});

const types = (parts: readonly SeenPart[]) => parts.map((part) => part.type);
const abortError = expect.objectContaining({ name: "AbortError" });

describe.each(majors)("$name", (major) => {
  describe("content", () => {
    test("streams each text() as one delta of one block", async () => {
      const { parts, result } = await major.stream([reply(text("Hello "), text("world"))]);
      expect(types(parts)).toEqual([
        "start",
        "start-step",
        "text-start",
        "text-delta",
        "text-delta",
        "text-end",
        "finish-step",
        "finish"
      ]);
      expect(await result.text).toBe("Hello world");
      expect(await result.finishReason).toBe("stop");
    });

    test("streams a burst of deltas and keeps named blocks apart", async () => {
      const burst = await major.stream([reply(textChunks(200, (index) => `${index},`))]);
      expect(burst.parts.filter((part) => part.type === "text-delta")).toHaveLength(200);
      const blocks = await major.stream([reply(text("one", { block: "a" }), text("two", { block: "b" }))]);
      const content = (await blocks.result.steps)[0]?.content;
      expect(content).toMatchObject([
        { type: "text", text: "one" },
        { type: "text", text: "two" }
      ]);
    });

    test("hands over reasoning with each provider's metadata", async () => {
      const { result } = await major.stream([
        reply(
          reasoning("hmm", { signature: "end-signature" }),
          anthropicThinking("let me see", "delta-signature"),
          anthropicRedactedThinking("withheld"),
          openaiReasoning("checking", { itemId: "rs_1", encryptedContent: "gAAA" }),
          text("Yes.")
        )
      ]);
      expect(await result.reasoning).toMatchObject([
        { text: "hmm", providerMetadata: { anthropic: { signature: "end-signature" } } },
        { text: "let me see", providerMetadata: { anthropic: { signature: "delta-signature" } } },
        { text: "", providerMetadata: { anthropic: { redactedData: "withheld" } } },
        { text: "checking", providerMetadata: { openai: { itemId: "rs_1", reasoningEncryptedContent: "gAAA" } } }
      ]);
    });

    test("hands over sources, files, warnings and response data", async () => {
      const timestamp = new Date("2026-01-02T03:04:05Z");
      const { result } = await major.stream([
        reply(
          warning({ type: "unsupported", feature: "topK" }),
          response({ id: "msg_1", modelId: "other-model", timestamp }),
          source("https://example.com/", { title: "Example" }),
          file("image/png", new Uint8Array([1, 2, 3])),
          text("done"),
          finish("length", { raw: "max_tokens" })
        )
      ]);
      expect(await result.sources).toMatchObject([{ url: "https://example.com/", title: "Example" }]);
      const [made] = await result.files;
      expect(made?.mediaType).toBe("image/png");
      expect([...(made?.uint8Array ?? [])]).toEqual([1, 2, 3]);
      expect(await result.warnings).toEqual([{ type: "unsupported", feature: "topK" }]);
      expect(await result.response).toMatchObject({ id: "msg_1", modelId: "other-model", timestamp });
      expect(await result.finishReason).toBe("length");
      expect(await result.rawFinishReason).toBe("max_tokens");
    });

    test("answers generateText from the same script", async () => {
      const generated = await major.generate([
        reply(reasoning("hm", { signature: "s" }), text("Hel"), text("lo"), usage({ input: 3, output: 2 }))
      ]);
      expect(generated).toMatchObject({ text: "Hello", finishReason: "stop" });
      expect(generated.reasoning).toMatchObject([{ text: "hm", providerMetadata: { anthropic: { signature: "s" } } }]);
      expect(generated.totalUsage).toMatchObject({ inputTokens: 3, outputTokens: 2 });
    });

    test.each(["stream", "generate"] as const)("yields structured output by %s", async (mode) => {
      expect(await major.object([reply(json({ city: "Zürich 🏔" }, { chunks: 5 }))], mode)).toEqual({
        city: "Zürich 🏔"
      });
    });
  });

  describe("tools", () => {
    const loop = () =>
      createScript([
        reply(
          text("Looking. "),
          toolCall("getWeather", { city: "Paris" }, { inputChunks: 3 }),
          googleToolCall("getWeather", { city: "Rome" }, "thought"),
          usage({ input: 10, output: 5, cacheRead: 4, reasoning: 2 })
        ),
        (call) => reply(text(`${call.prompt.at(-1)?.content.length} results`), usage({ input: 20, output: 3 }))
      ]);

    test("runs a loop of two steps with parallel calls and adds the usage up", async () => {
      const script = loop();
      const { parts, result } = await major.stream(script);
      expect(weatherCalls).toEqual([{ city: "Paris" }, { city: "Rome" }]);
      expect(types(parts).filter((type) => type === "tool-input-delta")).toHaveLength(4);
      expect(await result.text).toBe("2 results");
      expect(await result.totalUsage).toMatchObject({ inputTokens: 30, outputTokens: 8, totalTokens: 38 });
      const prompt = script.calls[1]?.prompt ?? [];
      expect(prompt.map((message) => message.role)).toEqual(["user", "assistant", "tool"]);
      expect(prompt[1]?.content).toMatchObject([
        { type: "text", text: "Looking. " },
        { toolCallId: "call-1-1", input: { city: "Paris" } },
        { toolCallId: "call-1-2", providerOptions: { google: { thoughtSignature: "thought" } } }
      ]);
      script.assertDone();
    });

    test("runs the same loop without streaming", async () => {
      const generated = await major.generate(loop());
      expect(generated.text).toBe("2 results");
      expect(generated.totalUsage).toMatchObject({ inputTokens: 30, outputTokens: 8 });
    });

    test("lets malformed input through to the agent, which never runs the tool", async () => {
      const script = createScript([reply(toolCall("getWeather", rawInput('{"city": "Par'))), reply(text("Sorry."))]);
      const { parts, result } = await major.stream(script);
      expect(parts.find((part) => part.type === "tool-call")).toMatchObject({ invalid: true });
      expect(weatherCalls).toEqual([]);
      expect(await result.text).toBe("Sorry.");
    });

    test("a call that the provider executes has its result in the same reply and ends the turn", async () => {
      const { parts, result } = await major.stream([
        reply(
          toolCall("web_search", { q: "weather" }, { providerExecuted: true, dynamic: true }),
          toolResult("web_search", { hits: 3 }, { dynamic: true }),
          text("Three hits.")
        )
      ]);
      expect(parts.find((part) => part.type === "tool-result")).toMatchObject({
        toolCallId: "call-1-1",
        output: { hits: 3 }
      });
      expect(await result.finishReason).toBe("stop");
      expect(await result.text).toBe("Three hits.");
    });
  });

  describe("failures", () => {
    test("an in-band error comes after the partial text and the reply finishes with error", async () => {
      const overloaded = new Error("overloaded");
      const { parts, errors, thrown } = await major.stream([reply(text("par"), failInBand(overloaded))]);
      expect(types(parts)).toContain("text-delta");
      expect(errors).toEqual([overloaded]);
      expect(thrown).toBeUndefined();
      expect(parts.at(-1)).toMatchObject({ type: "finish", finishReason: "error" });
      await expect(major.generate([reply(text("par"), failInBand(overloaded))])).rejects.toBe(overloaded);
    });

    test("a refused call is an API error with its status", async () => {
      const refused = [fail(new Error("bad key"), { statusCode: 401 })];
      const { errors } = await major.stream(refused);
      expect(errors).toHaveLength(1);
      expect(errors[0]).toMatchObject({ message: "bad key", statusCode: 401, isRetryable: false });
      expect(major.isApiError(errors[0])).toBe(true);
      await expect(major.generate(refused)).rejects.toMatchObject({ statusCode: 401 });
    });

    test("a retryable refusal is retried by the SDK with the next step", async () => {
      const script = createScript([
        fail(new Error("slow down"), { statusCode: 429, retryAfterMs: 0 }),
        reply(text("now"))
      ]);
      const { result, errors } = await major.stream(script, { maxRetries: 1 });
      expect(await result.text).toBe("now");
      expect(errors).toEqual([]);
      expect(script.callCount).toBe(2);
    });

    test("a plain error refuses the call as it is", async () => {
      const boom = new Error("boom");
      expect((await major.stream([fail(boom)])).errors).toEqual([boom]);
    });

    test("a broken stream delivers what came before and then its error", async () => {
      const hangUp = new Error("socket hang up");
      const { parts, errors, thrown } = await major.stream([reply(text("par"), breakStream(hangUp))]);
      expect(parts.find((part) => part.type === "text-delta")).toMatchObject({ text: "par" });
      expect([...errors, thrown]).toContain(hangUp);
    });

    test("a cut stream is no error to the SDK: an open block and the reason other are the only signs", async () => {
      const { parts, errors, thrown, result } = await major.stream([reply(text("par"), cutStream())]);
      expect(types(parts)).toEqual(["start", "start-step", "text-start", "text-delta", "finish-step", "finish"]);
      expect([errors, thrown]).toEqual([[], undefined]);
      expect(await result.finishReason).toBe("other");
      await expect(major.generate([reply(text("par"), cutStream())])).rejects.toThrow("closed before");
    });

    test("running out of script names the call and the last user text", async () => {
      const script = createScript([reply(toolCall("getWeather", { city: "Paris" }))]);
      const { errors } = await major.stream(script, { prompt: "Is it warm?" });
      expect(errors[0]).toBeInstanceOf(ScriptExhaustedError);
      expect(errors[0]).toMatchObject({ code: "script-exhausted", callNumber: 2 });
      expect(String(errors[0])).toMatch(/call 2.*1 step\..*"Is it warm\?"/);
      expect(() => script.assertDone()).toThrow(ScriptExhaustedError);
    });
  });

  describe("stopping", () => {
    test("a stalled stream hangs until it is aborted", async () => {
      const stop = new AbortController();
      const { parts } = await major.stream([reply(text("It is "), stall())], {
        abortSignal: stop.signal,
        onPart: (part) => part.type === "text-delta" && stop.abort()
      });
      expect(types(parts).at(-1)).toBe("abort");
    });

    test("a model that never answers hangs until it is aborted", async () => {
      const stop = new AbortController();
      const silent = createScript(() => {
        queueMicrotask(() => stop.abort());
        return stall();
      });
      await expect(major.generate(silent, { abortSignal: stop.signal })).rejects.toEqual(abortError);
      expect(silent.callCount).toBe(1);
    });

    test("a gate stops the stream at a known point until the test opens it", async () => {
      const gate = createGate();
      const seen: string[] = [];
      const run = major.stream([reply(text("a"), gate.wait(), text("b"))], {
        onPart: (part) => part.type === "text-delta" && seen.push(String(part["text"]))
      });
      await gate.reached;
      expect(gate.isOpen).toBe(false);
      gate.open();
      expect(await (await run).result.text).toBe("ab");
      expect(seen).toEqual(["a", "b"]);
    });
  });

  test("records prompts, tools and settings", async () => {
    const script = createScript([reply(text("Hi"))]);
    await major.stream(script, { prompt: "Hello?" });
    const [call] = script.calls;
    expect(call).toMatchObject({ number: 1, kind: "stream", lastUserText: "Hello?" });
    expect(call?.tools).toMatchObject([{ type: "function", name: "getWeather" }]);
    expect(z.object({ properties: z.object({ city: z.unknown() }) }).safeParse(schemaOf(call?.tools[0])).success).toBe(
      true
    );
  });
});

function schemaOf(offered: { type: string } | undefined): unknown {
  return offered !== undefined && "inputSchema" in offered ? offered.inputSchema : undefined;
}
