// What a command is given, and what it may fail with. Commands write through the context and never to the console, so that
// tests read what a user would, and `--json` has standard output for itself.
import type { Readable, Writable } from "node:stream";
import { ThinkError } from "../util/errors.ts";

export interface CliTerminal {
  readonly input: Readable;
  readonly output: Writable;
  readonly hasColors: boolean;
}

/** Files of the package that commands need. Absolute. */
export interface CliPlace {
  /** The built file of the front worker of `serve`. */
  readonly frontWorker: string;
  readonly startersFolder: string;
  /** Pages of the documentation. */
  readonly docsFolder: string;
  /** The built page of `studio`. */
  readonly studioFolder: string;
  /** The sources of the parts of a chat page. */
  readonly partsFolder: string;
  /** Skills for coding agents that work on a project. */
  readonly agentSkillsFolder: string;
  /** What this package depends on, by its package.json. */
  readonly dependencies: Readonly<Record<string, string>>;
  readonly version: string;
}

export interface CliContext {
  /** Absolute. */
  readonly cwd: string;
  readonly place: CliPlace;
  /** The variables of the environment. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Absent where no user can be asked: in a pipe, a script, or CI. */
  readonly terminal?: CliTerminal;
  /** A line on standard output: the result. */
  print(text: string): void;
  /** A line on standard error: progress, notes. */
  note(text: string): void;
  /** Text on standard output without a line end, while it streams. */
  stream(text: string): void;
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
  /** Aborted by the second one, for commands that are servers; every other command is ended by it. */
  readonly hurry: AbortSignal;
}

/** Anything a command explains by itself; printed without a stack. */
export class CommandError extends ThinkError {
  constructor(message: string, hint?: string) {
    super({ code: "command-failed", message, hint });
  }
}

/** What was typed cannot be understood: a command, an option, a value. */
export class CommandUsageError extends ThinkError {
  constructor(message: string, hint: string) {
    super({ code: "command-usage", message, hint });
  }
}
