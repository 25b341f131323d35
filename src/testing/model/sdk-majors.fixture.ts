// Drives the scripted model with the real SDK, once per supported pair of SDK major and specification, and brings
// what came out into one shape, so that a promise is tested on all of them with the same words.
import {
  APICallError as APICallError7,
  generateText as generateText7,
  isStepCount,
  Output as Output7,
  streamText as streamText7,
  tool as tool7
} from "ai";
import {
  APICallError as APICallError6,
  generateText as generateText6,
  Output as Output6,
  stepCountIs,
  streamText as streamText6,
  tool as tool6
} from "ai6";
import { z } from "zod";
import type { Script, ScriptedModelOptions, Step } from "./index.ts";
import { createScript, scriptedModel } from "./index.ts";

// Scripted warnings are expected; the SDK would print each of them.
globalThis.AI_SDK_LOG_WARNINGS = false;

export interface Run {
  readonly prompt?: string;
  readonly abortSignal?: AbortSignal;
  readonly maxRetries?: number;
  readonly model?: Omit<ScriptedModelOptions, "specification">;
  /** Called with each part as it arrives. */
  readonly onPart?: (part: SeenPart) => void;
}

export interface SeenPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface StreamedRun {
  readonly parts: SeenPart[];
  /** What reading the stream threw, if it did. */
  readonly thrown: unknown;
  /** Errors of the stream, in band or not. */
  readonly errors: unknown[];
  readonly result: {
    readonly text: PromiseLike<string>;
    readonly finishReason: PromiseLike<string>;
    readonly rawFinishReason: PromiseLike<string | undefined>;
    readonly reasoning: PromiseLike<readonly object[]>;
    readonly sources: PromiseLike<readonly object[]>;
    readonly files: PromiseLike<readonly { readonly mediaType: string; readonly uint8Array: Uint8Array }[]>;
    readonly warnings: PromiseLike<readonly unknown[] | undefined>;
    readonly response: PromiseLike<{ readonly id: string; readonly modelId: string; readonly timestamp: Date }>;
    readonly steps: PromiseLike<readonly { readonly content: readonly object[] }[]>;
    readonly totalUsage: PromiseLike<Totals>;
  };
}

interface Totals {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  readonly totalTokens: number | undefined;
}

export interface Generated {
  readonly text: string;
  readonly finishReason: string;
  readonly reasoning: readonly object[];
  readonly usage: Totals;
  readonly totalUsage: Totals;
}

export interface Major {
  readonly name: string;
  stream(steps: readonly Step[] | Script, run?: Run): Promise<StreamedRun>;
  generate(steps: readonly Step[] | Script, run?: Run): Promise<Generated>;
  /** Structured output of `{ city: string }`. */
  object(steps: readonly Step[], mode: "stream" | "generate"): Promise<unknown>;
  isApiError(error: unknown): boolean;
}

export const weatherCalls: { city: string }[] = [];
const weatherInput = z.object({ city: z.string() });
const cityOutput = z.object({ city: z.string() });

function execute(input: { city: string }) {
  weatherCalls.push(input);
  return { city: input.city, degrees: 21 };
}

const tools7 = { getWeather: tool7({ inputSchema: weatherInput, execute }) };
const tools6 = { getWeather: tool6({ inputSchema: weatherInput, execute }) };

const toScript = (steps: readonly Step[] | Script) => ("take" in steps ? steps : createScript(steps));

async function read(stream: AsyncIterable<object & { type: string }>, onPart: Run["onPart"]) {
  const parts: SeenPart[] = [];
  const errors: unknown[] = [];
  let thrown: unknown;
  try {
    for await (const part of stream) {
      const seen: SeenPart = { ...part };
      parts.push(seen);
      if (seen.type === "error") errors.push(seen["error"]);
      onPart?.(seen);
    }
  } catch (error) {
    thrown = error;
  }
  return { parts, errors, thrown };
}

function settings(run: Run) {
  return {
    prompt: run.prompt ?? "What is the weather?",
    maxRetries: run.maxRetries ?? 0,
    ...(run.abortSignal === undefined ? {} : { abortSignal: run.abortSignal })
  };
}

function ai7(specification: "v3" | "v4"): Major {
  const modelFor = (steps: readonly Step[] | Script, run: Run) =>
    specification === "v4"
      ? scriptedModel(toScript(steps), { ...run.model })
      : scriptedModel(toScript(steps), { ...run.model, specification: "v3" });
  const call = (steps: readonly Step[] | Script, run: Run) => ({
    model: modelFor(steps, run),
    tools: tools7,
    stopWhen: isStepCount(5),
    ...settings(run)
  });
  return {
    name: `ai 7 with a ${specification} model`,
    async stream(steps, run = {}) {
      const result = streamText7({ ...call(steps, run), onError: () => {} });
      return { ...(await read(result.stream, run.onPart)), result };
    },
    generate: (steps, run = {}) => generateText7(call(steps, run)),
    async object(steps, mode) {
      const request = { model: modelFor(steps, {}), prompt: "city?", output: Output7.object({ schema: cityOutput }) };
      return mode === "stream" ? await streamText7(request).output : (await generateText7(request)).output;
    },
    isApiError: (error) => APICallError7.isInstance(error)
  };
}

function ai6(): Major {
  const modelFor = (steps: readonly Step[] | Script, run: Run) =>
    scriptedModel(toScript(steps), { ...run.model, specification: "v3" });
  const call = (steps: readonly Step[] | Script, run: Run) => ({
    model: modelFor(steps, run),
    tools: tools6,
    stopWhen: stepCountIs(5),
    ...settings(run)
  });
  return {
    name: "ai 6 with a v3 model",
    async stream(steps, run = {}) {
      const result = streamText6({ ...call(steps, run), onError: () => {} });
      return { ...(await read(result.fullStream, run.onPart)), result };
    },
    generate: (steps, run = {}) => generateText6(call(steps, run)),
    async object(steps, mode) {
      const request = { model: modelFor(steps, {}), prompt: "city?", output: Output6.object({ schema: cityOutput }) };
      return mode === "stream" ? await streamText6(request).output : (await generateText6(request)).output;
    },
    isApiError: (error) => APICallError6.isInstance(error)
  };
}

export const majors: readonly Major[] = [ai7("v4"), ai7("v3"), ai6()];
