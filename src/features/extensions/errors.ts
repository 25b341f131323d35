// What can be wrong with an extension.
import { ThinkError } from "../../util/errors.ts";

/** It cannot be loaded, or cannot do what it was asked. The message names it. */
export class ExtensionError extends ThinkError {
  constructor(message: string, cause?: unknown) {
    super({
      code: "extension-invalid",
      message,
      hint: "An extension is an object with tools or hooks, loaded in an isolate of its own.",
      cause
    });
  }
}
