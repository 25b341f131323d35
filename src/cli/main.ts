// `everthink` as a function: from arguments to an exit code. What can go wrong is said in plain words on stderr, with what
// to type instead; only a defect shows a stack.
import { ThinkError } from "../util/errors.ts";
import { CommandUsageError, type CliContext, type CliPlace } from "./cli-context.ts";
import { closest } from "./closest.ts";
import { parseCommandLine, splitPassedOn, usageError, type CommandDefinition } from "./command-line.ts";
import { helpOf, overviewOf } from "./help.ts";
import { COMMANDS } from "./table/commands.ts";

export async function runEverthink(args: readonly string[], place: CliPlace): Promise<number> {
  silenceSqliteNotice(process);
  const signals = new ProcessSignals(findCommand(args)?.command);
  for (const stream of [process.stdout, process.stderr]) stream.on("error", (error) => signals.outputFailed(error));
  const context: CliContext = {
    cwd: process.cwd(),
    place,
    environment: process.env,
    ...terminalOf(process),
    print: (text) => void process.stdout.write(`${text}\n`),
    note: (text) => void process.stderr.write(`${text}\n`),
    stream: (text) => void process.stdout.write(text),
    signal: signals.stop,
    hurry: signals.hurry
  };
  try {
    return await dispatch(args, context);
  } catch (error) {
    reportFailure(error, args, context);
    return 1;
  } finally {
    signals.release();
  }
}

/** Node says that its SQLite may change; what a command prints is for users, who cannot do anything about that. */
export function silenceSqliteNotice(target: Pick<NodeJS.Process, "emitWarning">): void {
  const emit = target.emitWarning.bind(target) as (...args: unknown[]) => void;
  const filtered = (...args: unknown[]) => {
    if (!(args[1] === "ExperimentalWarning" && String(args[0]).startsWith("SQLite "))) emit(...args);
  };
  target.emitWarning = filtered as NodeJS.Process["emitWarning"];
}

/** In words for the user, and with --json as a value for the script. */
export function reportFailure(error: unknown, args: readonly string[], { note, print }: CliContext): void {
  if (!(error instanceof ThinkError)) {
    console.error(error);
    return;
  }
  const { code, message, hint } = error;
  note([message, hint].filter(Boolean).join("\n"));
  if (args.includes("--json")) print(JSON.stringify({ error: { code, message, hint: hint ?? null } }));
}

/** The first signal stops; the second ends a command at once, unless the command is a server, which gets it. */
class ProcessSignals {
  readonly #stop = new AbortController();
  readonly #hurry = new AbortController();
  readonly #signals: readonly NodeJS.Signals[];
  readonly #isServer: boolean;

  constructor(command: CommandDefinition | undefined) {
    this.#isServer = command?.isServer ?? false;
    this.#signals = this.#isServer ? ["SIGINT", "SIGTERM", "SIGHUP"] : ["SIGINT", "SIGTERM"];
    for (const signal of this.#signals) process.on(signal, this.#onSignal);
  }

  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  get hurry(): AbortSignal {
    return this.#hurry.signal;
  }

  readonly #onSignal = () => {
    if (this.#stop.signal.aborted) this.#hurry.abort();
    this.#stop.abort();
    // Without a listener the next one ends the process.
    if (!this.#isServer) this.release();
  };

  /**
   * The reader is gone, as that of `everthink state … | head`. A command ends its work, because half of a project or of a
   * decision is nobody's wish; a server that no one listens to stops.
   */
  outputFailed(error: NodeJS.ErrnoException): void {
    if (error.code !== "EPIPE") throw error;
    if (this.#isServer) this.#stop.abort();
  }

  release(): void {
    for (const signal of this.#signals) process.off(signal, this.#onSignal);
  }
}

function terminalOf({ stdin, stdout, env }: NodeJS.Process): Pick<CliContext, "terminal"> {
  if (!stdin.isTTY || !stdout.isTTY || env["CI"]) return {};
  return { terminal: { input: stdin, output: stdout, hasColors: stdout.hasColors() } };
}

const HELP_WORDS: readonly string[] = ["--help", "-h"];

/** A command by its words; for tests, which bring a context of their own. Throws ThinkError. */
export async function dispatch(args: readonly string[], context: CliContext): Promise<number> {
  const [first, ...others] = args;
  if (first === "--version" || first === "-v") {
    context.print(context.place.version);
    return 0;
  }
  if (first === undefined || HELP_WORDS.includes(first) || (first === "help" && others.length === 0)) {
    context.print(overviewOf(COMMANDS));
    return first === undefined ? 1 : 0;
  }
  const words = first === "help" ? [...others, "--help"] : args;
  const found = findCommand(words);
  if (found === undefined) return explainGroup(words, context);
  const { command, rest } = found;
  if (splitPassedOn(rest, command).own.some((word) => HELP_WORDS.includes(word))) {
    context.print(helpOf(command));
    return 0;
  }
  const parsed = parseCommandLine(rest, command);
  const run = await command.load();
  return run(parsed, context);
}

interface FoundCommand {
  readonly command: CommandDefinition;
  /** What follows its words. */
  readonly rest: readonly string[];
}

function findCommand(args: readonly string[]): FoundCommand | undefined {
  for (const command of COMMANDS) {
    const words = command.name.split(" ");
    if (words.every((word, index) => args[index] === word)) return { command, rest: args.slice(words.length) };
  }
  return undefined;
}

/** The first words of a command without the rest: its commands, as help or as what is missing. */
function explainGroup(args: readonly string[], context: CliContext): number {
  const [first = ""] = args;
  const group = COMMANDS.filter(({ name }) => name.startsWith(`${first} `));
  if (group.length === 0) {
    throw usageError("", `There is no command "${first}".`, closest(first, COMMANDS.map(firstWord)));
  }
  if (args.some((word) => HELP_WORDS.includes(word))) {
    context.print(overviewOf(group));
    return 0;
  }
  const names = group.map(({ name }) => `everthink ${name}`);
  throw new CommandUsageError(`"everthink ${args.join(" ")}" is not a command.`, `There is: ${names.join(", ")}`);
}

function firstWord({ name }: CommandDefinition): string {
  return name.split(" ")[0] ?? "";
}
