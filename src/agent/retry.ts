// Trying again, in memory, with random growing pauses. Options are checked when work is accepted, not when it first
// fails. Work that outlives the process is kept by the owner of its row.
import { classifyError } from "../host/platform-errors.ts";
import type { Clock, Ids } from "../host/ports.ts";
import { backoffMs } from "../util/backoff.ts";
import { parseJson } from "../util/json.ts";
import { agentErrors } from "./errors.ts";

/** How often and how patiently something is tried. Missing fields come from the class's `static options.retry`. */
export interface RetryOptions {
  /** Calls in total, the first included. */
  maxAttempts?: number;
  /** Unit of the pause after attempt n, which is random below min(2^n * baseDelayMs, maxDelayMs). */
  baseDelayMs?: number;
  maxDelayMs?: number;
}

export type ResolvedRetry = Required<RetryOptions>;

export interface RetryCallOptions extends RetryOptions {
  /** Asked after each failure that leaves attempts; false makes the error final. */
  shouldRetry?: (error: unknown, nextAttempt: number) => boolean;
}

export interface RetryServices {
  clock: Clock;
  ids: Ids;
}

/** Options that have been validated, or were when they were stored. */
export interface AttemptOptions extends ResolvedRetry, RetryServices {
  shouldRetry?: ((error: unknown, nextAttempt: number) => boolean) | undefined;
  /** Number of the first attempt, when earlier ones were made in a previous life. Default 1. */
  firstAttempt?: number;
}

/** Fills what is missing and throws what is wrong, at once. */
export function validateRetry(given: RetryOptions | undefined, defaults: ResolvedRetry): ResolvedRetry {
  const resolved = {
    maxAttempts: given?.maxAttempts ?? defaults.maxAttempts,
    baseDelayMs: given?.baseDelayMs ?? defaults.baseDelayMs,
    maxDelayMs: given?.maxDelayMs ?? defaults.maxDelayMs
  };
  // Written as "not (good)" so that NaN is refused too.
  if (!(resolved.maxAttempts >= 1)) throw agentErrors.RetryOptionsError("retry.maxAttempts must be >= 1");
  if (!Number.isInteger(resolved.maxAttempts))
    throw agentErrors.RetryOptionsError("retry.maxAttempts must be an integer");
  for (const field of ["baseDelayMs", "maxDelayMs"] as const) {
    if (!(resolved[field] > 0)) throw agentErrors.RetryOptionsError(`retry.${field} must be > 0`);
    if (!Number.isFinite(resolved[field])) throw agentErrors.RetryOptionsError(`retry.${field} must be finite`);
  }
  if (resolved.baseDelayMs > resolved.maxDelayMs) {
    throw agentErrors.RetryOptionsError("retry.baseDelayMs must be <= retry.maxDelayMs");
  }
  return resolved;
}

/** Stored retry options; a text that cannot be read falls back to the class's. */
export function readRetry(text: string | null): RetryOptions | undefined {
  if (text === null) return undefined;
  const parsed = parseJson(text);
  // Written only after validateRetry has checked it.
  return parsed.ok ? (parsed.value as RetryOptions) : undefined;
}

/** The pause after attempt `attempt`: a random integer in [0, min(2^attempt * base, max)). */
export function retryPauseMs(attempt: number, options: ResolvedRetry, ids: Pick<Ids, "random">): number {
  const policy = { baseMs: options.baseDelayMs, maxMs: options.maxDelayMs, jitter: 1 };
  return Math.floor(backoffMs(attempt, policy, ids.random()));
}

/** Calls `work` with 1, 2, … until it succeeds; the last error is thrown. Wrong options are refused before the first. */
export async function retry<T>(
  work: (attempt: number) => T | Promise<T>,
  options: RetryCallOptions & RetryServices & { defaults: ResolvedRetry }
): Promise<T> {
  const { shouldRetry, clock, ids } = options;
  return runAttempts(work, { ...validateRetry(options, options.defaults), shouldRetry, clock, ids });
}

/** `retry` for options that were validated when the work was accepted. */
export async function runAttempts<T>(work: (attempt: number) => T | Promise<T>, policy: AttemptOptions): Promise<T> {
  for (let attempt = policy.firstAttempt ?? 1; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      if (attempt >= policy.maxAttempts) throw error;
      if (policy.shouldRetry && !policy.shouldRetry(error, attempt + 1)) throw error;
    }
    await policy.clock.sleep(retryPauseMs(attempt, policy, policy.ids));
  }
}

/** Whether stored work may be tried again in this process. Stands in for `shouldRetry`, which cannot be stored. */
export function isWorthRetrying(error: unknown): boolean {
  const kind = classifyError(error);
  return kind !== "reset" && kind !== "out-of-memory" && !isDeclaredFinal(error);
}

/** The platform ended the work, not the work itself: it must be kept and run again. */
export function isInterruption(error: unknown): boolean {
  const kind = classifyError(error);
  return kind === "reset" || (kind === "connection-lost" && !isDeclaredFinal(error));
}

/** The thrower said so: trying the same again is pointless. */
function isDeclaredFinal(error: unknown): boolean {
  return typeof error === "object" && error !== null && Reflect.get(error, "retryable") === false;
}
