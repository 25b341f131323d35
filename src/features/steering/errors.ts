import { errorTable, ThinkError } from "../../util/errors.ts";

export const steeringErrors = errorTable(ThinkError, {
  /** `onSteer` refused the message. */
  SteerRefusedError: (reason: string | undefined) => ({
    code: "steer-refused",
    message: reason ?? "This message is not taken while an answer is being given.",
    hint: "onSteer() of the agent's class refused it. Nothing was stored."
  }),
  /** `onSteer` failed or took too long. */
  SteerHookError: (cause: unknown) => ({
    code: "steer-hook-failed",
    message: "The message could not be taken. Please try again.",
    hint: "onSteer() threw, or did not answer within 10 seconds. Nothing was stored.",
    cause
  }),
  EmptySteerError: () => ({
    code: "steer-empty",
    message: "There is nothing in this message.",
    hint: "A steer or follow-up is a text, a message of the user, or a list of them."
  }),
  SteerIdTakenError: () => ({
    code: "steer-id-taken",
    message: "A request of this id exists already. Nothing was changed.",
    hint: "The id of a steer or follow-up is also the request id of the turn that it becomes."
  }),
  MalformedSteerError: (problem: string) => ({
    code: "steer-malformed",
    message: `The command could not be read: ${problem}.`,
    hint: "docs/chat.md has the commands for messages that wait."
  })
});
