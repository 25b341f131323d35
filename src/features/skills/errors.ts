// What is wrong with a skill, or with what runs its scripts.
import { ThinkError } from "../../util/errors.ts";

/** The front matter of a SKILL.md cannot be read. The message has the line. */
export class SkillFormatError extends ThinkError {
  constructor(
    readonly line: number,
    reason: string
  ) {
    super({
      code: "skill-format",
      message: `SKILL.md:${line}: ${reason}`,
      hint: "The front matter is YAML between two lines ---, with a name and a description."
    });
  }
}

/** A script could not be started, ended with an error, or was stopped. */
export class SkillScriptError extends ThinkError {
  constructor(message: string, options: { readonly hint?: string; readonly cause?: unknown } = {}) {
    const { hint = "The message is what the model reads.", cause } = options;
    super({ code: "skill-script", message, hint, cause });
  }
}
