// What a command is given, and what it may fail with. Commands write through the context and never to the console, so that
// tests read what a person would, and `--json` has standard output for itself.
import type { Readable, Writable } from "node:stream";
import { parseArgs, type ParseArgsConfig } from "node:util";
import { errorMessage, ThinkError } from "../util/errors.ts";

export interface CliTerminal {
  readonly input: Readable;
  readonly output: Writable;
  readonly hasColors: boolean;
}

export interface CliContext {
  /** Absolute. */
  readonly cwd: string;
  readonly version: string;
  readonly startersFolder: string;
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
}

export interface CommandDefinition {
  readonly name: string;
  /** One line of the overview. */
  readonly summary: string;
  /** The whole help text. */
  readonly help: string;
  /** Answers the exit code. */
  run(args: readonly string[], context: CliContext): Promise<number>;
}

/** Anything a command explains by itself; printed without a stack. */
export class CommandError extends ThinkError {
  constructor(message: string, hint?: string) {
    super({ code: "command-failed", message, ...(hint !== undefined && { hint }) });
  }
}

type Options = NonNullable<ParseArgsConfig["options"]>;
type Values = Record<string, string | boolean | (string | boolean)[] | undefined>;

export interface ParsedArguments {
  readonly positionals: readonly string[];
  text(name: string): string | undefined;
  flag(name: string): boolean | undefined;
  list(name: string): readonly string[];
}

/** Options of one command; an unknown one, or an argument too many, is an error that names it. */
export function parseCommandLine(
  args: readonly string[],
  { options, positionals: most, name }: { options: Options; positionals: number; name: string }
): ParsedArguments {
  const { values, positionals } = split(args, options, name);
  const extra = positionals[most];
  if (extra !== undefined) throw new CommandError(`"${extra}" is one argument too many.`, seeHelp(name));
  return {
    positionals,
    text: (option) => (typeof values[option] === "string" ? values[option] : undefined),
    flag: (option) => (typeof values[option] === "boolean" ? values[option] : undefined),
    list: (option) => {
      const value = values[option];
      return Array.isArray(value) ? value.map(String) : [];
    }
  };
}

function split(args: readonly string[], options: Options, name: string): { values: Values; positionals: string[] } {
  try {
    const parsed = parseArgs({ args: [...args], options, allowPositionals: true, allowNegative: true, strict: true });
    return { values: { ...parsed.values }, positionals: parsed.positionals };
  } catch (error) {
    // The first sentence names the option; the rest is advice for other programs.
    throw new CommandError(`${errorMessage(error).split(/[.\n]/)[0]}.`, seeHelp(name));
  }
}

function seeHelp(name: string): string {
  return `See: everthink ${name} --help`;
}

export function wholeNumber(option: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new CommandError(`--${option} must be a whole number, not "${text}".`);
}
