// The address to which Telegram sends a bot's webhooks. This file needs no adapter: the command line uses it, too.
import { messengerErrors } from "./errors.ts";

export interface TelegramWebhookOptions {
  /** The bot's token, from BotFather. */
  readonly token: string;
  /** An https address: `https://example.com/agents/support/main/messengers/telegram/webhook`. */
  readonly url: string;
  /** The messenger's `secretToken`: 1 to 256 of A-Z, a-z, 0-9, _ and -. */
  readonly secretToken: string;
  readonly apiUrl?: string;
}

/** Sets the address. Throws TelegramRefusedError. */
export async function setTelegramWebhook(options: TelegramWebhookOptions): Promise<void> {
  const { token, url, secretToken, apiUrl = "https://api.telegram.org" } = options;
  const response = await fetch(`${apiUrl}/bot${token}/setWebhook`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ url, secret_token: secretToken, allowed_updates: ["message", "callback_query"] })
  });
  const answer = (await response.json()) as { ok?: boolean; description?: string };
  if (answer.ok !== true) throw messengerErrors.TelegramRefusedError(answer.description ?? `status ${response.status}`);
}
