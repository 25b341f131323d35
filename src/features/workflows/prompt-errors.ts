import type { ThinkSubmissionStatus } from "../../feature/submission-types.ts";
import { ThinkError } from "../../util/errors.ts";

interface PromptFailure {
  readonly submissionId: string;
  readonly status: ThinkSubmissionStatus;
  readonly message: string;
  readonly code: string;
  readonly hint?: string;
  readonly cause?: unknown;
}

/** A prompt of a workflow did not come to the result it was asked for. */
export class ThinkPromptError extends ThinkError {
  readonly submissionId: string;
  /** How its submission ended. */
  readonly status: ThinkSubmissionStatus;

  constructor({ submissionId, status, message, code, hint, cause }: PromptFailure) {
    super({ code, message, hint, cause });
    this.submissionId = submissionId;
    this.status = status;
  }
}

/** Its turn failed. */
export class ThinkPromptFailedError extends ThinkPromptError {
  constructor(submissionId: string, message = "The prompt failed.") {
    super({ submissionId, status: "error", code: "workflow-prompt-failed", message });
  }
}

/** The key of a prompt was used for another prompt, or another shape of output. */
export class ThinkPromptReusedError extends ThinkPromptError {
  constructor(submissionId: string) {
    super({
      submissionId,
      status: "error",
      code: "workflow-prompt-reused",
      message: "A prompt with other words or another output was submitted under this step's name before.",
      hint: "Change the step's name, or give it a key that differs."
    });
  }
}

/** The submission was cancelled, or its turn was stopped. */
export class ThinkPromptAbortedError extends ThinkPromptError {
  constructor(submissionId: string, reason: string | undefined) {
    const message = `The prompt was cancelled${reason === undefined ? "" : `: ${reason}`}.`;
    super({ submissionId, status: "aborted", code: "workflow-prompt-aborted", message });
  }
}

/** The agent's conversation was cleared before the prompt could run. */
export class ThinkPromptSkippedError extends ThinkPromptError {
  constructor(submissionId: string) {
    const message = "The prompt was skipped: the conversation was cleared before it could run.";
    super({ submissionId, status: "skipped", code: "workflow-prompt-skipped", message });
  }
}

/** The answer did not come in time. */
export class ThinkPromptTimeoutError extends ThinkPromptError {
  constructor(submissionId: string, cause: unknown) {
    super({
      submissionId,
      status: "error",
      code: "workflow-prompt-timeout",
      message: "The prompt was not answered in time.",
      hint: "Raise the step's timeout. Its submission was cancelled, unless cancelOnTimeout is false.",
      cause
    });
  }
}

/** The answer does not have the shape that was asked for. */
export class ThinkPromptValidationError extends ThinkPromptError {
  constructor(submissionId: string, cause: unknown) {
    super({
      submissionId,
      status: "error",
      code: "workflow-prompt-output",
      message: "The model's answer does not have the shape that the prompt asked for.",
      hint: "The cause lists what is wrong with it. Describe the fields in the schema, or make it less strict.",
      cause
    });
  }
}

/** No human decided in time. */
export class ThinkApprovalTimeoutError extends ThinkError {
  constructor(
    readonly executionId: string,
    cause: unknown
  ) {
    super({
      code: "workflow-approval-timeout",
      message: "The question was not decided in time.",
      hint: "Raise the step's timeout. It is no longer among the pending approvals.",
      cause
    });
  }
}
