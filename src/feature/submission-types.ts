// A submitted turn as its caller sees it.

export type ThinkSubmissionStatus = "pending" | "running" | "completed" | "aborted" | "skipped" | "error";

/** A JSON value. What it holds is the caller's word; `unknown` would leave the type of a stub's result empty. */
export type SubmissionValue = string | number | boolean | null | object;

/** What is known of a submission. Plain data; times are milliseconds since 1970. */
export interface ThinkSubmissionInspection {
  submissionId: string;
  idempotencyKey?: string;
  /** Of its turn: the submission's own id. */
  requestId?: string;
  status: ThinkSubmissionStatus;
  /** Why it failed, was cancelled or was skipped. */
  error?: string;
  metadata?: Record<string, SubmissionValue>;
  createdAt: number;
  startedAt?: number;
  completedAt?: number;
  /** Id of the answer, when one was stored. */
  messageId?: string;
  /** The parsed value, when the turn had structured output. */
  output?: SubmissionValue;
}

export interface SubmitMessagesOptions {
  /** Default: a new one. A second call with the same id submits nothing. */
  submissionId?: string;
  /** A second call with the same key submits nothing and finds the first submission, as long as that is kept. */
  idempotencyKey?: string;
  /** The caller's own data, given back by every inspection. */
  metadata?: Record<string, unknown>;
  /** Stamped on the user messages as `metadata.channel`. */
  channel?: string;
  /** Custom fields for the hooks. Default: those of the client's last request when the turn starts. */
  body?: Record<string, unknown>;
}

/** The submission as it was accepted, or as it is now if an earlier call was. */
export interface SubmitMessagesResult extends ThinkSubmissionInspection {
  accepted: boolean;
  /** The earlier call under this id or key asked something else. Its messages stay. */
  conflict?: true;
}
