// A tool with a hook before it runs and one after it ran. The decision is awaited before anything happens; a
// changed input is passed to the tool as it is; what is thrown on the way is an error of the tool and
// never of the turn. An async-generator tool still streams its preliminary results; any other tool that turns out to
// produce several values gives the last one. Knows no SDK: the shape of an executable tool is the same in both majors.
import type { ModelMessage, Tool, ToolSet } from "ai";
import { byteLength } from "../util/bytes.ts";
import { isPlainJson } from "../util/json.ts";
import { keptToolError, modelErrors } from "./errors.ts";

/** As JSON. The store takes values of 32 MiB; the rest is for what is recorded with it. Above it the call gets an error. */
export const MAX_OUTPUT_BYTES = 31 * 1024 * 1024;

/** A call as it is about to happen. */
export interface ToolCallToRun {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  /** What the model wrote, validated. */
  readonly input: unknown;
  /** True for tools that were registered at run time. */
  readonly dynamic?: true;
  readonly stepNumber: number;
  readonly messages: readonly ModelMessage[];
  readonly abortSignal: AbortSignal | undefined;
}

export type ToolDecision =
  | { readonly action: "allow"; readonly input?: unknown }
  | { readonly action: "block"; readonly reason?: string }
  | { readonly action: "substitute"; readonly output: unknown; readonly input?: unknown };

/** A call that is over. `input` is what the model wrote, `executedInput` what the tool was given, if it ran. */
export type FinishedToolCall = ToolCallToRun & {
  readonly executedInput?: unknown;
  /** Time spent in the tool itself; 0 when it did not run. */
  readonly durationMs: number;
} & ({ readonly success: true; readonly output: unknown } | { readonly success: false; readonly error: unknown });

export interface ToolWatch {
  /** Awaited first. Nothing means allow; a throw is the call's error. */
  readonly before?: (call: ToolCallToRun) => ToolDecision | void | PromiseLike<ToolDecision | void>;
  /** Awaited before the model sees the result. A throw is logged. */
  readonly after?: (call: FinishedToolCall) => unknown;
  /** The step running now: the SDK does not tell tools. */
  readonly stepNumber: () => number;
  readonly now?: () => number;
  readonly log?: (message: string, error: unknown) => void;
}

/** Every executable tool of the set, wrapped; the others as they are. */
export function wrapTools(tools: ToolSet, watch: ToolWatch): ToolSet {
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, wrapTool(name, tool, watch)]));
}

/** The tool with its `execute` wrapped; the same tool if it has none. */
export function wrapTool<T extends Tool>(toolName: string, tool: T, watch: ToolWatch): T {
  const execute: unknown = tool.execute;
  if (typeof execute !== "function") return tool;
  // A tool's `execute` takes its input and these options in both majors; its generics are not needed here.
  const run = execute.bind(tool) as Execute;
  const start = (input: unknown, options: ExecuteOptions) =>
    new WatchedCall({ toolName, tool, watch, run, input, options });
  const wrapped = isGeneratorFunction(execute)
    ? (input: unknown, options: ExecuteOptions) => start(input, options).stream()
    : (input: unknown, options: ExecuteOptions) => start(input, options).result();
  return { ...tool, execute: wrapped };
}

type Execute = (input: unknown, options: ExecuteOptions) => unknown;

interface ExecuteOptions {
  readonly toolCallId: string;
  readonly messages: readonly ModelMessage[];
  readonly abortSignal?: AbortSignal;
}

interface CallSetup {
  readonly toolName: string;
  readonly tool: Tool;
  readonly watch: ToolWatch;
  readonly run: Execute;
  readonly input: unknown;
  readonly options: ExecuteOptions;
}

/** What was decided: a value in place of the tool's, or the input to run it with. */
type Plan = { readonly runs: false; readonly output: unknown } | { readonly runs: true; readonly input: unknown };

class WatchedCall {
  readonly #setup: CallSetup;
  readonly #call: ToolCallToRun;
  #executed: { readonly input: unknown; readonly startedAt: number } | undefined;

  constructor(setup: CallSetup) {
    const { toolName, tool, watch, input, options } = setup;
    this.#setup = setup;
    this.#call = {
      type: "tool-call",
      toolCallId: options.toolCallId,
      toolName,
      input,
      ...(tool.type === "dynamic" ? { dynamic: true as const } : {}),
      stepNumber: watch.stepNumber(),
      messages: options.messages,
      abortSignal: options.abortSignal
    };
  }

  async result(): Promise<unknown> {
    try {
      const plan = await this.#plan();
      const output = plan.runs ? await lastValue(await this.#run(plan.input)) : plan.output;
      const kept = this.#kept(output);
      await this.#report({ success: true, output });
      return kept;
    } catch (error) {
      await this.#report({ success: false, error });
      throw keptToolError(error);
    }
  }

  async *stream(): AsyncGenerator<unknown, void, void> {
    let output: unknown;
    let isDone = false;
    try {
      const plan = await this.#plan();
      if (plan.runs) {
        // Only called for async generator functions, whose result is iterable.
        for await (const value of this.#run(plan.input) as AsyncIterable<unknown>) {
          output = value;
          yield this.#kept(value);
        }
      } else {
        output = plan.output;
        yield this.#kept(output);
      }
      isDone = true;
      await this.#report({ success: true, output });
    } catch (error) {
      isDone = true;
      await this.#report({ success: false, error });
      throw keptToolError(error);
    } finally {
      // The reader left in the middle, as the SDK does when the turn is aborted.
      if (!isDone) await this.#report({ success: false, error: abandoned(this.#call.abortSignal) });
    }
  }

  async #plan(): Promise<Plan> {
    const { watch, toolName, input, options } = this.#setup;
    const decision = (await watch.before?.(this.#call)) ?? { action: "allow" };
    switch (decision.action) {
      case "block":
        return { runs: false, output: decision.reason ?? `The tool "${toolName}" was not allowed to run.` };
      case "substitute":
        return { runs: false, output: decision.output };
      case "allow":
        break;
    }
    // The turn may have been stopped while the decision was awaited.
    options.abortSignal?.throwIfAborted();
    // Not validated again: it was made of what the schema had made, which a schema that transforms would refuse.
    return { runs: true, input: decision.input === undefined ? input : decision.input };
  }

  /**
   * The result as it goes on. It is stored and sent as JSON, so that is what everything after the tool sees, except its
   * own renderer. One that is no JSON, or too large to be stored, is the call's error; later it would be the turn's.
   */
  #kept(output: unknown): unknown {
    const { tool, toolName } = this.#setup;
    if (isPlainJson(output)) {
      if (!fitsIn(output, MAX_OUTPUT_BYTES)) throw modelErrors.ToolOutputTooLargeError(toolName, MAX_OUTPUT_BYTES);
      return output;
    }
    let text: string | undefined;
    try {
      text = JSON.stringify(output);
    } catch (error) {
      throw modelErrors.ToolOutputError(toolName, error);
    }
    if (text === undefined) return tool.toModelOutput === undefined ? undefined : output;
    if (byteLength(text) > MAX_OUTPUT_BYTES) throw modelErrors.ToolOutputTooLargeError(toolName, MAX_OUTPUT_BYTES);
    return tool.toModelOutput === undefined ? JSON.parse(text) : output;
  }

  #run(input: unknown): unknown {
    this.#executed = { input, startedAt: this.#now() };
    return this.#setup.run(input, this.#setup.options);
  }

  async #report(end: { success: true; output: unknown } | { success: false; error: unknown }): Promise<void> {
    const { after, log = console.error } = this.#setup.watch;
    if (after === undefined || this.#isReported) return;
    this.#isReported = true;
    const durationMs = this.#executed === undefined ? 0 : this.#now() - this.#executed.startedAt;
    const executed = this.#executed === undefined ? {} : { executedInput: this.#executed.input };
    try {
      await after({ ...this.#call, ...executed, durationMs, ...end });
    } catch (error) {
      log(`afterToolCall failed for "${this.#call.toolName}"; the turn goes on.`, error);
    }
  }
  #isReported = false;

  #now(): number {
    return (this.#setup.watch.now ?? Date.now)();
  }
}

/** Whether plain JSON has at most this many bytes as text. It is printed only if it may have more. */
function fitsIn(value: unknown, limitBytes: number): boolean {
  return mostBytes(value) <= limitBytes || byteLength(JSON.stringify(value) ?? "") <= limitBytes;
}

/** The most bytes that one character takes in JSON: an escape. */
const MOST_CHARACTER_BYTES = 6;
/** The most bytes that a number takes in JSON, or what stands around a value or a name. */
const MOST_OTHER_BYTES = 32;

function mostBytes(value: unknown): number {
  if (typeof value === "string") return MOST_CHARACTER_BYTES * value.length + MOST_OTHER_BYTES;
  if (typeof value !== "object" || value === null) return MOST_OTHER_BYTES;
  let bytes = MOST_OTHER_BYTES;
  const isList = Array.isArray(value);
  for (const [name, inner] of Object.entries(value)) bytes += (isList ? 0 : mostBytes(name)) + mostBytes(inner);
  return bytes;
}

function abandoned(signal: AbortSignal | undefined): unknown {
  return signal?.aborted === true
    ? signal.reason
    : new DOMException("The result is no longer waited for.", "AbortError");
}

function isGeneratorFunction(execute: object): boolean {
  return Object.prototype.toString.call(execute) === "[object AsyncGeneratorFunction]";
}

async function lastValue(result: unknown): Promise<unknown> {
  if (typeof result !== "object" || result === null || !(Symbol.asyncIterator in result)) return result;
  let last: unknown;
  // A value with the method is iterable.
  for await (const value of result as AsyncIterable<unknown>) last = value;
  return last;
}
