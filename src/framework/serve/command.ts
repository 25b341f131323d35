// `everthink` as a function: from arguments to an exit code, 0 or 1. What can go wrong is said in plain words on stderr;
// only a defect of everthink itself shows a stack.
import { setTelegramWebhook } from "../../messengers/telegram-webhook.ts";
import { ThinkError } from "../../util/errors.ts";
import { HELP, parseArguments, type SetWebhookArguments } from "./arguments.ts";
import { MissingVariableError } from "./errors.ts";
import { Log } from "./log.ts";
import { serve } from "./serve.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface CommandPlace {
  /** The built file of front/worker.ts. */
  frontWorker: string;
  version: string;
}

export async function runCommand(args: readonly string[], { frontWorker, version }: CommandPlace): Promise<number> {
  const stop = new AbortController();
  const hurry = new AbortController();
  const onSignal = () => (stop.signal.aborted ? hurry : stop).abort();
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
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
