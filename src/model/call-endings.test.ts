// How a call can end badly, and how it can be stopped.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import {
  breakStream,
  createGate,
  cutStream,
  fail,
  failInBand,
  finish,
  reply,
  stall,
  text,
  toolCall,
  usage
} from "../testing/model/index.ts";
import { ModelCallError } from "./errors.ts";
import { failure, majors, readAll, run, start, textOf } from "./sdk-majors.test-support.ts";

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
  const { tool } = major.module;
  const echo = tool({ inputSchema: z.object({ value: z.string() }), execute: async ({ value }) => `echo ${value}` });

  describe("a failure", () => {
    const secret = new Error("secret provider text");

    test.each([
      ["a refused call", [fail(secret)]],
      ["an API error", [fail(secret, { statusCode: 529 })]],
      ["an error part", [reply(text("par"), failInBand(secret), text("tial"))]],
      ["a broken stream", [reply(text("par"), breakStream(secret))]]
    ])("%s is one type, with the original as its cause and not as its text", async (_name, steps) => {
      const { chunks, outcome } = await run(major, { steps });
      const error = failure(outcome);
      expect(error).toBeInstanceOf(ModelCallError);
      expect(error.code).toBe("model-call-failed");
      expect(JSON.stringify(error.cause, ["message"]) + String(error.cause)).toContain("secret provider text");
      expect(error.message).not.toContain("secret");
      expect(JSON.stringify(chunks)).not.toContain("secret");
      expect(chunks.some((chunk) => chunk.type === "error")).toBe(false);
    });

    test("keeps what was streamed before it and nothing after", async () => {
      for (const end of [failInBand(secret), breakStream(secret), cutStream()]) {
        const { chunks } = await run(major, { steps: [reply(text("a"), text("b"), text("c"), end)] });
        expect(textOf(chunks)).toBe("abc");
      }
    });

    test("carries the provider's status and whether a retry may help", async () => {
      const { outcome } = await run(major, { steps: [fail(secret, { statusCode: 429 })] });
      expect(failure(outcome)).toMatchObject({ statusCode: 429, isRetryable: true });
    });

    test("is what a stream without a finish part is, not success", async () => {
      const { outcome } = await run(major, { steps: [reply(text("par"), cutStream())] });
      expect(failure(outcome).code).toBe("model-stream-interrupted");
    });

    test("is also a stream that is cut before it said anything", async () => {
      const { outcome } = await run(major, { steps: [reply(cutStream())] });
      expect(failure(outcome).code).toBe("model-stream-interrupted");
    });

    test("a cut stream starts no further step", async () => {
      const { outcome, model } = await run(major, {
        steps: [reply(toolCall("echo", { value: "x" }), cutStream()), reply(text("never"))],
        tools: { echo }
      });
      expect(failure(outcome).code).toBe("model-stream-interrupted");
      expect(model.script.callCount).toBe(1);
    });

    test("is a finish reason of error", async () => {
      const { outcome } = await run(major, { steps: [reply(text("a"), finish("error", { raw: "MALFORMED" }))] });
      expect(failure(outcome)).toMatchObject({ code: "model-call-failed", cause: { rawFinishReason: "MALFORMED" } });
    });

    test("in a later step keeps the earlier ones", async () => {
      const { outcome } = await run(major, {
        steps: [reply(toolCall("echo", { value: "x" }), usage({ input: 3, output: 1 })), fail(secret)],
        tools: { echo }
      });
      expect(failure(outcome).code).toBe("model-call-failed");
      expect(outcome.steps).toHaveLength(1);
      expect(outcome.totalUsage.inputTokens).toBe(3);
    });

    test.each([0, 1])("of the hook before step %i says so", async (step) => {
      const { outcome } = await run(major, {
        steps: [reply(toolCall("echo", { value: "x" })), reply(text("b"))],
        tools: { echo },
        hooks: {
          prepareStep: ({ stepNumber }) => {
            if (stepNumber === step) throw secret;
          }
        }
      });
      expect(failure(outcome)).toMatchObject({ code: "model-step-hook-failed", cause: secret });
    });

    test("of invalid settings is an outcome too", async () => {
      const { outcome } = await run(major, { steps: [reply(text("a"))], settings: { maxRetries: -1 } });
      expect(failure(outcome).code).toBe("model-call-failed");
    });

    test("by the SDK's own timeout is not an abort of ours", async () => {
      const { outcome } = await run(major, { steps: [reply(text("a"), stall())], settings: { timeout: 5 } });
      expect(failure(outcome).code).toBe("model-timeout");
    });
  });

  test("a tool's error is a part, with its text, and the turn goes on", async () => {
    const execute = async (): Promise<string> => {
      throw new Error("disk full");
    };
    const broken = tool({ inputSchema: z.object({}), execute });
    const { chunks, outcome } = await run(major, {
      steps: [reply(toolCall("broken")), reply(text("sorry"))],
      tools: { broken }
    });
    expect(chunks).toContainEqual(expect.objectContaining({ type: "tool-output-error", errorText: "disk full" }));
    expect(outcome.status).toBe("completed");
  });

  describe("an abort", () => {
    const reason = new Error("stopped by the user");

    test("before the call means no call", async () => {
      const hooks: string[] = [];
      const { chunks, outcome, model } = await run(major, {
        steps: [reply(text("a"))],
        signal: AbortSignal.abort(reason),
        hooks: { prepareStep: () => void hooks.push("prepareStep") }
      });
      expect([chunks, hooks, model.script.callCount]).toEqual([[], [], 0]);
      expect(outcome).toMatchObject({ status: "aborted", reason });
    });

    test("in the middle keeps what came before it and ends at once", async () => {
      const stop = new AbortController();
      const gate = createGate();
      const { call } = start(major, { steps: [reply(text("a"), gate.wait(), text("b"))], signal: stop.signal });
      const chunks = [];
      for await (const chunk of call.chunks) {
        chunks.push(chunk);
        if (chunk.type === "text-delta") stop.abort(reason);
      }
      expect(textOf(chunks)).toBe("a");
      expect(await call.outcome).toMatchObject({ status: "aborted", reason });
    });

    test("ends a call whose model never answers", async () => {
      const stop = new AbortController();
      const { call } = start(major, { steps: [stall()], signal: stop.signal });
      const reading = readAll(call.chunks);
      await new Promise((resolve) => setImmediate(resolve));
      stop.abort(reason);
      expect((await reading).some((chunk) => chunk.type === "abort")).toBe(false);
      expect((await call.outcome).status).toBe("aborted");
    });

    test("reaches tools, and no step or hook follows even if a tool ignores it", async () => {
      const stop = new AbortController();
      const release = Promise.withResolvers<string>();
      const seen: (AbortSignal | undefined)[] = [];
      const hooks: string[] = [];
      const stubborn = tool({
        inputSchema: z.object({}),
        execute: async (_input, { abortSignal }) => {
          seen.push(abortSignal);
          stop.abort(reason);
          return release.promise;
        }
      });
      const { call, model } = start(major, {
        steps: [reply(toolCall("stubborn")), reply(text("never"))],
        tools: { stubborn },
        signal: stop.signal,
        hooks: { onStepFinish: () => void hooks.push("onStepFinish") }
      });
      await readAll(call.chunks);
      expect((await call.outcome).status).toBe("aborted");
      release.resolve("late");
      await new Promise((resolve) => setImmediate(resolve));
      expect(seen[0]?.aborted).toBe(true);
      expect(hooks).toEqual([]);
      expect(model.script.callCount).toBe(1);
    });

    test("is what happens when the reader stops", async () => {
      const { call, model } = start(major, {
        steps: [reply(toolCall("echo", { value: "x" })), reply(text("never"))],
        tools: { echo }
      });
      for await (const chunk of call.chunks) if (chunk.type === "tool-input-available") break;
      expect((await call.outcome).status).toBe("aborted");
      await new Promise((resolve) => setImmediate(resolve));
      expect(model.script.callCount).toBe(1);
    });

    test("after the end changes nothing", async () => {
      const stop = new AbortController();
      const { outcome } = await run(major, { steps: [reply(text("a"))], signal: stop.signal });
      stop.abort(reason);
      expect(outcome.status).toBe("completed");
    });
  });
});
