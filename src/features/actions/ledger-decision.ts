// What the ledger's row says about a call that wants to run. Total and pure; acting on it is ledger.ts.
import { UNKNOWN_INPUT_HASH } from "./action-tables.ts";

/** What is known under the call's key. */
export interface LedgerState {
  readonly status: "pending" | "settled" | "refused";
  readonly action: string;
  readonly inputHash: string;
  /** Last sign of life of the execution. */
  readonly leasedAt: number;
  readonly attempt: number;
}

/** The call that wants to run. */
export interface LedgerClaim {
  readonly action: string;
  readonly inputHash: string;
  /** The class named the key itself: its word that running the effect again under it is safe. */
  readonly keyIsExplicit: boolean;
  readonly nowMs: number;
  /** False: never run again what is not settled. */
  readonly leaseMs: number | false;
  /** This process is executing under the key right now. */
  readonly isRunningHere: boolean;
}

export type LedgerVerdict =
  | { readonly do: "run" }
  | { readonly do: "rerun"; readonly ageMs: number }
  | { readonly do: "replay" }
  | { readonly do: "join" }
  | { readonly do: "conflict" }
  /** `retryAt`: when running again becomes safe; null: never by itself. */
  | { readonly do: "pending"; readonly retryAt: number | null };

/** An effect whose execution died this often is not tried again by itself: it may be what kills the process. */
export const MAX_ATTEMPTS = 5;

export function decideClaim(row: LedgerState | undefined, claim: LedgerClaim): LedgerVerdict {
  if (row === undefined) return { do: "run" };
  const isCarried = row.inputHash === UNKNOWN_INPUT_HASH;
  if (row.action !== claim.action || (!isCarried && row.inputHash !== claim.inputHash)) return { do: "conflict" };
  switch (row.status) {
    case "settled":
    case "refused":
      return { do: "replay" };
    case "pending":
      return claim.isRunningHere ? { do: "join" } : decidePending(row, claim);
  }
}

function decidePending(row: LedgerState, claim: LedgerClaim): LedgerVerdict {
  // One that came over from the original is never run again by itself: with which input it began is not known.
  const isCarried = row.inputHash === UNKNOWN_INPUT_HASH;
  const canRetry = !isCarried && claim.keyIsExplicit && claim.leaseMs !== false && row.attempt < MAX_ATTEMPTS;
  if (!canRetry) return { do: "pending", retryAt: null };
  const ageMs = claim.nowMs - row.leasedAt;
  if (ageMs > claim.leaseMs) return { do: "rerun", ageMs };
  return { do: "pending", retryAt: row.leasedAt + claim.leaseMs + 1 };
}
