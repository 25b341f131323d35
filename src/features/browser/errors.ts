import { errorTable, ThinkError } from "../../util/errors.ts";

export const browserErrors = errorTable(ThinkError, {
  /** `browser` has a value that cannot be used, or the browser has no address. */
  BrowserSetupError: (problem: string, hint: string) => ({ code: "browser-setup", message: problem, hint }),
  /** An action in the browser cannot be done. The model reads the message. */
  BrowserActionError: (reason: string, cause?: unknown) => ({
    code: "browser-failed",
    message: reason,
    hint: "The model was given this text as the result of its call. What the browser may do is set with `browser`.",
    cause
  })
});

/** Whether it is something that the model is told, and not a defect. */
export function isActionError(error: unknown): error is ThinkError {
  return error instanceof ThinkError && error.code === "browser-failed";
}
