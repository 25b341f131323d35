// What people are told about a turn that failed: enough to act on, and nothing that a provider said, which may hold keys.
// Pure.
import { APICallError } from "ai";
import { isFailureOnPurpose } from "./offline/failure-on-purpose.ts";

/** An error thrown by a provider may be wrapped; deeper than this no provider wraps. */
const MAX_DEPTH = 8;

export function failureForPeople(error: unknown): Error {
  const refusal = refusalIn(error);
  if (refusal && isFailureOnPurpose(refusal)) return new Error(refusal.message);
  const status = refusal?.statusCode;
  if (status === undefined) return isOfThink(error) ? error : new Error("The turn failed. Please try again.");
  if (status === 429) return new Error("The model's provider has had too many requests (429). Please try again later.");
  if (status >= 500) return new Error(`The model's provider has a problem of its own (${status}). Please try again.`);
  return new Error(`The model's provider refused the request (${status}).`);
}

/** Such errors have a message for people and a hint for operators; any other is a bug, and its text is for the log. */
function isOfThink(error: unknown): error is Error {
  return error instanceof Error && "code" in error && "hint" in error;
}

/** What a provider answered instead of a stream. */
function refusalIn(error: unknown): APICallError | undefined {
  let current = error;
  for (let depth = 0; depth < MAX_DEPTH && current instanceof Error; depth += 1) {
    if (APICallError.isInstance(current) && current.statusCode !== undefined) return current;
    current = current.cause;
  }
  return undefined;
}
