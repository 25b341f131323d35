// Builders for what goes wrong, or takes time, inside a stream.
import { abortable } from "./abortable.ts";
import { ScriptError } from "./errors.ts";
import { providerError, type ApiErrorOptions } from "./provider-error.ts";
import type { ScriptPart, Stall, StreamBreak } from "./script-part.ts";

/**
 * Hangs until the call is aborted. As a part of a reply the stream goes silent there; as a step of its own the model
 * never even answers.
 *
 * @example scriptedModel([reply(text("It is "), stall()), stall()])
 */
export function stall(): Stall {
  return { kind: "stall" };
}

/**
 * An error part in a stream that otherwise goes on, as providers report overload. The reply finishes with `error`.
 * With options the error becomes an API error with that status.
 *
 * @example reply(text("par"), failInBand(new Error("overloaded"), { statusCode: 529 }))
 */
export function failInBand(error: unknown, options?: ApiErrorOptions): ScriptPart {
  return { kind: "emit", part: { type: "error", error: providerError(error, options) } };
}

/**
 * The stream itself fails here.
 *
 * @example reply(text("par"), breakStream(new Error("socket hang up")))
 */
export function breakStream(error: unknown): StreamBreak {
  return { kind: "break", error };
}

/**
 * The stream ends here without a finish part, as when a proxy closes the connection politely.
 *
 * @example reply(text("par"), cutStream())
 */
export function cutStream(): StreamBreak {
  return { kind: "cut" };
}

/**
 * Goes on when the promise resolves. An abort ends the wait. In workerd the function must make its promise itself: to
 * be released from another object, use a gate.
 *
 * @example reply(text("a"), waitFor(() => database.ready), text("b"))
 */
export function waitFor(promise: () => Promise<unknown>): ScriptPart {
  return {
    kind: "wait",
    until: async ({ signal }) => {
      await abortable(promise(), signal);
    }
  };
}

/**
 * Goes on after this time on the clock given in the model's options. Never waits for real time unless that clock does.
 *
 * @example scriptedModel([reply(text("a"), after(30_000), text("b"))], { clock })
 */
export function after(ms: number): ScriptPart {
  return {
    kind: "wait",
    until: async ({ signal, clock }) => {
      if (clock === undefined) {
        throw new ScriptError("after() needs a clock.", "Pass { clock } to scriptedModel(), e.g. the test host's.");
      }
      await abortable(clock.sleep(ms, signal), signal);
    }
  };
}
