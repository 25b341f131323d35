// A submission as its caller sees it, and what its status is. A submission is a turn: while that turn is open, its records
// are the status; before that the accepted row is all there is; when the turn ends, its outcome is written to that row in
// the same transaction. Pure: nothing here stores a status that could disagree with the turn's.
import type { ThinkSubmissionInspection, ThinkSubmissionStatus } from "../../feature/submission-types.ts";
import type { TurnFold } from "../../journal/folds/turn-fold.ts";
import type { TurnSettled } from "../../journal/records.ts";

export type TerminalStatus = Exclude<ThinkSubmissionStatus, "pending" | "running">;

export const TERMINAL: readonly TerminalStatus[] = ["completed", "aborted", "skipped", "error"];

/** How a submission ended, as it is kept. */
export interface SubmissionEnd {
  readonly status: TerminalStatus;
  readonly at: number;
  /** When its turn was admitted; null: it never was. */
  readonly startedAt: number | null;
  readonly error: string | null;
  readonly messageId: string | null;
  readonly output: unknown;
}

/** What `cancel` records when the caller gives no reason. */
export const UNNAMED_CANCEL = "cancelled";

const STATUS: Readonly<Record<TurnSettled["outcome"], TerminalStatus>> = {
  completed: "completed",
  failed: "error",
  aborted: "aborted",
  skipped: "skipped"
};

/** Skipped by a clear or reset, before or after it was admitted. */
export const SKIPPED_ERROR = "The submission was skipped: the conversation was cleared or reset before it could run.";

/** How an open turn's submission stands: a cancel is final at once, though the turn still has to put its answer away. */
export function openStatus({
  cancel,
  admission
}: TurnFold): Pick<ThinkSubmissionInspection, "status" | "startedAt" | "completedAt" | "error"> {
  const startedAt = admission === null ? {} : { startedAt: admission.at };
  if (!cancel) return { status: "running", ...startedAt };
  const error = cancelError(cancel.reason);
  return { status: "aborted", ...startedAt, completedAt: cancel.at, ...(error !== null && { error }) };
}

/** The end of a settled turn. A cancel that was recorded stays the outcome, whatever the turn came to meanwhile. */
export function submissionEnd({ cancel, admission, outcome }: TurnFold): SubmissionEnd | undefined {
  if (!outcome) return undefined;
  const status = cancel ? "aborted" : STATUS[outcome.outcome];
  return {
    status,
    at: cancel?.at ?? outcome.at,
    startedAt: admission?.at ?? null,
    error: cancel ? cancelError(cancel.reason) : errorOf(status, outcome),
    messageId: outcome.messageStored && admission ? admission.messageId : null,
    output: status === "completed" ? (outcome.output ?? undefined) : undefined
  };
}

function errorOf(status: TerminalStatus, { error, reason }: TurnSettled): string | null {
  if (error) return error.message;
  if (status === "skipped") return SKIPPED_ERROR;
  return status === "aborted" && reason !== null && reason !== UNNAMED_CANCEL ? reason : null;
}

function cancelError(reason: string | null): string | null {
  return reason === UNNAMED_CANCEL ? null : reason;
}

/** A caller's reason as text. Whatever it is, it must not fail the cancel. */
export function reasonText(reason: unknown): string | undefined {
  if (reason === undefined || reason === null) return undefined;
  if (typeof reason === "string") return reason;
  if (reason instanceof Error) return reason.message;
  try {
    return JSON.stringify(reason) ?? String(reason);
  } catch {
    return String(reason);
  }
}
