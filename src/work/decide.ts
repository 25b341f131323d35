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

interface Judged {
  readonly policy: RetryPolicy;
  readonly now: number;
  /** In [0, 1]: matters to pauses that are random. */
  readonly random?: number;
}

/** `failures` counts those before this one. */
export function afterFailure(item: Troubled, error: unknown, { policy, now, random }: Judged): Retry {
  const { backoff, maxAttempts = Infinity, isFinal, pauseMs } = policy;
  if (item.failures + 1 >= maxAttempts || isFinal?.(error) || isTooOld(item, policy, now)) return "given-up";
  return { at: now + Math.max(Math.floor(backoffMs(item.failures, backoff, random)), pauseMs?.(error) ?? 0) };
}

/** `starts` counts the claim that died. */
export function afterDeath(item: Troubled, { policy, now, random }: Judged): Retry {
  const { backoff, afterDeaths = backoff, quickRestarts = QUICK_RESTARTS } = policy;
  if (item.starts < quickRestarts) return { at: now };
  if (isTooOld(item, policy, now)) return "given-up";
  return { at: now + Math.floor(backoffMs(item.starts - quickRestarts, afterDeaths, random)) };
}

/** The process goes on: the item is never tried again at once, or it could be a hot loop. */
export function afterInterruption(item: Troubled, { policy, now, random }: Judged): Retry {
  const { backoff, afterDeaths = backoff, quickRestarts = QUICK_RESTARTS } = policy;
  if (item.starts >= quickRestarts && isTooOld(item, policy, now)) return "given-up";
  return { at: now + Math.floor(backoffMs(item.starts - 1, afterDeaths, random)) };
}

function isTooOld({ troubledSince }: Troubled, { maxAgeMs = Infinity }: RetryPolicy, now: number): boolean {
  return troubledSince !== null && now - troubledSince > maxAgeMs;
}
