// The outcomes of a parked action other than its own result, and how an outcome is told when its place in the
// transcript is gone. Pure.
import type { ParkedCall } from "../think/actions-port.ts";
import type { Json } from "../util/json.ts";
import { truncateText } from "../util/truncate-value.ts";

export const DEFAULT_REJECTION = "Rejected by user";
/** Characters of a note. */
export const MAX_NOTE_CHARS = 4_000;

export function notPending(executionId: string, why = "it is no longer pending"): { [key: string]: Json } {
  return { status: "error", executionId, error: `Nothing was done: ${why}.` };
}

export function failedOutcome({ executionId, action }: ParkedCall, error: string): { [key: string]: Json } {
  return { status: "error", executionId, action, error };
}

export function rejectedOutcome({ executionId, action }: ParkedCall, reason: string | null): { [key: string]: Json } {
  return { status: "rejected", executionId, action, reason: reason ?? DEFAULT_REJECTION };
}

export function expiredOutcome({ executionId, action }: ParkedCall): { [key: string]: Json } {
  return { status: "expired", executionId, action };
}

export function noteText({ action, executionId }: ParkedCall, outcome: Json | undefined): string {
  const told = outcome === undefined ? "It returned nothing." : JSON.stringify(outcome);
  return truncateText(
    `The action "${action}" (${executionId}), which waited for approval, has an outcome: ${told}`,
    MAX_NOTE_CHARS
  );
}
