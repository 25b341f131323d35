// What keeps a folder of skills from being built. What is wrong with one skill is a warning instead.
import { ThinkError } from "../../util/errors.ts";

export class SkillFolderError extends ThinkError {
  constructor(folder: string, wantedBy: string) {
    super({
      code: "skill-folder",
      message: `There is no folder of skills at ${folder}, which ${wantedBy} names.`,
      hint: "Each skill is a folder with a SKILL.md in it: skills/<name>/SKILL.md"
    });
  }
}

export class SkillCompileError extends ThinkError {
  constructor(script: string, reason: string, cause?: unknown) {
    super({
      code: "skill-compile",
      message: `${script} cannot be compiled: ${reason}`,
      hint: "A script may import files of its own skill and installed packages that run in a browser.",
      cause
    });
  }
}
