// A model that streams whatever a test tells it to, in the shape of the specification the suite runs with, and the list
// of everything that can be wrong with one field of one part. The scripted model refuses to send most of this.
import type { LanguageModel } from "ai";
import { IS_AI_6 } from "../../src/testing/model/installed-model.test-support.ts";

// Its odd warnings would be printed.
globalThis.AI_SDK_LOG_WARNINGS = false;

/** The suite runs on both majors of the SDK; see vitest.config.ts. */

export type Part = Record<string, unknown>;

/** What the model does in one call: its parts in order, or what `doStream` does instead of streaming them. */
export type Answer = readonly unknown[] | (() => unknown);

/** In place of a part: the stream breaks here. */
export class Breaks {
  constructor(readonly error: unknown) {}
}

export interface MisbehavingModel {
  readonly model: LanguageModel;
  /** The prompts it was given, one per call. */
  readonly prompts: Prompt[];
}

/** Answers one call after the other; the last answer is given again when there are more calls. */
export function misbehavingModel(answers: readonly Answer[]): MisbehavingModel {
  const prompts: Prompt[] = [];
  return {
    prompts,
    model: modelAnswering((prompt) => {
      prompts.push(prompt);
      return answers[Math.min(prompts.length, answers.length) - 1] ?? [];
    })
  };
}

/** What a provider is sent, as far as tests look into it. */
export type Prompt = readonly { readonly role: string; readonly content: string | readonly Part[] }[];

/** A model whose answer depends on its prompt only, so that it can be asked again after a crash. */
export function modelAnswering(answer: (prompt: Prompt) => Answer): LanguageModel {
  const model = {
    specificationVersion: IS_AI_6 ? "v3" : "v4",
    provider: "misbehaving",
    modelId: "misbehaving-model",
    supportedUrls: { "*/*": [/^/] },
    async doStream({ prompt }: { prompt: Prompt }) {
      const given = answer(prompt);
      return typeof given === "function" ? given() : { stream: streamOf(given) };
    },
    async doGenerate(): Promise<never> {
      throw new Error("Turns stream.");
    }
  };
  // It has the members of a model; what its stream holds is what the tests are about.
  return model as object as LanguageModel;
}

function streamOf(parts: readonly unknown[]): ReadableStream<unknown> {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      const part = parts[next++];
      if (part instanceof Breaks) controller.error(part.error);
      else if (next > parts.length) controller.close();
      else controller.enqueue(part);
    }
  });
}

const usage = {
  inputTokens: { total: 20, noCache: 10, cacheRead: 6, cacheWrite: 4 },
  outputTokens: { total: 7, text: 5, reasoning: 2 },
  raw: { input: 20 }
};
const metadata = { providerMetadata: { maker: { item: "i1", list: [1] } } };

const bytes = (base64: string) => (IS_AI_6 ? base64 : { type: "data", data: base64 });

export const finish = (unified: string): Part => ({
  type: "finish",
  finishReason: { unified, raw: unified },
  usage,
  ...metadata
});

export const text = (words: string): Part[] => [
  { type: "text-start", id: "t1" },
  { type: "text-delta", id: "t1", delta: words },
  { type: "text-end", id: "t1" }
];

/** A tool call with everything a provider streams of it. */
export const toolCall = (id: unknown, toolName: string, input: object, more: Part = {}): Part[] => [
  { type: "tool-input-start", id, toolName, ...more },
  { type: "tool-input-delta", id, delta: JSON.stringify(input) },
  { type: "tool-input-end", id },
  { type: "tool-call", toolCallId: id, toolName, input: JSON.stringify(input), ...more }
];

/** An answer with every kind of part that has nothing to do with tools. */
export const spokenParts: readonly Part[] = [
  { type: "stream-start", warnings: [{ type: "other", message: "beware" }] },
  { type: "response-metadata", id: "response-1", modelId: "m", timestamp: new Date(0) },
  { type: "reasoning-start", id: "r1" },
  { type: "reasoning-delta", id: "r1", delta: "thinking" },
  { type: "reasoning-end", id: "r1", ...metadata },
  { type: "text-start", id: "t1" },
  { type: "text-delta", id: "t1", delta: "Hello", ...metadata },
  { type: "text-end", id: "t1" },
  { type: "source", sourceType: "url", id: "s1", url: "https://example.com/", title: "Example", ...metadata },
  { type: "source", sourceType: "document", id: "s2", mediaType: "text/plain", title: "Paper", filename: "p.txt" },
  { type: "file", mediaType: "image/png", data: bytes("aGVsbG8=") },
  ...(IS_AI_6
    ? []
    : [
        { type: "reasoning-file", mediaType: "image/png", data: bytes("aGVsbG8=") },
        { type: "custom", kind: "maker.compaction", ...metadata },
        { type: "ping" }
      ]),
  { type: "raw", rawValue: { any: "thing" } },
  finish("stop")
];

/** An answer with a call that the provider runs itself, and one of the tool `note`. */
export const callingParts: readonly Part[] = [
  ...toolCall("p1", "webSearch", { query: "x" }, { providerExecuted: true, dynamic: true, title: "Search" }),
  { type: "tool-result", toolCallId: "p1", toolName: "webSearch", result: { hits: 1 }, dynamic: true, ...metadata },
  ...toolCall("c1", "note", { what: "it" }, metadata),
  finish("tool-calls")
];

export const plainAnswer = (words: string): readonly Part[] => [
  { type: "stream-start", warnings: [] },
  ...text(words),
  finish("stop")
];

function circular(): object {
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  return loop;
}

/** Takes the field away. */
const ABSENT = Symbol("absent");

/** What may stand where something else should. */
export const WRONG_VALUES: ReadonlyArray<readonly [name: string, value: () => unknown]> = [
  ["absent", () => ABSENT],
  ["undefined", () => undefined],
  ["null", () => null],
  ["NaN", () => Number.NaN],
  ["-1", () => -1],
  ["1.5", () => 1.5],
  ["1e308", () => 1e308],
  ["true", () => true],
  ["empty text", () => ""],
  ["another text", () => "other"],
  ["half a character", () => "\ud800"],
  ["a NUL", () => "\0"],
  ["__proto__", () => "__proto__"],
  ["a list", () => [1]],
  ["an object", () => ({ some: "thing" })],
  ["a big integer", () => 10n],
  ["a function", () => () => 1],
  ["a symbol", () => Symbol("s")],
  ["an invalid date", () => new Date(Number.NaN)],
  ["a loop", circular],
  ["a getter that throws", () => Object.defineProperty({}, "x", { enumerable: true, get: () => fails("getter") })],
  ["a toJSON that throws", () => ({ toJSON: () => fails("toJSON") })],
  // Last: a test that tries all of them in one conversation has it in every prompt from then on.
  ["100,000 characters", () => "x".repeat(100_000)]
];

function fails(what: string): never {
  throw new Error(`${what} of the provider`);
}

/** One field of one part of an answer. */
export interface Field {
  readonly answer: readonly Part[];
  readonly index: number;
  readonly path: readonly string[];
  readonly name: string;
}

/** Every field of every part, at any depth. */
export function fieldsOf(answer: readonly Part[]): Field[] {
  return answer.flatMap((part, index) =>
    [...pathsOf(part)].map((path) => ({
      answer,
      index,
      path,
      name: `${index} ${String(part["type"])}.${path.join(".")}`
    }))
  );
}

/** The answer with something else in that field. */
export function withWrong({ answer, index, path }: Field, value: unknown): readonly Part[] {
  return answer.with(index, replaced(answer[index], path, value) as Part);
}

function* pathsOf(value: object, before: readonly string[] = []): Generator<readonly string[]> {
  for (const [key, inner] of Object.entries(value)) {
    const path = [...before, key];
    yield path;
    if (typeof inner === "object" && inner !== null && !(inner instanceof Date)) yield* pathsOf(inner, path);
  }
}

function replaced(value: unknown, [key = "", ...rest]: readonly string[], to: unknown): unknown {
  const entries = Object.entries(value as object).filter(([name]) => to !== ABSENT || rest.length > 0 || name !== key);
  const changed = entries.map(([name, inner]) => [
    name,
    name !== key ? inner : rest.length > 0 ? replaced(inner, rest, to) : to
  ]);
  return Array.isArray(value) ? changed.map(([, inner]) => inner) : Object.fromEntries(changed);
}
