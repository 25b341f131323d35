import { generateText, type UIMessage } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ModelFailedError, StepHookError, type ToolCallToRun, type StepEnd } from "../model/index.ts";
import { majors, run } from "../model/sdk-majors.test-support.ts";
import { reply, scriptedModel, text } from "../testing/index.ts";
import { TokenBudgetError, turnErrors } from "../turn/errors.ts";
import type { AssembledTurn, FailureContext } from "../turn/hooks.ts";
import type { TurnOutcome } from "../turn/turn.ts";
import { assistant } from "../turn/engine.test-support.ts";
import type {
  ChatErrorContext,
  ChatResponseResult,
  ChunkContext,
  PrepareStepContext,
  StepContext,
  ToolCallContext,
  ToolCallDecision
} from "../feature/hooks.ts";
import { engineTurn, DETAILS, overridesOf, featuresOf } from "./overrides.test-support.ts";
import type { Overrides } from "./overrides.ts";
import { UserTurnHooks } from "./turn-hooks.ts";
import { RecoveryHooks } from "./chat-recovery.ts";

// Every failure leaves a line; failure-log.test.ts is about them.
beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => {}));
afterEach(() => void vi.restoreAllMocks());

const turn = engineTurn();

function hooksOf(overrides: Partial<Overrides>, more: { inside?: boolean; entered?: unknown[] } = {}) {
  return new UserTurnHooks({
    parts: { turns: { usageOf: () => undefined } },
    overrides: overridesOf(overrides),
    turnFeatures: featuresOf(),
    assembly: {
      // Only what the hooks add is looked at.
      assemble: async (_turn, { modelHooks }) => ({ modelHooks }) as AssembledTurn
    },
    isOverridden: (hook: string) => hook in overrides,
    runAs: (origin, work) => {
      more.entered?.push(origin);
      return work();
    },
    isInside: () => more.inside ?? true,
    recoveryHooks: new RecoveryHooks({
      overrides: overridesOf(overrides),
      messages: () => [],
      repairPart: (part) => part
    }),
    overflow: { compact: async () => false },
    session: { hasThreshold: false, compactIfDue: async () => null },
    agent: { clock: { now: () => 0, sleep: async () => undefined }, env: {}, labelFor: () => "Test" }
  });
}

const call: ToolCallToRun = {
  type: "tool-call",
  toolCallId: "c1",
  toolName: "search",
  input: { q: "x" },
  stepNumber: 1,
  messages: [],
  abortSignal: undefined
};

describe("tool hooks", () => {
  test("beforeToolCall sees the call with the turn's details", async () => {
    const seen: ToolCallContext[] = [];
    const stop = new AbortController();
    const hooks = hooksOf({ beforeToolCall: (context) => void seen.push(context) });
    await hooks.beforeToolCall(turn, { ...call, abortSignal: stop.signal });
    const { abortSignal: _none, ...fields } = call;
    expect(seen).toEqual([{ ...fields, ...DETAILS }]);
    expect(seen[0]?.signal).toBe(turn.signal);
    expect(seen[0]?.abortSignal).toBe(stop.signal);
  });

  test.each<[ToolCallDecision | undefined]>([
    [undefined],
    [{ action: "allow" }],
    [{ action: "allow", input: { q: "y" } }],
    [{ action: "block", reason: "no" }],
    [{ action: "substitute", output: 1 }]
  ])("the decision %j reaches the engine", async (decision) => {
    expect(await hooksOf({ beforeToolCall: () => decision }).beforeToolCall(turn, call)).toEqual(decision);
  });

  test.each<[unknown]>([[{ action: "deny" }], [{}], [{ action: undefined }], [true]])(
    "%j is no decision, and the tool does not run on a guess",
    async (decision) => {
      // What a caller without types may return.
      const hooks = hooksOf({ beforeToolCall: () => decision as ToolCallDecision });
      await expect(hooks.beforeToolCall(turn, call)).rejects.toMatchObject({ code: "tool-decision-invalid" });
    }
  );

  test("a throw of beforeToolCall is the call's error", async () => {
    const beforeToolCall = () => {
      throw new Error("not now");
    };
    await expect(hooksOf({ beforeToolCall }).beforeToolCall(turn, call)).rejects.toThrow("not now");
  });

  test("afterToolCall sees what the model wrote and what it read", async () => {
    const seen: unknown[] = [];
    const hooks = hooksOf({ afterToolCall: (context) => void seen.push(context) });
    const finished = { ...call, durationMs: 5, success: true as const, output: "ok" };
    await hooks.afterToolCall(turn, { ...finished, executedInput: { q: "changed" } });
    const { abortSignal: _none, ...fields } = finished;
    expect(seen).toEqual([{ ...fields, ...DETAILS }]);
  });
});

describe("step and chunk hooks", () => {
  test("are wired only when the class has its own", async () => {
    expect((await hooksOf({}).assemble(turn, [], 0)).modelHooks).toEqual({});
    const noop = () => undefined;
    const { modelHooks } = await hooksOf({ beforeStep: noop, onChunk: noop, onStepEnd: noop }).assemble(turn, [], 0);
    expect(Object.keys(modelHooks)).toEqual(["prepareStep", "onChunk", "onStepFinish"]);
  });

  test.each(majors)("a step keeps everything the SDK tells of it: $name", async (major) => {
    const starts: PrepareStepContext[] = [];
    const steps: StepContext[] = [];
    const chunks: ChunkContext[] = [];
    const hooks = hooksOf({
      beforeStep: (context) => void starts.push(context),
      onStepEnd: (context) => void steps.push(context),
      onChunk: (context) => void chunks.push(context)
    });
    const { modelHooks } = await hooks.assemble(turn, [], 0);
    await run(major, { steps: [reply(text("Hello"))], hooks: modelHooks });
    const details = { ...DETAILS, signal: turn.signal };
    expect(starts).toMatchObject([{ ...details, stepNumber: 0, messages: [{ role: "user" }] }]);
    expect(steps).toMatchObject([{ ...details, text: "Hello", finishReason: "stop", toolCalls: [] }]);
    const delta = chunks.find(({ chunk }) => chunk.type === "text-delta");
    expect(delta).toMatchObject({ ...details, chunk: { text: "Hello" } });
  });

  test("an event is copied, never changed", async () => {
    const { steps } = await generateText({ model: scriptedModel([reply(text("a"))]), prompt: "b" });
    const step = steps[0];
    const { modelHooks } = await hooksOf({ onStepEnd: (context) => expect(context.text).toBe("a") }).assemble(
      turn,
      [],
      0
    );
    await modelHooks.onStepFinish?.(step as StepEnd);
    expect.assertions(2);
    expect(step).not.toHaveProperty("turnId");
  });

  test("run in the agent's context wherever the stream calls from", async () => {
    const entered: unknown[] = [];
    const origin = { socket: 1 };
    const from = engineTurn({ origin });
    const hooks = hooksOf({ onChunk: () => undefined }, { inside: false, entered });
    const { modelHooks } = await hooks.assemble(from, [], 0);
    await modelHooks.onChunk?.({ chunk: { type: "text-delta", id: "1", text: "a" } });
    expect(entered).toEqual([origin, origin]);
  });
});

describe("onChatError", () => {
  const context = { requestId: "request-1", stage: "stream", messagesPersisted: true } as const;
  const failed = new Error("original");

  test.each<[string, Overrides["onChatError"], string]>([
    ["the message of what it returns", () => new Error("Please try again."), "Please try again."],
    ["a text it returns", () => "A text.", "A text."],
    ["the error it was given, returned", (error) => error, "original"],
    ["the error it was given, when it returns nothing", () => undefined, "original"],
    ["the error it was given, when what it returns says nothing", () => new Error(""), "original"],
    [
      "the error it was given, when it throws",
      () => {
        throw new Error("in the hook");
      },
      "original"
    ],
    ["the error it was given, when it is not done yet", async () => new Error("later"), "original"],
    ["the error it was given, when it rejects", () => Promise.reject(new Error("later")), "original"]
  ])("clients see %s", async (_what, onChatError, expected) => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    vi.spyOn(console, "warn").mockImplementation(() => {});
    expect(hooksOf({ onChatError }).describeFailure(failed, context)).toBe(expected);
    // Lets a rejection be handled, or fail the run.
    await Promise.resolve();
  });

  test("is given where it failed, and in which turn", () => {
    const seen: (ChatErrorContext | undefined)[] = [];
    const hooks = hooksOf({ onChatError: (error, context) => (seen.push(context), error) });
    hooks.describeFailure(failed, { stage: "parse", messagesPersisted: false });
    hooks.describeFailure(failed, { ...context, turn });
    expect(seen).toEqual([
      { stage: "parse", messagesPersisted: false },
      { ...DETAILS, stage: "stream", messagesPersisted: true }
    ]);
    expect(seen[1]?.signal).toBe(turn.signal);
  });

  test("is given what user code threw before a step, and a safe error for what a provider threw in getModel", () => {
    const given: unknown[] = [];
    const hooks = hooksOf({ onChatError: (error) => (given.push(error), error) });
    const own = new Error("You have no credit left.");
    expect(hooks.describeFailure(new StepHookError(own), context)).toBe("You have no credit left.");
    const missing = Object.assign(new Error("OPENAI_API_KEY is missing"), { name: "AI_LoadAPIKeyError" });
    expect(hooks.describeFailure(missing, { ...context, stage: "turn" })).toBe("The model could not answer.");
    expect(given).toEqual([own, new ModelFailedError(missing)]);
  });

  test("what a provider said stays inside unless the hook says it", () => {
    const error = new ModelFailedError(new Error("key sk-123 is over its quota"));
    expect(hooksOf({}).describeFailure(error, context)).toBe("The model could not answer.");
    const onChatError = (given: unknown) => (given as Error).cause;
    expect(hooksOf({ onChatError }).describeFailure(error, context)).toContain("sk-123");
  });

  test("an error that says nothing at all still gets a text", () => {
    expect(hooksOf({}).describeFailure(new Error(""), context)).not.toBe("");
  });
});

describe("classifyChatError", () => {
  const stream = { requestId: "request-1", stage: "stream", messagesPersisted: true } as const;
  const provider = new Error("prompt is too long");

  function classified(overrides: Partial<Overrides>, context: FailureContext = stream) {
    return hooksOf(overrides).classifyFailure(new ModelFailedError(provider), context);
  }

  test("is asked with the provider's own error when the class has its own", () => {
    const classifyChatError = vi.fn(() => "rate_limit" as const);
    expect(classified({ classifyChatError })).toBe("rate_limit");
    expect(classifyChatError.mock.calls).toEqual([[provider, { stage: "stream", requestId: "request-1" }]]);
  });

  test("is not asked about what is no failure of the stream", () => {
    const classifyChatError = vi.fn(() => "context_overflow" as const);
    expect(classified({ classifyChatError }, { ...stream, stage: "turn" })).toBeUndefined();
    expect(classifyChatError).not.toHaveBeenCalled();
  });

  test.each([new StepHookError(provider), new TokenBudgetError(5), turnErrors.AttemptFailedError(provider), provider])(
    "is not asked about what is no failure of the model: %s",
    (error) => {
      const classifyChatError = vi.fn(() => "transient" as const);
      expect(hooksOf({ classifyChatError }).classifyFailure(error, stream)).toBeUndefined();
      expect(classifyChatError).not.toHaveBeenCalled();
    }
  );

  test("a throw is warned of and names nothing", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const classifyChatError = () => {
      throw new Error("in the classifier");
    };
    expect(classified({ classifyChatError })).toBeUndefined();
    expect(warn).toHaveBeenCalledOnce();
  });

  test.each([
    ["context_overflow", "context_overflow"],
    ["rate_limit", undefined],
    ["transient", undefined]
  ] as const)("onChatError is given %s as %s", (classification, given) => {
    let received: unknown;
    const onChatError: Overrides["onChatError"] = (error, context) => ((received = context?.classification), error);
    hooksOf({ onChatError }).describeFailure(provider, { ...stream, classification });
    expect(received).toBe(given);
  });
});

describe("onChatResponse", () => {
  async function responses(outcome: TurnOutcome, from = turn): Promise<ChatResponseResult[]> {
    const seen: ChatResponseResult[] = [];
    await hooksOf({ onChatResponse: (result) => void seen.push(result) }).respond(from, outcome);
    return seen;
  }
  const message: UIMessage = assistant("answer-1");

  test.each<[TurnOutcome]>([
    [{ status: "completed", message, streamed: true }],
    [{ status: "aborted", message, streamed: true }],
    [{ status: "error", error: "Sorry.", message, streamed: true }]
  ])("is called with %j", async (outcome) => {
    const { status, error } = outcome;
    const expected = { ...DETAILS, message, continuation: false, status, attachments: [], ...(error && { error }) };
    const received = await responses(outcome);
    expect(received).toEqual([expected]);
    expect(received[0]?.signal).toBe(turn.signal);
  });

  test("is called with an answer without parts, too", async () => {
    const [result] = await responses({ status: "completed", streamed: true }, engineTurn({ continuation: true }));
    expect(result).toMatchObject({ message: { id: "answer-1", role: "assistant", parts: [] }, continuation: true });
  });

  test.each<[TurnOutcome]>([
    [{ status: "skipped", reason: "cleared", streamed: false }],
    [{ status: "error", error: "setup", streamed: false }],
    [{ status: "aborted", streamed: false }]
  ])("is not called with %j", async (outcome) => {
    expect(await responses(outcome)).toEqual([]);
  });

  test("is promised to a class only if it has one", () => {
    expect(hooksOf({}).wantsResponse).toBe(false);
    expect(hooksOf({ onChatResponse: () => undefined }).wantsResponse).toBe(true);
  });
});
