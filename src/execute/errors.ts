// What can be wrong with how code execution is set up. What goes wrong in a run is an outcome and no error.
import { ThinkError } from "../util/errors.ts";

/** The tool, a connector or a snippet is not defined in a way that can run. */
export class ExecuteDefinitionError extends ThinkError {
  constructor(message: string, hint?: string) {
    super({ code: "execute-definition", message, ...(hint !== undefined && { hint }) });
  }
}

/** Some calls of a run could not be undone. */
export class RollbackError extends ThinkError {
  constructor(executionId: string, failures: readonly string[]) {
    super({
      code: "execute-rollback",
      message: `${failures.length} of the calls of ${executionId} could not be undone: ${failures.join("; ")}`,
      hint: "The other calls were undone. Undo these by hand."
    });
  }
}
