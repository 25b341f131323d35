// What becomes of an item whose run failed, or whose process died. Pure.
import { backoffMs } from "../util/backoff.ts";
import type { RetryPolicy } from "./kind.ts";

/** Deaths in a row that are taken for bad luck: a deploy, an eviction. */
const QUICK_RESTARTS = 3;

export interface Troubled {
  readonly starts: number;
  readonly failures: number;
  /** When it first failed or died, of the failures and deaths in a row. */
  readonly troubledSince: number | null;
}

/** When it is tried again; "given-up": never. */
export type Retry = { readonly at: number } | "given-up";

/** `failures` counts those before this one. */
export function afterFailure(
  item: Troubled,
  error: unknown,
  { policy, now }: { policy: RetryPolicy; now: number }
): Retry {
  const { backoff, maxAttempts = Infinity, isFinal } = policy;
  if (item.failures + 1 >= maxAttempts || isFinal?.(error) || isTooOld(item, policy, now)) return "given-up";
  return { at: now + backoffMs(item.failures, backoff) };
}

/** `starts` counts the claim that died. */
export function afterDeath(item: Troubled, { policy, now }: { policy: RetryPolicy; now: number }): Retry {
  const { backoff, quickRestarts = QUICK_RESTARTS } = policy;
  if (item.starts < quickRestarts) return { at: now };
  if (isTooOld(item, policy, now)) return "given-up";
  return { at: now + backoffMs(item.starts - quickRestarts, backoff) };
}

function isTooOld({ troubledSince }: Troubled, { maxAgeMs = Infinity }: RetryPolicy, now: number): boolean {
  return troubledSince !== null && now - troubledSince > maxAgeMs;
}
