// What becomes of a call that the code makes, given what the log holds at its number. Pure and total.
import type { UnknownOutcome } from "./connector.ts";
import type { ExecutionStatus, LogEntry } from "./execution-store.ts";

export type LoggedStep =
  /** The run does not go on: nothing is recorded and nothing happens. */
  | { readonly do: "refuse" }
  /** The code does not repeat what it did. */
  | { readonly do: "diverge" }
  | { readonly do: "replay"; readonly result: string | null; readonly order: number }
  | { readonly do: "rethrow"; readonly error: string; readonly order: number }
  /** A read without a recorded result; its answer keeps its place. */
  | { readonly do: "read-again"; readonly order: number }
  /** It is the first time: checked, perhaps asked about, recorded, run. */
  | { readonly do: "begin" }
  /** Decided before: recorded as executing, run. */
  | { readonly do: "run" }
  /** It waits, still or again. */
  | { readonly do: "wait"; readonly isAskedAgain: boolean }
  /** It may have run, and its tool says that it must not be repeated. */
  | { readonly do: "give-up" };

export interface LoggedCall {
  readonly status: ExecutionStatus;
  /** Calls that the code makes before it gets its next answer belong together: they may wait together. */
  readonly isSameBatch: boolean;
  readonly entry: LogEntry | undefined;
  readonly connector: string;
  readonly method: string;
  readonly args: string;
  /** Undefined: the default for the entry. */
  readonly onUnknownOutcome: UnknownOutcome | undefined;
}

export function decideCall(call: LoggedCall): LoggedStep {
  const { status, entry, isSameBatch } = call;
  if (status !== "running" && !(status === "paused" && isSameBatch)) return { do: "refuse" };
  if (!entry) return { do: "begin" };
  const isSame = entry.connector === call.connector && entry.method === call.method && entry.args === call.args;
  if (!isSame) return { do: "diverge" };
  switch (entry.state) {
    case "applied":
      return entry.isEphemeral
        ? { do: "read-again", order: entry.order ?? 0 }
        : { do: "replay", result: entry.result, order: entry.order ?? 0 };
    case "failed":
      return { do: "rethrow", error: entry.result ?? "{}", order: entry.order ?? 0 };
    case "pending":
      return { do: "wait", isAskedAgain: false };
    case "approved":
      return { do: "run" };
    case "executing":
      return afterDeath(call.onUnknownOutcome ?? defaultRule(entry));
    case "reverted":
    case "error":
      return { do: "refuse" };
  }
}

/** Nothing is repeated that does not say that it may be: a read of every pass does. */
function defaultRule({ requiresApproval, isEphemeral }: LogEntry): UnknownOutcome {
  if (requiresApproval) return "ask";
  return isEphemeral ? "retry" : "fail";
}

/** The process died between the effect and its record. */
function afterDeath(rule: UnknownOutcome): LoggedStep {
  if (rule === "retry") return { do: "run" };
  return rule === "ask" ? { do: "wait", isAskedAgain: true } : { do: "give-up" };
}
