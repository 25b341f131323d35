// `everthink` as a function: from arguments to an exit code. `serve` has a command line of its own; every other command is
// one file of commands/. What can go wrong is said in plain words on stderr; only a defect shows a stack.
import { runCommand } from "../framework/serve/command.ts";
import { ThinkError } from "../util/errors.ts";
import { approveCommand } from "./commands/approve.ts";
import { chaosCommand } from "./commands/chaos.ts";
import { chatCommand } from "./commands/chat.ts";
import { configCommand } from "./commands/config.ts";
import { typesCommand } from "./commands/declarations.ts";
import { devCommand } from "./commands/dev.ts";
import { ejectCommand } from "./commands/eject.ts";
import { initCommand } from "./commands/init.ts";
import { inspectCommand } from "./commands/inspect.ts";
import { migrateCommand } from "./commands/migrate.ts";
import { stateCommand } from "./commands/state.ts";
import { CommandError, type CliContext, type CommandDefinition } from "./cli-context.ts";

export const COMMANDS: readonly CommandDefinition[] = [
  initCommand,
  devCommand,
  inspectCommand,
  typesCommand,
  configCommand,
  ejectCommand,
  chatCommand,
  stateCommand,
  approveCommand,
  chaosCommand,
  migrateCommand
];

/** Parsed and run where they are built: framework/serve. */
const WITH_OWN_COMMAND_LINE: readonly string[] = ["serve", "studio", "skills", "messenger", "--version", "-v"];

export interface CliPlace {
  /** The built file of the front worker of `serve`. */
  readonly frontWorker: string;
  readonly startersFolder: string;
  /** The built page of `studio`. */
  readonly studioFolder: string;
  readonly version: string;
}

export async function runEverthink(args: readonly string[], place: CliPlace): Promise<number> {
  const [name] = args;
  if (name !== undefined && WITH_OWN_COMMAND_LINE.includes(name)) return runCommand(args, place);
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, onSignal);
  const context: CliContext = {
    cwd: process.cwd(),
    version: place.version,
    startersFolder: place.startersFolder,
    ...terminalOf(process),
    print: (text) => void process.stdout.write(`${text}\n`),
    note: (text) => void process.stderr.write(`${text}\n`),
    stream: (text) => void process.stdout.write(text),
    signal: stop.signal
  };
  try {
    return await dispatch(args, context);
  } catch (error) {
    if (!(error instanceof ThinkError)) throw error;
    context.note([error.message, error.hint].filter(Boolean).join("\n"));
    return 1;
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, onSignal);
  }
}

function terminalOf({ stdin, stdout, env }: NodeJS.Process): Pick<CliContext, "terminal"> {
  if (!stdin.isTTY || !stdout.isTTY || env["CI"]) return {};
  return { terminal: { input: stdin, output: stdout, hasColors: stdout.hasColors() } };
}

/** A command by its name; for tests, which bring a context of their own. */
export async function dispatch(args: readonly string[], context: CliContext): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    context.print(overview());
    return name === undefined ? 1 : 0;
  }
  const command = COMMANDS.find((one) => one.name === name);
  if (command === undefined) throw new CommandError(`There is no command "${name}".`, "See: everthink --help");
  const own = rest.includes("--") ? rest.slice(0, rest.indexOf("--")) : rest;
  if (own.includes("--help") || own.includes("-h")) {
    context.print(command.help.trimEnd());
    return 0;
  }
  return command.run(rest, context);
}

const WIDEST_NAME = 11;

function overview(): string {
  const rows = [
    ...COMMANDS,
    { name: "serve", summary: "runs a built Worker on this machine, and keeps it running" },
    { name: "studio", summary: "looks inside a running agent, on a page of this machine" },
    { name: "skills", summary: "skills build: a folder of skills as a module, for builds without Vite" },
    { name: "messenger", summary: "sets up a messenger's webhook" }
  ];
  return [
    "everthink <command> [options]",
    "",
    ...rows.map(({ name, summary }) => `  ${name.padEnd(WIDEST_NAME)}${summary}`),
    "",
    "everthink <command> --help says more; everthink --version."
  ].join("\n");
}
