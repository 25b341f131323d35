// The one description of a command, and the one parser of what a user typed after its name. Pure. What a command takes is
// what its description lists: help, documentation and the parser read the same entries.
import { parseArgs, type ParseArgsConfig } from "node:util";
import { errorMessage } from "../util/errors.ts";
import { CommandUsageError, type CliContext } from "./cli-context.ts";
import { closest } from "./closest.ts";

export interface OptionDefinition {
  /** `number` for `--port <number>`; absent for a flag. */
  readonly value?: string;
  readonly short?: string;
  readonly isRepeatable?: true;
  /** On unless `--no-<name>` is given. */
  readonly isOnByDefault?: true;
  /** Begins with the default where there is one; limits are numbers. */
  readonly text: string;
}

export type OptionTable = Readonly<Record<string, OptionDefinition>>;

export interface ArgumentDefinition {
  readonly name: string;
  readonly isRequired?: true;
  readonly text: string;
}

export type CommandRun = (parsed: ParsedArguments, context: CliContext) => Promise<number>;

export interface CommandDefinition {
  /** One word or several: `messenger telegram set-webhook`. */
  readonly name: string;
  /** One line of the overview. */
  readonly summary: string;
  /** Paragraphs of the help text. */
  readonly description: readonly string[];
  /** What is typed after `npx everthink`, the most usual first. */
  readonly examples: readonly string[];
  readonly arguments?: readonly ArgumentDefinition[];
  readonly options: OptionTable;
  /** Options of a special case, under a title of their own. */
  readonly special?: { readonly title: string; readonly options: OptionTable };
  /** Whose flags may follow `--`. */
  readonly passesFlagsTo?: string;
  readonly exitCodes: Readonly<Record<number, string>>;
  /** It runs until a signal stops it: SIGHUP stops it as well, and it handles a second signal itself. */
  readonly isServer?: true;
  /** Loaded when it is run: a command does not pay for what the others need. */
  load(): Promise<CommandRun>;
}

export interface ParsedArguments {
  /** The words of the command. */
  readonly name: string;
  readonly positionals: readonly string[];
  /** What followed `--`, for commands that pass it on. */
  readonly passedOn: readonly string[];
  text(name: string): string | undefined;
  flag(name: string): boolean | undefined;
  list(name: string): readonly string[];
}

export type ParsedDefinition = Pick<CommandDefinition, "name" | "arguments" | "options" | "special" | "passesFlagsTo">;

export function allOptions({ options, special }: Pick<CommandDefinition, "options" | "special">): OptionTable {
  return { ...options, ...special?.options };
}

/** An unknown option, a value too few or an argument too many is an error that names it. Throws CommandUsageError. */
export function parseCommandLine(args: readonly string[], command: ParsedDefinition): ParsedArguments {
  const { own, passedOn } = splitPassedOn(args, command);
  const options = allOptions(command);
  const { values, positionals } = split(own, options, command.name);
  const extra = positionals[command.arguments?.length ?? 0];
  if (extra !== undefined) throw usageError(command.name, `"${extra}" is one argument too many.`);
  const valueOf = (option: string) => {
    // A command that asks for what its description lacks would ignore what the user gave.
    if (options[option] === undefined) throw new TypeError(`everthink ${command.name} has no option --${option}.`);
    return values[option];
  };
  return {
    name: command.name,
    positionals,
    passedOn,
    text: (option) => textOf(valueOf(option)),
    flag: (option) => flagOf(valueOf(option)),
    list: (option) => listOf(valueOf(option))
  };
}

export function splitPassedOn(
  args: readonly string[],
  { passesFlagsTo }: Pick<CommandDefinition, "passesFlagsTo">
): { readonly own: readonly string[]; readonly passedOn: readonly string[] } {
  const end = args.indexOf("--");
  if (passesFlagsTo === undefined || end === -1) return { own: args, passedOn: [] };
  return { own: args.slice(0, end), passedOn: args.slice(end + 1) };
}

type Value = string | boolean | (string | boolean)[] | undefined;

const textOf = (value: Value) => (typeof value === "string" ? value : undefined);
const flagOf = (value: Value) => (typeof value === "boolean" ? value : undefined);
const listOf = (value: Value) => (Array.isArray(value) ? value.map(String) : []);

function split(
  args: readonly string[],
  table: OptionTable,
  name: string
): { values: Record<string, Value>; positionals: string[] } {
  const options: NonNullable<ParseArgsConfig["options"]> = {};
  for (const [option, { value, short, isRepeatable }] of Object.entries(table)) {
    options[option] = {
      type: value === undefined ? "boolean" : "string",
      ...(short !== undefined && { short }),
      ...(isRepeatable && { multiple: true })
    };
  }
  try {
    const parsed = parseArgs({ args: [...args], options, allowPositionals: true, allowNegative: true, strict: true });
    return { values: { ...parsed.values }, positionals: parsed.positionals };
  } catch (error) {
    // The first sentence names the option; the rest is advice for other programs.
    const message = `${errorMessage(error).split(/[.\n]/)[0]}.`;
    const unknown = /^Unknown option '--(?:no-)?([\w-]+)'/.exec(message)?.[1];
    const meant = unknown === undefined ? undefined : closest(unknown, Object.keys(table));
    throw usageError(name, message, meant === undefined ? undefined : `--${meant}`);
  }
}

/** Names the command whose help says more, and what was probably meant. */
export function usageError(name: string, message: string, meant?: string): CommandUsageError {
  const see = `See: everthink ${name === "" ? "" : `${name} `}--help`;
  return new CommandUsageError(message, meant === undefined ? see : `Did you mean ${meant}? ${see}`);
}

export interface NumberLimits {
  readonly fallback: number;
  readonly highest?: number;
}

const HIGHEST_NUMBER = 999_999_999;

export function wholeNumber(
  parsed: ParsedArguments,
  option: string,
  { fallback, highest = HIGHEST_NUMBER }: NumberLimits
): number {
  const text = parsed.text(option);
  if (text === undefined) return fallback;
  if (/^\d+$/.test(text) && Number(text) <= highest) return Number(text);
  throw usageError(parsed.name, `--${option} must be a number from 0 to ${highest}, not "${text}".`);
}

/** Undefined when it was not given. */
export function filledText(parsed: ParsedArguments, option: string): string | undefined {
  const text = parsed.text(option);
  if (text?.trim() === "") throw usageError(parsed.name, `--${option} is empty.`);
  return text;
}
