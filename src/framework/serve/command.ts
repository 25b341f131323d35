// `everthink` as a function: from arguments to an exit code, 0 or 1. What can go wrong is said in plain words on stderr;
// only a defect of everthink itself shows a stack.
import { setTelegramWebhook } from "../../messengers/telegram-webhook.ts";
import { ThinkError } from "../../util/errors.ts";
import { HELP, parseArguments, type SetWebhookArguments } from "./arguments.ts";
import { MissingVariableError } from "./errors.ts";
import { Log } from "./log.ts";
import { runStudio } from "../studio/studio-command.ts";
import { serve } from "./serve.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface CommandPlace {
  /** The built file of front/worker.ts. */
  frontWorker: string;
  /** The built page of Studio. */
  studioFolder: string;
  version: string;
}

export async function runCommand(args: readonly string[], place: CommandPlace): Promise<number> {
  const { frontWorker, studioFolder, version } = place;
  const stop = new AbortController();
  const hurry = new AbortController();
  const onSignal = () => (stop.signal.aborted ? hurry : stop).abort();
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    if (args[0] === "studio") return await studio(args.slice(1), studioFolder, stop.signal);
    const command = parseArguments(args);
    if (command.command === "help") process.stdout.write(HELP);
    else if (command.command === "version") process.stdout.write(`${version}\n`);
    else if (command.command === "set-webhook") await setWebhook(command);
    else if (command.command === "skills") {
      const { buildSkills } = await import("../skills/build-command.ts");
      const { warnings, summary } = await buildSkills(command, process.cwd());
      for (const warning of warnings) console.error(warning);
      process.stdout.write(`${summary}\n`);
    } else {
      await serve(command, {
        workingFolder: process.cwd(),
        variables: process.env,
        frontWorker,
        studioFolder,
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
    console.error(error instanceof ThinkError ? [error.message, error.hint].filter(Boolean).join("\n") : error);
    return 1;
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}

async function studio(args: readonly string[], folder: string, stop: AbortSignal): Promise<number> {
  const say = (text: string) => void process.stdout.write(text);
  await runStudio(args, { folder, environment: process.env, say, stop });
  return 0;
}

async function setWebhook({ url, tokenVariable, secretVariable }: SetWebhookArguments): Promise<void> {
  const [token, secretToken] = [tokenVariable, secretVariable].map((name) => {
    const value = process.env[name];
    if (!value) throw new MissingVariableError([name]);
    return value;
  });
  const apiUrl = process.env["TELEGRAM_API_BASE_URL"];
  await setTelegramWebhook({ token: token ?? "", url, secretToken: secretToken ?? "", ...(apiUrl && { apiUrl }) });
  process.stdout.write(`Telegram sends the bot's messages to ${url}\n`);
}
