// What can keep `everthink serve` from serving, each with the words the operator at the terminal reads. The command prints
// message and hint, never a stack, and exits with 1.
import { ThinkError } from "../../util/errors.ts";

/** Anything the command explains by itself. */
export class ServeError extends ThinkError {}

export class UsageError extends ServeError {
  constructor(message: string) {
    super({ code: "serve-usage", message, hint: "See: everthink serve --help" });
  }
}

export class PlatformError extends ServeError {
  constructor() {
    super({
      code: "serve-platform",
      message: "everthink serve runs on Linux and macOS.",
      hint: "On Windows it runs in WSL."
    });
  }
}

export class MissingBuildError extends ServeError {
  constructor(message: string, hint = "Build it first (vite build), or name the build: everthink serve dist/<name>") {
    super({ code: "serve-missing-build", message, hint });
  }
}

export class UnusableBuildError extends ServeError {
  constructor(message: string, hint?: string) {
    super({ code: "serve-unusable-build", message, ...(hint === undefined ? {} : { hint }) });
  }
}

export class MissingVariableError extends ServeError {
  constructor(names: readonly string[]) {
    super({
      code: "serve-missing-variable",
      message: `The Worker needs ${names.join(", ")}, which ${names.length > 1 ? "are" : "is"} not set.`,
      hint: "Set it in the environment, or in a file given with --var-file."
    });
  }
}

export class MissingWorkerdError extends ServeError {
  constructor() {
    super({
      code: "serve-missing-workerd",
      message: "workerd, the program that runs the Worker, is not installed in this project.",
      hint: "Install it: npm install workerd"
    });
  }
}

export class OldWorkerdError extends ServeError {
  constructor(version: string, oldest: string) {
    super({
      code: "serve-old-workerd",
      message: `This project has workerd ${version}; everthink needs ${oldest} or newer.`,
      hint: "Install it: npm install workerd@latest"
    });
  }
}

export class DataFolderError extends ServeError {
  constructor(folder: string, reason: string) {
    super({
      code: "serve-data-folder",
      message: `The data folder ${folder} cannot be used: ${reason}.`,
      hint: "Choose another one with --data, or let this user write to it."
    });
  }
}

export interface DataFolderOwner {
  pid?: number;
  since?: string;
}

export class DataFolderInUseError extends ServeError {
  constructor(folder: string, owner: DataFolderOwner) {
    const known = [owner.pid === undefined ? "" : `process ${owner.pid}`, owner.since ? `since ${owner.since}` : ""];
    const who = known.filter((text) => text !== "").join(", ");
    super({
      code: "serve-data-in-use",
      message: `The data folder ${folder} is in use by another instance${who === "" ? "" : ` (${who})`}.`,
      hint: "One folder belongs to one instance. Stop the other one, or choose another folder with --data."
    });
  }
}

export class PortTakenError extends ServeError {
  readonly port: number;
  constructor(port: number) {
    super({
      code: "serve-port-taken",
      message: `Port ${port} is already in use.`,
      hint: "Choose another one with --port."
    });
    this.port = port;
  }
}

export class AddressError extends ServeError {
  constructor(message: string, hint = "Choose another one with --host or --port.") {
    super({ code: "serve-address", message, hint });
  }
}

export class WorkerdStartError extends ServeError {
  constructor(reason: string, output: string) {
    super({ code: "serve-start", message: `workerd did not start: ${reason}\n${output.trim()}`.trim() });
  }
}

export class GaveUpError extends ServeError {
  constructor(deaths: number, stableMs: number) {
    super({
      code: "serve-gave-up",
      message: `workerd ended ${deaths} times in a row, each time within ${stableMs / 1000} s of its start. Giving up.`,
      hint: "The lines above say what it printed. Nothing in the data folder was removed."
    });
  }
}
