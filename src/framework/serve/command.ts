// `everthink` as a function: from arguments to an exit code, 0 or 1. What can go wrong is said in plain words on stderr;
// only a defect of everthink itself shows a stack.
import { HELP, parseArguments } from "./arguments.ts";
import { ServeError } from "./errors.ts";
import { Log } from "./log.ts";
import { serve } from "./serve.ts";
import { ThinkError } from "../../util/errors.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface CommandPlace {
  /** The built file of front/worker.ts. */
  frontWorker: string;
  version: string;
}

export async function runCommand(args: readonly string[], { frontWorker, version }: CommandPlace): Promise<number> {
  if (args[0] === "migrate") return runMigrate(args.slice(1));
  const stop = new AbortController();
  const hurry = new AbortController();
  const onSignal = () => (stop.signal.aborted ? hurry : stop).abort();
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    const command = parseArguments(args);
    if (command.command === "help") process.stdout.write(HELP);
    else if (command.command === "version") process.stdout.write(`${version}\n`);
    else {
      await serve(command, {
        workingFolder: process.cwd(),
        variables: process.env,
        frontWorker,
        log: new Log({
          output: process.stdout,
          errors: process.stderr,
          now: () => new Date(),
          withTime: process.env.JOURNAL_STREAM === undefined
        }),
        signals: { stop: stop.signal, hurry: hurry.signal }
      });
    }
    return 0;
  } catch (error) {
    console.error(error instanceof ServeError ? [error.message, error.hint].filter(Boolean).join("\n") : error);
    return 1;
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}

/** Loaded when it is asked for: it brings what the take-over needs of every part of the package. */
async function runMigrate(args: readonly string[]): Promise<number> {
  const { migrateCommand } = await import("../migrate/command.ts");
  try {
    const print = (text: string) => void process.stdout.write(`${text}\n`);
    return await migrateCommand.run(args, { cwd: process.cwd(), print });
  } catch (error) {
    console.error(error instanceof ThinkError ? [error.message, error.hint].filter(Boolean).join("\n") : error);
    return 1;
  }
}
