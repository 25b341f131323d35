import { errorTable, ThinkError } from "../../util/errors.ts";

export const submissionErrors = errorTable(ThinkError, {
  EmptySubmissionError: () => ({
    code: "submission-empty",
    message: "submitMessages requires at least one message",
    hint: "An empty text or an empty list leaves nothing to submit."
  }),
  /** The id belongs to one submission and the key to another. */
  SubmissionMismatchError: () => ({
    code: "submission-mismatch",
    message: "submissionId and idempotencyKey refer to different submissions",
    hint: "Give the pair that the first call had, or only one of the two."
  }),
  InvalidSubmissionError: (problem: string) => ({
    code: "submission-invalid",
    message: `The submission could not be accepted: ${problem}.`,
    hint: "See the limits in docs/submissions.md."
  })
});

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
