// What a failed call to a provider means for the message: whether the chat has it, and when to try again.
import { readFields } from "./fields.ts";

export type DeliveryProblem =
  /** The message was not posted, and may be posted later. */
  | { readonly kind: "rate-limited"; readonly retryAfterMs: number }
  /** The provider answered that it failed on its side. */
  | { readonly kind: "unavailable" }
  /** The provider will not take the message, however often it is tried. */
  | { readonly kind: "rejected" }
  /** The provider did not answer: the message may have been posted. */
  | { readonly kind: "unknown" };

const DEFAULT_RETRY_AFTER_MS = 1_000;
const REJECTED = new Set(["VALIDATION_ERROR", "PERMISSION_DENIED", "NOT_FOUND", "AUTH_FAILED", "RESOURCE_NOT_FOUND"]);

/** Classifies an error by the codes of the Chat SDK's adapters, and by the HTTP statuses of others. */
export function classifyDeliveryError(error: unknown): DeliveryProblem {
  const code = error instanceof Error ? readFields(error)["code"] : undefined;
  const status = readStatus(error);
  if (code === "RATE_LIMITED" || status === 429) return { kind: "rate-limited", retryAfterMs: readRetryAfter(error) };
  if (typeof code === "string" && REJECTED.has(code)) return { kind: "rejected" };
  if (status !== undefined && status >= 500) return { kind: "unavailable" };
  if (status !== undefined && status >= 400) return { kind: "rejected" };
  return { kind: "unknown" };
}

function readStatus(error: unknown): number | undefined {
  const { status, statusCode } = readFields(error);
  const known = [status, statusCode].find((value) => typeof value === "number");
  if (known !== undefined) return known;
  // Adapters put the status of an answer that has no class of its own into the message.
  const said = error instanceof Error ? /\bstatus(?: code)?:? (\d{3})\b/i.exec(error.message) : null;
  return said ? Number(said[1]) : undefined;
}

function readRetryAfter(error: unknown): number {
  const seconds: unknown = error instanceof Error ? readFields(error)["retryAfter"] : undefined;
  return typeof seconds === "number" && Number.isFinite(seconds) && seconds >= 0
    ? seconds * 1_000
    : DEFAULT_RETRY_AFTER_MS;
}

/** The message cannot be posted now. */
export class RetryLaterError extends Error {
  readonly waitMs: number;

  constructor(waitMs: number, cause: unknown) {
    super("The provider asked to wait.", { cause });
    this.waitMs = waitMs;
  }
}

/** The message can never be posted. */
export class GivenUpError extends Error {
  constructor(cause: unknown) {
    super("The provider does not take the message.", { cause });
  }
}
