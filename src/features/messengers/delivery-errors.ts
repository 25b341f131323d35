// What a failed call to a provider means for the message: whether it is there, and when to try again.
import { isObject } from "../../util/json.ts";

export type DeliveryProblem =
  /** Not posted; allowed again later. */
  | { readonly kind: "rate-limited"; readonly retryAfterMs: number }
  /** The provider answered that it failed on its side. */
  | { readonly kind: "unavailable" }
  /** The provider will not take it, however often it is tried. */
  | { readonly kind: "rejected" }
  /** No answer: it may have been posted. */
  | { readonly kind: "unknown" };

const DEFAULT_RETRY_AFTER_MS = 1_000;
const REJECTED = new Set(["VALIDATION_ERROR", "PERMISSION_DENIED", "NOT_FOUND", "AUTH_FAILED", "RESOURCE_NOT_FOUND"]);

/** Reads the errors of the Chat SDK's adapters, and HTTP statuses of others. */
export function classifyDeliveryError(error: unknown): DeliveryProblem {
  const fields: Record<string, unknown> = isObject(error) ? error : {};
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  const status = statusOf(error, fields);
  if (code === "RATE_LIMITED" || status === 429) return { kind: "rate-limited", retryAfterMs: retryAfterOf(error) };
  if (typeof code === "string" && REJECTED.has(code)) return { kind: "rejected" };
  if (status !== undefined && status >= 500) return { kind: "unavailable" };
  if (status !== undefined && status >= 400) return { kind: "rejected" };
  return { kind: "unknown" };
}

function statusOf(error: unknown, fields: Record<string, unknown>): number | undefined {
  for (const name of ["status", "statusCode"]) {
    const value = error instanceof Error ? Reflect.get(error, name) : fields[name];
    if (typeof value === "number") return value;
  }
  // Adapters put the status of an answer that has no class of its own into the message.
  const said = error instanceof Error ? /\bstatus(?: code)?:? (\d{3})\b/i.exec(error.message) : null;
  return said ? Number(said[1]) : undefined;
}

function retryAfterOf(error: unknown): number {
  const seconds: unknown = error instanceof Error ? Reflect.get(error, "retryAfter") : undefined;
  return typeof seconds === "number" && Number.isFinite(seconds) && seconds >= 0
    ? seconds * 1_000
    : DEFAULT_RETRY_AFTER_MS;
}

/** Not now. */
export class RetryLaterError extends Error {
  readonly waitMs: number;

  constructor(waitMs: number, cause: unknown) {
    super("The provider asked to wait.", { cause });
    this.waitMs = waitMs;
  }
}

/** Never. */
export class GivenUpError extends Error {
  constructor(cause: unknown) {
    super("The provider does not take the message.", { cause });
  }
}

/** The beginning of a streamed message may be in the chat or not. */
export class UncertainPostError extends Error {}
