// What can keep `everthink serve` from serving, each with the words the operator at the terminal reads. The command prints
// message and hint, never a stack, and exits with 1.
import { errorTable, ThinkError } from "../../util/errors.ts";

/** Anything the command explains by itself. */
export class ServeError extends ThinkError {}

export interface DataFolderOwner {
  pid?: number;
  since?: string;
}

export class PortTakenError extends ServeError {
  // Not a parameter property: tools/ run this file under Node, which only strips types.
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

export const serveErrors = errorTable(ServeError, {
  UsageError: (message: string) => ({ code: "serve-usage", message, hint: "See: everthink serve --help" }),
  PlatformError: () => ({
    code: "serve-platform",
    message: "everthink serve runs on Linux and macOS.",
    hint: "On Windows it runs in WSL."
  }),
  MissingBuildError: (
    message: string,
    hint = "Build it first (vite build), or name the build: everthink serve dist/<name>"
  ) => ({ code: "serve-missing-build", message, hint }),
  UnusableBuildError: (message: string, hint?: string) => ({ code: "serve-unusable-build", message, hint }),
  MissingVariableError: (names: readonly string[]) => ({
    code: "serve-missing-variable",
    message: `The Worker needs ${names.join(", ")}, which ${names.length > 1 ? "are" : "is"} not set.`,
    hint: "Set it in the environment, or in a file given with --var-file."
  }),
  MissingWorkerdError: () => ({
    code: "serve-missing-workerd",
    message: "workerd, the program that runs the Worker, is not installed in this project.",
    hint: "Install it: npm install workerd"
  }),
  OldWorkerdError: (version: string, oldest: string) => ({
    code: "serve-old-workerd",
    message: `This project has workerd ${version}; everthink needs ${oldest} or newer.`,
    hint: "Install it: npm install workerd@latest"
  }),
  AgentListError: (url: string, why: string) => ({
    code: "serve-agent-list",
    message: `The agents that wait cannot be read from ${url}: ${why}.`,
    hint: 'It must answer 200 with a JSON list of addresses, such as ["assistant/main"].'
  }),
  DataFolderError: (folder: string, reason: string) => ({
    code: "serve-data-folder",
    message: `The data folder ${folder} cannot be used: ${reason}.`,
    hint: "Choose another one with --data, or let this user write to it."
  }),
  DataFolderInUseError: (folder: string, owner: DataFolderOwner) => ({
    code: "serve-data-in-use",
    message: `The data folder ${folder} is in use by another instance${shownOwner(owner)}.`,
    hint: "One folder belongs to one instance. Stop the other one, or choose another folder with --data."
  }),
  AddressError: (message: string, hint = "Choose another one with --host or --port.") => ({
    code: "serve-address",
    message,
    hint
  }),
  WorkerdStartError: (reason: string, output: string) => ({
    code: "serve-start",
    message: `workerd did not start: ${reason}\n${output.trim()}`.trim()
  }),
  GaveUpError: (deaths: number, stableMs: number) => ({
    code: "serve-gave-up",
    message: `workerd ended ${deaths} times in a row, each time within ${stableMs / 1000} s of its start. Giving up.`,
    hint: "The lines above say what it printed. Nothing in the data folder was removed."
  })
});

function shownOwner({ pid, since }: DataFolderOwner): string {
  const known = [...(pid === undefined ? [] : [`process ${pid}`]), ...(since ? [`since ${since}`] : [])];
  return known.length === 0 ? "" : ` (${known.join(", ")})`;
}
