// An answer as clients of the OpenAI API know one: its text, and the calls that wait for the client. The work of the agent's
// own tools, reasoning and data are not part of it.
import type { StepUsage } from "../../../journal/records.ts";
import { isObject, parseJson } from "../../../util/json.ts";
import type { PlainSink } from "../plain/reader.ts";

export interface WaitingCall {
  readonly id: string;
  readonly name: string;
  /** The input as JSON. */
  readonly input: string;
}

/** The end of an answer. */
export interface AnswerEnd {
  /** Calls that the client runs. */
  readonly calls: readonly WaitingCall[];
  /** The tokens that were used; undefined when they are not known. */
  readonly tokens: TokenCounts | undefined;
}

export interface TokenCounts {
  readonly input: number;
  readonly output: number;
  readonly total: number;
  readonly cached: number;
  readonly reasoning: number;
}

export interface AnswerEvents {
  text(delta: string): boolean;
  /** The model has said nothing since then. An answer that is sent as a whole has no way to say it. */
  silent?(sinceMs: number): boolean;
  done(end: AnswerEnd): void;
  failed(errorText: string): void;
}

/** Reads the chunks of an answer. */
export class AnswerReader implements PlainSink {
  readonly #events: AnswerEvents;
  readonly #usage: () => StepUsage | undefined;
  readonly #calls = new Map<string, WaitingCall>();

  /** `usage` is called at the end of the answer. */
  constructor(events: AnswerEvents, usage: () => StepUsage | undefined) {
    this.#events = events;
    this.#usage = usage;
  }

  chunk(body: string): boolean {
    const parsed = parseJson(body);
    const chunk = parsed.ok && isObject(parsed.value) ? parsed.value : {};
    const { type, delta, toolCallId: id, toolName: name, input } = chunk;
    if (type === "text-delta" && typeof delta === "string") return this.#events.text(delta);
    if (typeof id !== "string") return true;
    if (type === "tool-input-available" && chunk["providerExecuted"] !== true) {
      this.#calls.set(id, { id, name: String(name), input: JSON.stringify(input) ?? "{}" });
    } else if (type !== "tool-input-delta") {
      // It has an outcome, or waits for a person.
      this.#calls.delete(id);
    }
    return true;
  }

  silent(sinceMs: number): boolean {
    return this.#events.silent?.(sinceMs) ?? true;
  }

  end(): void {
    this.#events.done({ calls: [...this.#calls.values()], tokens: countTokens(this.#usage()) });
  }

  fail(errorText: string): void {
    this.#events.failed(errorText);
  }
}

/** Counts the tokens. The API has no word for a count that is not known: without a total nothing is reported. */
function countTokens(usage: StepUsage | undefined): TokenCounts | undefined {
  if (!usage || usage.totalTokens === null) return undefined;
  const { inputTokens, outputTokens, totalTokens, cachedInputTokens, reasoningTokens } = usage;
  return {
    input: inputTokens ?? 0,
    output: outputTokens ?? 0,
    total: totalTokens,
    cached: cachedInputTokens ?? 0,
    reasoning: reasoningTokens ?? 0
  };
}
