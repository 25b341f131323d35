import { describe, expect, test } from "vitest";
import { z } from "zod";
import { reply, text, toolCall } from "../testing/model/index.ts";
import { callModel } from "./call.ts";
import { majors, readAll, type TestMajor } from "./sdk-majors.test-support.ts";
import {
  wrapTool,
  wrapTools,
  type FinishedToolCall,
  type ToolCallToRun,
  type ToolDecision,
  type ToolWatch
} from "./tool-wrap.ts";

interface Watched {
  readonly before?: (call: ToolCallToRun) => ToolDecision | void | Promise<ToolDecision | void>;
  readonly after?: (call: FinishedToolCall) => unknown;
  readonly execute?: (input: { n: number }, options: { abortSignal?: AbortSignal }) => unknown;
  readonly signal?: AbortSignal;
  readonly dynamic?: boolean;
}

/** One turn in which the model calls the tool with `{ n: 1 }` and then says "ok". */
async function turn(major: TestMajor, { before, after, execute, signal, dynamic }: Watched) {
  const pending: ToolCallToRun[] = [];
  const finished: FinishedToolCall[] = [];
  const logged: string[] = [];
  const executed: unknown[] = [];
  let clock = 0;
  const run =
    execute ??
    ((input: { n: number }) => {
      clock += 7;
      executed.push(input);
      return `ran ${input.n}`;
    });
  const definition = { inputSchema: z.object({ n: z.number().int() }), execute: run };
  // The tests pass tools that return anything; the SDK's inference would want to know what.
  const tool = (dynamic === true ? { ...definition, type: "dynamic" } : definition) as never;
  const model = major.model([reply(toolCall("t", { n: 1 }, { id: "c1" })), reply(text("ok"))]);
  const watch: ToolWatch = {
    before: async (call) => {
      pending.push(call);
      return before?.(call);
    },
    after: async (call) => {
      finished.push(call);
      await after?.(call);
    },
    stepNumber: () => call.stepNumber,
    now: () => clock,
    log: (message) => void logged.push(message)
  };
  const call = callModel(major.sdk, {
    meter: undefined,
    model,
    messages: [{ role: "user", content: "Hi" }],
    tools: wrapTools({ t: tool }, watch),
    signal: signal ?? new AbortController().signal,
    settings: { maxRetries: 0 }
  });
  const chunks = await readAll(call.chunks);
  const outputs = chunks.filter((chunk) => chunk.type.startsWith("tool-output"));
  return {
    outputs,
    pending,
    finished,
    logged,
    executed,
    outcome: await call.outcome,
    prompt: model.script.calls[1]?.prompt
  };
}

describe.each(majors)("with $name", (major) => {
  const seenByModel = (prompt: Awaited<ReturnType<typeof turn>>["prompt"]) => {
    const last = prompt?.at(-1);
    return last?.role === "tool" && last.content[0]?.type === "tool-result" ? last.content[0].output : undefined;
  };

  test("the call is described before and after, with step and duration", async () => {
    const { pending, finished, outcome } = await turn(major, {});
    expect(pending[0]).toMatchObject({
      type: "tool-call",
      toolCallId: "c1",
      toolName: "t",
      input: { n: 1 },
      stepNumber: 0
    });
    expect(pending[0]?.messages).toMatchObject([{ role: "user" }]);
    expect(pending[0]?.abortSignal).toBeInstanceOf(AbortSignal);
    expect(pending[0]).not.toHaveProperty("dynamic");
    expect(finished).toMatchObject([
      { toolCallId: "c1", stepNumber: 0, durationMs: 7, success: true, output: "ran 1", executedInput: { n: 1 } }
    ]);
    expect(outcome.status).toBe("completed");
  });

  test("a dynamic tool says so", async () => {
    expect((await turn(major, { dynamic: true })).pending[0]).toMatchObject({ dynamic: true });
  });

  test.each<[string, ToolDecision | undefined]>([
    ["nothing", undefined],
    ["allow", { action: "allow" }]
  ])("%s runs the tool with its own input", async (_name, decision) => {
    const { executed, prompt } = await turn(major, { before: () => decision });
    expect(executed).toEqual([{ n: 1 }]);
    expect(seenByModel(prompt)).toEqual({ type: "text", value: "ran 1" });
  });

  test("a changed input is used, and the model's own is still reported", async () => {
    const { executed, finished } = await turn(major, {
      before: () => ({ action: "allow", input: { n: 5, extra: true } })
    });
    expect(executed).toEqual([{ n: 5, extra: true }]);
    const executedInput = { n: 5, extra: true };
    expect(finished).toMatchObject([{ success: true, input: { n: 1 }, executedInput, output: "ran 5" }]);
  });

  test("a changed input is not validated again: it reaches the tool as it is", async () => {
    const { executed, finished } = await turn(major, {
      before: () => ({ action: "allow", input: { n: "five" } })
    });
    expect(executed).toEqual([{ n: "five" }]);
    expect(finished).toMatchObject([{ success: true, input: { n: 1 }, output: "ran five" }]);
  });

  test("block: the tool does not run, the model reads the reason, and that is a success", async () => {
    const { executed, finished, prompt } = await turn(major, {
      before: async () => ({ action: "block", reason: "read-only" })
    });
    expect(executed).toEqual([]);
    expect(seenByModel(prompt)).toEqual({ type: "text", value: "read-only" });
    expect(finished).toMatchObject([{ success: true, output: "read-only", durationMs: 0 }]);
    expect(finished[0]).not.toHaveProperty("executedInput");
  });

  test("block without a reason names the tool", async () => {
    expect(seenByModel((await turn(major, { before: () => ({ action: "block" }) })).prompt)).toMatchObject({
      value: expect.stringContaining('"t"')
    });
  });

  test("substitute: the model reads the given output", async () => {
    const { executed, finished, prompt } = await turn(major, {
      before: () => ({ action: "substitute", output: { cached: true } })
    });
    expect(executed).toEqual([]);
    expect(seenByModel(prompt)).toEqual({ type: "json", value: { cached: true } });
    expect(finished).toMatchObject([{ success: true, output: { cached: true } }]);
  });

  test("a throw before the call is its error, and the turn goes on", async () => {
    const { executed, finished, outcome, outputs } = await turn(major, {
      before: () => {
        throw new Error("policy down");
      }
    });
    expect(executed).toEqual([]);
    expect(finished).toMatchObject([{ success: false, error: new Error("policy down") }]);
    expect(outputs).toMatchObject([{ type: "tool-output-error", errorText: "policy down" }]);
    expect(outcome.status).toBe("completed");
  });

  test("a tool's own throw is reported as it is", async () => {
    const boom = new Error("boom");
    const { finished, outcome } = await turn(major, { execute: () => Promise.reject(boom) });
    expect(finished).toHaveLength(1);
    expect(finished).toMatchObject([{ success: false, executedInput: { n: 1 } }]);
    expect(finished[0]?.success === false && finished[0].error).toBe(boom);
    expect(outcome.status).toBe("completed");
  });

  test("a throw afterwards is logged and changes nothing", async () => {
    const { logged, prompt } = await turn(major, { after: () => Promise.reject(new Error("analytics down")) });
    expect(logged).toEqual(['afterToolCall failed for "t"; the turn goes on.']);
    expect(seenByModel(prompt)).toEqual({ type: "text", value: "ran 1" });
  });

  test("an async generator streams preliminary results, after the decision", async () => {
    const order: string[] = [];
    const { outputs, finished, prompt } = await turn(major, {
      before: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        order.push("decided");
      },
      execute: async function* ({ n }) {
        order.push("started");
        yield `half ${n}`;
        yield `whole ${n}`;
      }
    });
    expect(order).toEqual(["decided", "started"]);
    expect(outputs).toMatchObject([
      { output: "half 1", preliminary: true },
      { output: "whole 1", preliminary: true },
      { output: "whole 1" }
    ]);
    expect(outputs.at(-1)).not.toHaveProperty("preliminary", true);
    expect(finished).toMatchObject([{ success: true, output: "whole 1" }]);
    expect(seenByModel(prompt)).toEqual({ type: "text", value: "whole 1" });
  });

  test("a blocked async generator gives the reason only", async () => {
    const { finished, prompt } = await turn(major, {
      before: () => ({ action: "block", reason: "no" }),
      execute: async function* () {
        yield "never";
      }
    });
    expect(seenByModel(prompt)).toEqual({ type: "text", value: "no" });
    expect(finished).toMatchObject([{ success: true, output: "no" }]);
  });

  test("a generator that throws half way is an error once", async () => {
    const { finished, outputs } = await turn(major, {
      execute: async function* () {
        yield "half";
        throw new Error("broke");
      }
    });
    expect(finished).toMatchObject([{ success: false }]);
    expect(outputs.at(-1)).toMatchObject({ type: "tool-output-error", errorText: "broke" });
  });

  test.each([
    ["a promise of an iterable", async () => several()],
    ["a plain function that returns an iterable", () => several()]
  ])("%s gives its last value", async (_name, execute) => {
    const { outputs, finished } = await turn(major, { execute });
    expect(outputs).toMatchObject([{ output: "last" }]);
    expect(finished).toMatchObject([{ output: "last" }]);
  });

  test("a turn stopped during the decision does not run the tool", async () => {
    const stop = new AbortController();
    const { executed, outcome } = await turn(major, {
      signal: stop.signal,
      before: async () => stop.abort(new Error("stopped"))
    });
    expect(executed).toEqual([]);
    expect(outcome.status).toBe("aborted");
  });
});

async function* several() {
  yield "first";
  yield "last";
}

test("a tool without execute is left as it is, and one with private state keeps working", async () => {
  const watch: ToolWatch = { stepNumber: () => 0 };
  const client = { inputSchema: z.object({}) };
  expect(wrapTool("client", client, watch)).toBe(client);
  class Counter {
    readonly inputSchema = z.object({});
    #count = 0;
    execute(_input: unknown) {
      return (this.#count += 1);
    }
  }
  const wrapped: { execute: (input: unknown, options: object) => unknown } = wrapTool("counter", new Counter(), watch);
  expect(await wrapped.execute({}, { toolCallId: "c", messages: [] })).toBe(1);
});
