// `everthink messenger telegram set-webhook`. Secrets come from the environment: arguments are seen by every process of
// the machine.
import { setTelegramWebhook } from "../../features/messengers/telegram-webhook.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import { filledText, usageError, type ParsedArguments } from "../command-line.ts";
import { withProgress } from "../progress.ts";

export interface SetWebhookArguments {
  readonly url: string;
  /** Names of the variables that hold the secrets. */
  readonly tokenVariable: string;
  readonly secretVariable: string;
}

/** Pure. Throws CommandUsageError. */
export function setWebhookArguments(parsed: ParsedArguments): SetWebhookArguments {
  const [url] = parsed.positionals;
  if (url === undefined || !/^https:\/\/./.test(url)) {
    throw usageError(parsed.name, "Telegram takes only addresses that begin with https://.");
  }
  return {
    url,
    tokenVariable: filledText(parsed, "token-var") ?? "TELEGRAM_BOT_TOKEN",
    secretVariable: filledText(parsed, "secret-var") ?? "TELEGRAM_WEBHOOK_SECRET_TOKEN"
  };
}

export async function runSetWebhook(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const { url, tokenVariable, secretVariable } = setWebhookArguments(parsed);
  const [token, secretToken] = [tokenVariable, secretVariable].map((name) => required(name, context)) as [
    string,
    string
  ];
  const apiUrl = context.environment["TELEGRAM_API_BASE_URL"];
  const set = setTelegramWebhook({ token, url, secretToken, apiUrl });
  await withProgress("Asking Telegram", context, set);
  context.print(`Telegram sends the bot's messages to ${url}`);
  return 0;
}

function required(name: string, { environment }: CliContext): string {
  const value = environment[name];
  if (value) return value;
  throw new CommandError(
    `The variable ${name} is not set.`,
    `Set it in the environment: ${name}=… everthink messenger …`
  );
}
