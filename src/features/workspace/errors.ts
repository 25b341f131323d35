// Failures of the file system as programs know them: the message starts with the POSIX code, and `code` is that code.
import { errorTable, ThinkError } from "../../util/errors.ts";

export type FileErrorCode =
  | "EEXIST"
  | "EFBIG"
  | "EINVAL"
  | "EIO"
  | "EISDIR"
  | "ELOOP"
  | "ENAMETOOLONG"
  | "ENOENT"
  | "ENOTDIR"
  | "ENOTEMPTY"
  | "EPERM"
  | "ESTALE";

/**
 * A failed file operation. `code` is the POSIX code, and the message starts with it.
 *
 * @example
 * try { await workspace.rm("/notes"); } catch (error) { if (error instanceof FileError && error.code === "ENOENT") … }
 */
export class FileError extends ThinkError {
  declare readonly code: FileErrorCode;

  constructor(code: FileErrorCode, text: string, hint?: string) {
    super({ code, message: `${code}: ${text}`, hint });
  }
}

export const workspaceErrors = errorTable(ThinkError, {
  /** The settings of a workspace contradict each other, or those it was opened with before. */
  WorkspaceSetupError: (message: string, hint: string) => ({ code: "workspace-setup", message, hint }),
  /** A class or a call needs bash, and its interpreter is missing. `cause` is why it could not be loaded. */
  BashMissingError: (cause?: unknown) => ({
    code: "bash-missing",
    message: "The tool bash needs the package just-bash, which is not installed.",
    hint: "Run `npm install just-bash`, or set `workspaceBash = false`.",
    cause
  })
});

/** A glob or an expression is wrong, too large, or not supported. */
export class PatternError extends ThinkError {
  constructor(message: string) {
    super({
      code: "invalid-pattern",
      message,
      hint: "Correct the pattern; see the table of patterns in docs/workspace.md."
    });
  }
}

export function missingError(path: string): FileError {
  return new FileError("ENOENT", `no such file or directory: ${path}`);
}

export function directoryError(path: string): FileError {
  return new FileError("EISDIR", `${path} is a directory`);
}

export function notDirectoryError(path: string): FileError {
  return new FileError("ENOTDIR", `not a directory: ${path}`);
}
