// The submissions a client knows of: what the agent sent when it connected, and every change since. Pure.
import { isObject } from "../util/json.ts";

/** A turn that was submitted, by this client or from elsewhere. */
export interface ClientSubmission {
  readonly submissionId: string;
  readonly status: "pending" | "running" | "completed" | "aborted" | "skipped" | "error";
  readonly error?: string;
  /** In milliseconds since 1970. */
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly completedAt?: number;
  /** Id of the answer, when one was stored. */
  readonly messageId?: string;
}

/** Submissions that are shown; older ones are left out. */
const MAX_SHOWN = 100;

/** Newest first. */
export function withSubmissions(
  known: readonly ClientSubmission[],
  changed: readonly ClientSubmission[]
): readonly ClientSubmission[] {
  const byId = new Map([...known, ...changed].map((submission) => [submission.submissionId, submission]));
  return [...byId.values()].sort((first, second) => second.createdAt - first.createdAt).slice(0, MAX_SHOWN);
}

/** As the agent sends them. */
export function submissionList(value: unknown): ClientSubmission[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const isOne = (one: unknown) =>
    isObject(one) && typeof one["submissionId"] === "string" && typeof one["createdAt"] === "number";
  return value.every(isOne) ? (value as ClientSubmission[]) : undefined;
}
