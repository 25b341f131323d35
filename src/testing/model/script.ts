// A script: the steps, how far they have been played, and every call so far. It belongs to the test and not to the
// agent, so it goes on where it was when the object under test is killed and started again.
import { ScriptExhaustedError, ScriptRunawayError, ScriptUnfinishedError } from "./errors.ts";
import { recordCall, type ModelCallOptions, type RecordedCall } from "./recorded-call.ts";
import type { Step, StepFunction } from "./step.ts";

/** A test that calls the model more often is taken for a loop. */
const DEFAULT_MAX_CALLS = 1_000;

export interface ScriptOptions {
  /** What a call after the last step gets (default `throw`). */
  onExhausted?: "throw" | "repeat-last";
  /**
   * When a step counts as played. `at-start` (default): when the call arrives. `at-end`: when its answer has ended in
   * any way the agent can see (finished, failed, aborted); a step cut short by a crash is then played again, so a
   * script needs no extra steps for the calls that recovery repeats.
   */
  advance?: "at-start" | "at-end";
  /** Calls over this number fail with ScriptRunawayError (default 1000). */
  maxCalls?: number;
}

/** One step per call of the model, or one function that answers every call. */
export type Steps = readonly Step[] | StepFunction;

/**
 * A script several model objects can share, e.g. when `getModel()` builds a new one for every turn.
 *
 * @example
 * const script = createScript([reply(text("one")), reply(text("two"))]);
 * class Assistant extends Think<Env> {
 *   getModel() {
 *     return scriptedModel(script);
 *   }
 * }
 */
export function createScript(steps: Steps, options: ScriptOptions = {}): Script {
  return typeof steps === "function"
    ? new Script([steps], { ...options, onExhausted: "repeat-last" })
    : new Script(steps, options);
}

export class Script {
  readonly #steps: Step[];
  readonly #options: ScriptOptions;
  readonly #calls: RecordedCall[] = [];
  readonly #problems: unknown[] = [];
  #position = 0;

  constructor(steps: readonly Step[], options: ScriptOptions) {
    this.#steps = [...steps];
    this.#options = options;
  }

  /** Every call in order, frozen. */
  get calls(): readonly RecordedCall[] {
    return Object.freeze([...this.#calls]);
  }

  get callCount(): number {
    return this.#calls.length;
  }

  /** Steps not played yet. */
  get remaining(): number {
    return this.#steps.length - this.#position;
  }

  /** Adds steps at the end. */
  push(...steps: readonly Step[]): void {
    this.#steps.push(...steps);
  }

  /**
   * Throws if a step was never asked for, a call found no step, or a step function threw. An agent turns such errors
   * into a polite message, so call this at the end of a test.
   */
  assertDone(): void {
    if (this.#problems.length > 0) throw this.#problems[0];
    if (this.remaining > 0) throw new ScriptUnfinishedError(this.remaining, this.callCount);
  }

  /** For models: notes a call. */
  record(kind: RecordedCall["kind"], options: ModelCallOptions): RecordedCall {
    const call = recordCall(this.#calls.length + 1, kind, options);
    this.#calls.push(call);
    return call;
  }

  /** For models: the step that answers this call. `end()` must be called once the agent has seen how it ended. */
  take(call: RecordedCall): { step: Step; end: () => void } {
    if (call.number > (this.#options.maxCalls ?? DEFAULT_MAX_CALLS)) {
      throw this.problem(new ScriptRunawayError(call.number, call.lastUserText));
    }
    const index = this.#position;
    const step = this.#steps[index] ?? (this.#options.onExhausted === "repeat-last" ? this.#steps.at(-1) : undefined);
    if (step === undefined) {
      throw this.problem(new ScriptExhaustedError(call.number, this.#steps.length, call.lastUserText));
    }
    if (this.#options.advance !== "at-end") this.#advancePast(index);
    return { step, end: () => this.#advancePast(index) };
  }

  /** For models: remembers a mistake of the script for `assertDone()`, and gives it back to be thrown. */
  problem<E>(error: E): E {
    this.#problems.push(error);
    return error;
  }

  #advancePast(index: number): void {
    this.#position = Math.max(this.#position, Math.min(index + 1, this.#steps.length));
  }
}
