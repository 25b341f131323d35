// A step is the model's answer to one call: a reply, a refusal, or silence. A step may also be a function of the call,
// which can look at the prompt, assert on it, wait, and then decide.
import { assertNever } from "../../util/assert-never.ts";
import { ScriptError } from "./errors.ts";
import { providerError, type ApiErrorOptions } from "./provider-error.ts";
import type { RecordedCall } from "./recorded-call.ts";
import type { ScriptPart, Stall } from "./script-part.ts";

export interface Reply {
  readonly kind: "reply";
  readonly parts: readonly ScriptPart[];
}

export interface Failure {
  readonly kind: "failure";
  readonly error: unknown;
}

export type Answer = Reply | Failure | Stall;
export type StepFunction = (call: RecordedCall) => Answer | Promise<Answer>;
export type Step = Answer | StepFunction;

/**
 * What the model answers to one call, part by part. Lists of parts are spread.
 *
 * @example reply(text("Hello "), text("world"), usage({ input: 10, output: 2 }))
 */
export function reply(...parts: readonly (ScriptPart | readonly ScriptPart[])[]): Reply {
  const flat = parts.flat();
  const end = flat.findIndex(endsStream);
  if (end >= 0 && flat.slice(end + 1).some((part) => !isSetting(part))) {
    throw new ScriptError(
      `Nothing can follow ${flat[end]?.kind === "stall" ? "stall()" : "the end of the stream"} in a reply.`,
      "To go on after a stop, use createGate() and gate.wait()."
    );
  }
  return { kind: "reply", parts: flat };
}

/**
 * The call itself is refused: nothing is streamed. With options the error becomes an API error with that status,
 * which the SDK may retry; every retry takes the next step of the script.
 *
 * @example fail(new Error("slow down"), { statusCode: 429, retryAfterMs: 0 })
 */
export function fail(error: unknown, options?: ApiErrorOptions): Failure {
  return { kind: "failure", error: providerError(error, options) };
}

function endsStream(part: ScriptPart): boolean {
  return part.kind === "stall" || part.kind === "break" || part.kind === "cut";
}

function isSetting(part: ScriptPart): boolean {
  switch (part.kind) {
    case "usage":
    case "finish":
    case "response":
    case "warning":
      return true;
    case "text":
    case "reasoning":
    case "tool-call":
    case "tool-result":
    case "emit":
    case "wait":
    case "stall":
    case "break":
    case "cut":
      return false;
    default:
      return assertNever(part);
  }
}
