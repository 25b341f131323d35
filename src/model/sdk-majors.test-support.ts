// Both majors behind the adapter, each with the model specification it is used with.
import * as ai7 from "ai";
import * as ai6 from "ai6";
import { scriptedModel, type Script, type ScriptedModelOptions, type Step } from "../testing/model/index.ts";
import { callModel, type ModelCall, type ModelCallInput, type ModelCallOutcome } from "./call.ts";
import type { ModelCallError } from "./errors.ts";
import { openSdk, type ModelObject, type Sdk } from "./sdk.ts";

// Scripted oddities make the SDK print warnings.
globalThis.AI_SDK_LOG_WARNINGS = false;

export interface TestMajor {
  readonly name: string;
  readonly sdk: Sdk;
  readonly module: typeof ai7;
  model(steps: readonly Step[], options?: ScriptedModelOptions): TestModel;
}

export type TestModel = ModelObject & { readonly script: Script };

// The two packages' types differ, the tests only use what is alike in both.
const ai6AsIfAi7 = ai6 as object as typeof ai7;

export const majors: readonly TestMajor[] = [
  {
    name: "ai 7",
    sdk: openSdk(ai7),
    module: ai7,
    model: (steps, options) => scriptedModel(steps, { ...options, specification: "v4" }) as object as TestModel
  },
  {
    name: "ai 6",
    sdk: openSdk(ai6),
    module: ai6AsIfAi7,
    model: (steps, options) => scriptedModel(steps, { ...options, specification: "v3" }) as object as TestModel
  }
];

type Overrides = Partial<ModelCallInput> & { steps: readonly Step[] };

export interface Started {
  readonly call: ModelCall;
  readonly model: TestModel;
}

export function start(major: TestMajor, { steps, ...overrides }: Overrides): Started {
  const model = major.model(steps);
  const call = callModel(major.sdk, {
    meter: undefined,
    model,
    messages: [{ role: "user", content: "Hi" }],
    signal: new AbortController().signal,
    settings: { maxRetries: 0 },
    ...overrides
  });
  return { call, model };
}

export async function run(major: TestMajor, overrides: Overrides) {
  const { call, model } = start(major, overrides);
  return { chunks: await readAll(call.chunks), outcome: await call.outcome, model };
}

export async function readAll<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

export function failure(outcome: ModelCallOutcome): ModelCallError {
  if (outcome.status !== "failed") throw new Error(`The call ${outcome.status}.`);
  return outcome.error;
}

export function textOf(chunks: readonly ai7.UIMessageChunk[]): string {
  return chunks.map((chunk) => (chunk.type === "text-delta" ? chunk.delta : "")).join("");
}
