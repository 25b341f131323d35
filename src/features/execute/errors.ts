// What can be wrong with how code execution is set up. What goes wrong in a run is an outcome and no error.
import { ThinkError } from "../../util/errors.ts";

/** The tool, a connector or a snippet is not defined in a way that can run. */
export class ExecuteDefinitionError extends ThinkError {
  constructor(message: string, hint?: string) {
    super({ code: "execute-definition", message, hint });
  }
}

/** Some calls of a run could not be undone. */
export class RollbackError extends ThinkError {
  /** `problem`: why nothing could be undone, or what went wrong with each call that could not be. */
  constructor(executionId: string, problem: string | readonly string[]) {
    const isNothingDone = typeof problem === "string";
    super({
      code: "execute-rollback",
      message: isNothingDone
        ? `${executionId} cannot be rolled back: ${problem}.`
        : `${problem.length} of the calls of ${executionId} could not be undone: ${problem.join("; ")}`,
      hint: isNothingDone ? "Nothing was undone." : "The other calls were undone. Undo these by hand."
    });
  }
}
