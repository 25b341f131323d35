// What a run comes to, as the model and the transcript see it. Pure.
import { isObject } from "../../util/json.ts";
import { truncateText, truncateToolOutput } from "../../util/truncate-value.ts";
import { shownValue } from "./value-codec.ts";

/** Characters of a result that the model is shown; the record keeps it whole. */
export const MAX_SHOWN_RESULT_CHARS = 24_000;
/** Characters of the arguments of a call that waits, in the transcript. */
export const MAX_SHOWN_ARGS_CHARS = 2_000;

/** A call that waits for a human. */
export interface PendingCall {
  readonly executionId: string;
  readonly seq: number;
  readonly connector: string;
  readonly method: string;
  readonly args: unknown;
  /** It was begun before and may have run: the process died in it. A decision about it must carry `inputHash`. */
  readonly mayHaveRun?: true;
  /** Of this question, where it is asked for by `pending()`; the model is not shown it. */
  readonly inputHash?: string;
}

export interface EditedCall {
  readonly seq: number;
  /** What the human made of the arguments. */
  readonly args: unknown;
}

export type ExecutionOutcome =
  | {
      readonly status: "completed";
      readonly executionId: string;
      readonly result?: unknown;
      readonly logs?: string[];
      readonly edited?: EditedCall[];
    }
  | {
      readonly status: "paused";
      readonly executionId: string;
      readonly pending: PendingCall[];
      readonly logs?: string[];
      readonly message?: string;
    }
  | { readonly status: "rejected"; readonly executionId: string; readonly reason: string }
  | {
      readonly status: "error";
      readonly executionId: string;
      readonly error: string;
      readonly logs?: string[];
      /** Of a decision that was refused: the questions of the run that wait now. */
      readonly pending?: PendingCall[];
    };

const EXECUTION_ID = /^exec_\d{16}_[\w-]+$/;

export function isExecutionId(id: unknown): id is string {
  return typeof id === "string" && EXECUTION_ID.test(id);
}

/** A tool output that says a run of ours waits. */
export function isPausedExecution(
  output: unknown
): output is { status: "paused"; executionId: string; pending: unknown[] } {
  return (
    isObject(output) &&
    output["status"] === "paused" &&
    isExecutionId(output["executionId"]) &&
    Array.isArray(output["pending"])
  );
}

/**
 * A paused outcome whose arguments are short enough for a transcript. What is run is what the record holds.
 *
 * @example
 * const shown = truncatePausedExecutionOutput(outcome);
 */
export function truncatePausedExecutionOutput<Output>(output: Output): Output {
  if (!isPausedExecution(output)) return output;
  const pending = output.pending.map((call) =>
    isObject(call) && "args" in call ? { ...call, args: truncateToolOutput(call["args"], MAX_SHOWN_ARGS_CHARS) } : call
  );
  // The same shape with shorter arguments.
  return { ...output, pending } as Output;
}

/** Makes of an outcome what the model is given; `transform` takes the place of cutting a result. */
export function showOutcome(
  outcome: ExecutionOutcome,
  transform: (result: unknown) => unknown = truncateResult
): ExecutionOutcome {
  if (outcome.status === "paused") {
    return { ...truncatePausedExecutionOutput(outcome), message: WAITS };
  }
  if (outcome.status !== "completed") return outcome;
  const { result, edited } = outcome;
  return {
    ...outcome,
    ...(result !== undefined && { result: shownResult(result, transform) }),
    ...(edited && { edited: edited.map(({ seq, args }) => ({ seq, args: shownValue(args) })) })
  };
}

const WAITS =
  "The run waits for a human's approval and goes on by itself. Do not send the code again; tell the user what waits.";

function shownResult(result: unknown, transform: (result: unknown) => unknown): unknown {
  try {
    return shownValue(transform(result));
  } catch {
    // What cannot be shortened is shown as it is.
    return shownValue(result);
  }
}

/**
 * A result that is short enough for a model; a short one as it is. It keeps its shape, and what was cut says so.
 *
 * @example
 * const shown = truncateResult(rows, { maxChars: 4_000 });
 */
export function truncateResult(result: unknown, { maxChars = MAX_SHOWN_RESULT_CHARS } = {}): unknown {
  return truncateToolOutput(shownValue(result), maxChars);
}

/** The same for a text. */
export function truncateResponse(text: string, options: { maxChars?: number } = {}): string {
  return String(truncateResult(text, options));
}

const MAX_NOTE_CHARS = 4_000;

/** For a conversation in which the call is not shown any more. */
export function noteText(outcome: ExecutionOutcome): string {
  const text = `The execution ${outcome.executionId}, which waited for approval, has an outcome: ${JSON.stringify(outcome)}`;
  return truncateText(text, MAX_NOTE_CHARS);
}
