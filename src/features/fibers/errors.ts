// What fibers refuse, and why.
import { errorTable, ThinkError } from "../../util/errors.ts";

export const fiberErrors = errorTable(ThinkError, {
  OutsideFiberError: () => ({
    code: "outside-fiber",
    message: "stash() called outside a fiber",
    hint: "Call it inside the function given to runFiber or startFiber, or in something that function awaits."
  }),
  FiberOptionsError: (message: string) => ({
    code: "invalid-fiber-options",
    message,
    hint: "Leave an option out instead of passing an empty text; a fiberId and an idempotencyKey given together must belong together."
  }),
  /** The signal's reason in a cancelled fiber. */
  FiberCancelledError: (reason: string | undefined) => ({
    code: "fiber-cancelled",
    message: reason ?? "The fiber was cancelled."
  })
});
