// What fibers refuse, and why.
import { ThinkError } from "../../util/errors.ts";

export class OutsideFiberError extends ThinkError {
  constructor() {
    super({
      code: "outside-fiber",
      message: "stash() called outside a fiber",
      hint: "Call it inside the function given to runFiber or startFiber, or in something that function awaits."
    });
  }
}

export class FiberOptionsError extends ThinkError {
  constructor(message: string) {
    super({
      code: "invalid-fiber-options",
      message,
      hint: "Leave an option out instead of passing an empty text; a fiberId and an idempotencyKey given together must belong together."
    });
  }
}

/** The signal's reason in a cancelled fiber. */
export class FiberCancelledError extends ThinkError {
  constructor(reason: string | undefined) {
    super({ code: "fiber-cancelled", message: reason ?? "The fiber was cancelled." });
  }
}

/** A recovery handler of the framework took too long; it goes on, but is no longer waited for. */
export class FiberRecoveryTimeoutError extends ThinkError {
  constructor(timeoutMs: number) {
    super({
      code: "fiber-recovery-timeout",
      message: `Recovery was not finished after ${timeoutMs} ms.`,
      hint: "The bound is fiberRecoveryHookTimeoutMs. The handler is not cancelled; its late answer still counts."
    });
  }
}
