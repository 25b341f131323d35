import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import {
  fail,
  json,
  rawInput,
  rawPart,
  reasoning,
  reply,
  scriptedModel,
  source,
  text,
  toolCall,
  usage
} from "../testing/model/index.ts";
import { failure, majors, run, start, textOf } from "./sdk-majors.test-support.ts";

const unhandled: unknown[] = [];
const note = (error: unknown) => void unhandled.push(error);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => void process.off("unhandledRejection", note));
afterEach(async () => {
  // Node reports unhandled rejections after the microtasks of the turn in which they happened.
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled.splice(0)).toEqual([]);
});

describe.each(majors)("with $name", (major) => {
  const { tool, Output } = major.module;
  const echo = tool({ inputSchema: z.object({ value: z.string() }), execute: async ({ value }) => `echo ${value}` });

  describe("an answer", () => {
    test("yields the SDK's chunks and a completed outcome", async () => {
      const { chunks, outcome } = await run(major, {
        steps: [reply(text("Hello "), text("world"), usage({ input: 10, output: 2, reasoning: 1, cacheRead: 4 }))],
        messageId: "m1"
      });
      expect(chunks[0]).toEqual({ type: "start", messageId: "m1" });
      expect(textOf(chunks)).toBe("Hello world");
      expect(chunks.at(-1)).toEqual({ type: "finish", finishReason: "stop" });
      expect(outcome).toMatchObject({
        status: "completed",
        finishReason: "stop",
        totalUsage: { inputTokens: 10, outputTokens: 2, totalTokens: 12, reasoningTokens: 1, cachedInputTokens: 4 },
        lastUsage: { inputTokens: 10 }
      });
      expect(outcome.steps).toHaveLength(1);
    });

    test("of a continuation starts without a message id", async () => {
      const { chunks } = await run(major, { steps: [reply(text("a"))] });
      expect(chunks[0]).toEqual({ type: "start" });
    });

    test("can leave out start, finish, reasoning and sources", async () => {
      const steps = [reply(reasoning("hm"), text("a"), source("https://example.com/"))];
      const types = async (options: object) =>
        (await run(major, { steps, ...options })).chunks.map((chunk) => chunk.type);
      expect(await types({})).toEqual(expect.arrayContaining(["start", "reasoning-delta", "source-url", "finish"]));
      const quiet = await types({ sendStart: false, sendFinish: false, sendReasoning: false, sendSources: false });
      expect(quiet).toEqual(["start-step", "text-start", "text-delta", "text-end", "finish-step"]);
    });

    test("of a model with a blank delta before its block opens the block itself", async () => {
      const { chunks, outcome } = await run(major, {
        steps: [reply(rawPart({ type: "reasoning-delta", id: "r", delta: "hm" }), text("a"))]
      });
      expect(outcome.status).toBe("completed");
      expect(chunks.map((chunk) => chunk.type)).toContain("reasoning-start");
    });
  });

  describe("steps", () => {
    test("run tools, add up usage, and stop at the cap whatever stopWhen says", async () => {
      const again = () => reply(toolCall("echo", { value: "x" }), usage({ input: 5, output: 1 }));
      const { outcome, model } = await run(major, {
        steps: [again, again, again, again],
        tools: { echo },
        maxSteps: 3,
        stopWhen: () => false
      });
      expect(model.script.callCount).toBe(3);
      expect(outcome).toMatchObject({
        status: "completed",
        finishReason: "tool-calls",
        totalUsage: { inputTokens: 15 }
      });
    });

    test.each([Number.NaN, Number.POSITIVE_INFINITY])("are capped even when maxSteps is %s", async (maxSteps) => {
      const again = () => reply(toolCall("echo", { value: "x" }));
      const { model } = await run(major, { steps: Array.from({ length: 12 }, () => again), tools: { echo }, maxSteps });
      expect(model.script.callCount).toBe(10);
    });

    test("stop when any further condition matches", async () => {
      const again = () => reply(toolCall("echo", { value: "x" }));
      const { model } = await run(major, {
        steps: [again, again, again],
        tools: { echo },
        stopWhen: [() => false, ({ steps }) => steps.length === 2]
      });
      expect(model.script.callCount).toBe(2);
    });

    test("fire hooks in order, awaited, and count themselves", async () => {
      const log: string[] = [];
      const slowly = async (entry: string) => {
        await new Promise((resolve) => setImmediate(resolve));
        log.push(entry);
      };
      const { call } = start(major, {
        steps: [reply(toolCall("echo", { value: "x" })), reply(text("done"))],
        tools: { echo },
        hooks: {
          prepareStep: ({ stepNumber }) => slowly(`before ${stepNumber}`),
          onStepFinish: (step) => slowly(`after ${step.stepNumber}`)
        }
      });
      for await (const chunk of call.chunks) if (chunk.type === "start-step") log.push(`running ${call.stepNumber}`);
      expect(log.filter((entry) => !entry.startsWith("running"))).toEqual([
        "before 0",
        "after 0",
        "before 1",
        "after 1"
      ]);
      expect(log).toContain("running 1");
    });

    test("can be changed one by one", async () => {
      const other = major.model([reply(text("from another model"))]);
      const { chunks, model } = await run(major, {
        steps: [reply(toolCall("echo", { value: "x" }))],
        tools: { echo },
        system: "base",
        hooks: {
          prepareStep: (step) =>
            step.stepNumber === 0
              ? { toolChoice: "required", temperature: 0.5 }
              : { model: other, activeTools: [], system: "changed" }
        }
      });
      expect(textOf(chunks)).toBe("from another model");
      expect(model.script.calls[0]).toMatchObject({ toolChoice: { type: "required" }, settings: { temperature: 0.5 } });
      expect(other.script.calls[0]?.tools).toEqual([]);
      expect(other.script.calls[0]?.prompt[0]).toEqual({ role: "system", content: "changed" });
    });

    test("take the system text under the name of either major", async () => {
      const { model } = await run(major, {
        steps: [reply(text("a"))],
        system: "base",
        hooks: { prepareStep: () => ({ instructions: "changed" }) }
      });
      expect(model.script.calls[0]?.prompt[0]).toEqual({ role: "system", content: "changed" });
    });

    test("show hooks the model they know, not a wrapper", async () => {
      const seen: unknown[] = [];
      const { model } = await run(major, {
        steps: [reply(text("a"))],
        hooks: { prepareStep: (step) => void seen.push(step.model) }
      });
      expect(seen).toEqual([model]);
      expect(seen[0]).toBe(model);
    });

    test("throwing observers are logged and do not matter", async () => {
      const logged: string[] = [];
      const boom = async () => {
        throw new Error("boom");
      };
      const { outcome } = await run(major, {
        steps: [reply(text("a"))],
        hooks: { onChunk: boom, onStepFinish: boom },
        log: (message) => void logged.push(message)
      });
      expect(outcome.status).toBe("completed");
      expect(logged).toContain("onStepFinish failed; the turn goes on.");
      expect(logged).toContain("onChunk failed; the turn goes on.");
    });

    test("onChunk sees the text deltas", async () => {
      const seen: string[] = [];
      await run(major, {
        steps: [reply(text("a"))],
        hooks: { onChunk: ({ chunk }) => void (chunk.type === "text-delta" && seen.push(chunk.text)) }
      });
      expect(seen).toEqual(["a"]);
    });
  });

  test("metadata is merged by clients in the order of the parts, start and finish carrying their own", async () => {
    const { chunks } = await run(major, {
      steps: [reply(text("a"))],
      messageMetadata: ({ part }) =>
        ["start", "text-end", "finish"].includes(part.type) ? { [part.type]: 1 } : undefined
    });
    const given = chunks.flatMap((chunk) =>
      "messageMetadata" in chunk && chunk.messageMetadata !== undefined ? [[chunk.type, chunk.messageMetadata]] : []
    );
    expect(given).toEqual([
      ["start", { start: 1 }],
      ["message-metadata", { "text-end": 1 }],
      ["finish", { finish: 1 }]
    ]);
  });

  describe("system text", () => {
    test("is sent in front, and system messages join it", async () => {
      const { model } = await run(major, {
        steps: [reply(text("a"))],
        system: "base",
        messages: [
          { role: "user", content: "1" },
          { role: "system", content: "note", providerOptions: { x: { y: 1 } } },
          { role: "user", content: "2" }
        ]
      });
      expect(model.script.calls[0]?.prompt.map((message) => message.role)).toEqual([
        "system",
        "system",
        "user",
        "user"
      ]);
      expect(model.script.calls[0]?.prompt[1]).toMatchObject({ content: "note", providerOptions: { x: { y: 1 } } });
    });

    test("that is empty is not sent", async () => {
      const { model } = await run(major, { steps: [reply(text("a"))], system: "" });
      expect(model.script.calls[0]?.prompt.map((message) => message.role)).toEqual(["user"]);
    });

    test("in a step's own messages joins the base", async () => {
      const { model } = await run(major, {
        steps: [reply(text("a"))],
        system: "base",
        hooks: {
          prepareStep: () => ({
            messages: [
              { role: "system", content: "s" },
              { role: "user", content: "u" }
            ]
          })
        }
      });
      expect(model.script.calls[0]?.prompt.map((message) => message.content)).toMatchObject([
        "base",
        "s",
        [{ text: "u" }]
      ]);
    });
  });

  describe("settings", () => {
    test("are forwarded as they are", async () => {
      const { model } = await run(major, {
        steps: [reply(text("a"))],
        settings: {
          temperature: 0.2,
          topP: 0.9,
          seed: 7,
          stopSequences: ["x"],
          maxOutputTokens: 5,
          headers: { "x-test": "1" },
          providerOptions: { scripted: { mode: "fast" } }
        }
      });
      const call = model.script.calls[0];
      expect(call?.settings).toMatchObject({
        temperature: 0.2,
        topP: 0.9,
        seed: 7,
        maxOutputTokens: 5,
        stopSequences: ["x"]
      });
      expect(call?.headers).toMatchObject({ "x-test": "1" });
      expect(call?.providerOptions).toEqual({ scripted: { mode: "fast" } });
    });

    test("an unparsable tool call is repaired under one name", async () => {
      const { chunks } = await run(major, {
        steps: [reply(toolCall("echo", rawInput("not json"), { id: "c1" })), reply(text("ok"))],
        tools: { echo },
        settings: { repairToolCall: async ({ toolCall: call }) => ({ ...call, input: '{"value":"fixed"}' }) }
      });
      expect(chunks).toContainEqual(expect.objectContaining({ type: "tool-output-available", output: "echo fixed" }));
    });

    test("an unparsable tool call without repair is an errored part, and the loop goes on", async () => {
      const { chunks, outcome } = await run(major, {
        steps: [reply(toolCall("echo", rawInput("not json"), { id: "c1" })), reply(text("sorry"))],
        tools: { echo }
      });
      expect(chunks.some((chunk) => chunk.type === "tool-input-error")).toBe(true);
      expect(textOf(chunks)).toBe("sorry");
      expect(outcome.status).toBe("completed");
    });

    test("transforms are applied", async () => {
      const { chunks } = await run(major, {
        steps: [reply(text("abc"))],
        settings: {
          experimental_transform: () =>
            new TransformStream({
              transform(part, controller) {
                controller.enqueue(part.type === "text-delta" ? { ...part, text: part.text.toUpperCase() } : part);
              }
            })
        }
      });
      expect(textOf(chunks)).toBe("ABC");
    });

    test.each(["experimental_telemetry", "telemetry"])(
      "%s yields spans of the call, its requests and its tools",
      async (name) => {
        const { tracer, ended } = fakeTracer();
        const telemetry = { isEnabled: true, functionId: "f1", tracer };
        const steps = [reply(toolCall("echo", { value: "a" })), reply(text("done"))];
        await run(major, { steps, tools: { echo }, settings: { [name]: telemetry } });
        expect(ended.toSorted()).toEqual([
          "ai.streamText f1",
          "ai.streamText.doStream f1",
          "ai.streamText.doStream f1",
          "ai.toolCall f1"
        ]);
        ended.length = 0;
        await run(major, { steps: [reply(text("a"))], settings: { [name]: { ...telemetry, isEnabled: false } } });
        expect(ended).toEqual([]);
      }
    );

    // ai 6 leaves its own open.
    test.runIf(major.sdk.major === 7)("spans of a call that fails are ended, too", async () => {
      const { tracer, ended, open } = fakeTracer();
      const settings = { experimental_telemetry: { isEnabled: true, tracer } };
      await run(major, { steps: [fail(new Error("refused"), { statusCode: 400 })], settings });
      expect([ended.length > 0, open.size]).toEqual([true, 0]);
    });

    test("telemetry settings are accepted under either name", async () => {
      const steps = [reply(text("a"))];
      expect(
        (await run(major, { steps, settings: { experimental_telemetry: { isEnabled: false } } })).outcome.status
      ).toBe("completed");
      expect((await run(major, { steps, settings: { telemetry: { isEnabled: false } } })).outcome.status).toBe(
        "completed"
      );
    });
  });

  describe("structured output", () => {
    const output = Output.object({ schema: z.object({ city: z.string() }) });

    test("is parsed", async () => {
      const { outcome } = await run(major, {
        steps: [reply(json({ city: "Paris" }, { chunks: 3 }))],
        settings: { output }
      });
      expect(outcome).toMatchObject({ status: "completed", output: { city: "Paris" } });
    });

    test("that does not fit fails the call after its chunks", async () => {
      const { chunks, outcome } = await run(major, { steps: [reply(text("no json"))], settings: { output } });
      expect(textOf(chunks)).toBe("no json");
      expect(failure(outcome).code).toBe("model-output-invalid");
    });

    test("is not due when the turn stopped at a tool call", async () => {
      const ask = tool({ inputSchema: z.object({}) });
      const { outcome } = await run(major, { steps: [reply(toolCall("ask"))], tools: { ask }, settings: { output } });
      expect(outcome).toMatchObject({ status: "completed", finishReason: "tool-calls", output: undefined });
    });
  });

  test("a model given by its id is the default provider's", async () => {
    const model = major.model([reply(text("by id"))]);
    const before = globalThis.AI_SDK_DEFAULT_PROVIDER;
    // Only languageModel is asked for here.
    globalThis.AI_SDK_DEFAULT_PROVIDER = { languageModel: () => model } as object as typeof before;
    try {
      const { chunks } = await run(major, { steps: [], model: "some/model" });
      expect(textOf(chunks)).toBe("by id");
    } finally {
      globalThis.AI_SDK_DEFAULT_PROVIDER = before;
    }
  });
});

test("ai 7 works with a model of the older specification", async () => {
  const [newest] = majors;
  if (newest === undefined) throw new Error("There is no major to test.");
  const model = scriptedModel([reply(text("from v3"))], { specification: "v3" });
  const { chunks, outcome } = await run(newest, { steps: [], model });
  expect(textOf(chunks)).toBe("from v3");
  expect(outcome.status).toBe("completed");
});

/** As much of OpenTelemetry's as the SDK calls. */
function fakeTracer() {
  const ended: string[] = [];
  const open = new Set<object>();
  const startSpan = (name: string, { attributes }: { attributes?: Record<string, unknown> } = {}) => {
    const nothing = () => span;
    const end = () => {
      if (open.delete(span)) ended.push([name, attributes?.["ai.telemetry.functionId"]].filter(Boolean).join(" "));
    };
    const span = {
      end,
      setAttribute: nothing,
      setAttributes: nothing,
      setStatus: nothing,
      addEvent: nothing,
      recordException: nothing,
      updateName: nothing,
      isRecording: () => true,
      spanContext: () => ({ traceId: "0", spanId: "0", traceFlags: 0 })
    };
    open.add(span);
    return span;
  };
  const startActiveSpan = (name: string, ...rest: unknown[]) => {
    const work = rest.at(-1) as (span: object) => unknown;
    return work(startSpan(name, rest[0] as { attributes?: Record<string, unknown> }));
  };
  return { tracer: { startSpan, startActiveSpan }, ended, open };
}
