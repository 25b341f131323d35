import { ThinkError } from "../../util/errors.ts";

export class EmptySubmissionError extends ThinkError {
  constructor() {
    super({
      code: "submission-empty",
      message: "submitMessages requires at least one message",
      hint: "An empty text or an empty list leaves nothing to submit."
    });
  }
}

/** The id belongs to one submission and the key to another. */
export class SubmissionMismatchError extends ThinkError {
  constructor() {
    super({
      code: "submission-mismatch",
      message: "submissionId and idempotencyKey refer to different submissions",
      hint: "Give the pair that the first call had, or only one of the two."
    });
  }
}

export class InvalidSubmissionError extends ThinkError {
  constructor(problem: string) {
    super({
      code: "submission-invalid",
      message: `The submission could not be accepted: ${problem}.`,
      hint: "See the limits in docs/submissions.md."
    });
  }
}

/** More accepted submissions wait than are kept. */
export class SubmissionQueueFullError extends ThinkError {
  constructor(limit: number) {
    super({
      code: "submission-queue-full",
      message: "Too many submissions are waiting. Try again later.",
      hint: `At most ${limit} wait in one agent.`
    });
  }
}
