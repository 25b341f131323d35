import { expect, test } from "vitest";
import {
  decideClaim,
  MAX_ATTEMPTS,
  type LedgerClaim,
  type LedgerState,
  type LedgerVerdict
} from "./ledger-decision.ts";

const NOW = 1_000_000;
const row: LedgerState = { status: "pending", action: "a", inputHash: "h", leasedAt: NOW - 1_000, attempt: 1 };
const claim: LedgerClaim = {
  action: "a",
  inputHash: "h",
  keyIsExplicit: true,
  nowMs: NOW,
  leaseMs: 300_000,
  isRunningHere: false
};
const stale = { ...row, leasedAt: NOW - 300_001 };

test.each<[string, LedgerState | undefined, Partial<LedgerClaim>, LedgerVerdict]>([
  ["an unknown key runs", undefined, {}, { do: "run" }],
  ["a settled key is replayed", { ...row, status: "settled" }, {}, { do: "replay" }],
  ["a refused key is replayed", { ...row, status: "refused" }, {}, { do: "replay" }],
  ["a settled key with another input conflicts", { ...row, status: "settled" }, { inputHash: "x" }, { do: "conflict" }],
  ["a settled key of another action conflicts", { ...row, status: "settled" }, { action: "b" }, { do: "conflict" }],
  ["a pending key with another input conflicts", stale, { inputHash: "x" }, { do: "conflict" }],
  ["a running key with another input conflicts", row, { inputHash: "x", isRunningHere: true }, { do: "conflict" }],
  ["a running key is joined", row, { isRunningHere: true }, { do: "join" }],
  ["a running key is joined however old", stale, { isRunningHere: true }, { do: "join" }],
  ["a fresh pending key waits", row, {}, { do: "pending", retryAt: row.leasedAt + 300_001 }],
  ["a stale explicit key runs again", stale, {}, { do: "rerun", ageMs: 300_001 }],
  [
    "a key exactly as old as the lease waits",
    { ...row, leasedAt: NOW - 300_000 },
    {},
    { do: "pending", retryAt: NOW + 1 }
  ],
  ["a stale call key never runs", stale, { keyIsExplicit: false }, { do: "pending", retryAt: null }],
  ["a stale key with the lease off never runs", stale, { leaseMs: false }, { do: "pending", retryAt: null }],
  ["a key that died too often never runs", { ...stale, attempt: MAX_ATTEMPTS }, {}, { do: "pending", retryAt: null }]
])("%s", (_promise, state, change, verdict) => {
  expect(decideClaim(state, { ...claim, ...change })).toEqual(verdict);
});
