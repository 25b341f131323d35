import { errorTable, ThinkError } from "../../util/errors.ts";

export const messengerErrors = errorTable(ThinkError, {
  /** A messenger of `getMessengers()` is declared in a way that cannot work, or not safely. */
  MessengerDefinitionError: (messengerId: string, problem: string) => ({
    code: "messenger-definition",
    message: `The messenger "${messengerId}" cannot be used: ${problem}.`,
    hint: "See docs/messengers.md. A webhook is verified, or verifyWebhook is literally false."
  }),
  /** The adapter's package could not be loaded. */
  AdapterMissingError: (packageName: string, cause: unknown) => ({
    code: "messenger-adapter-missing",
    message: "This messenger cannot be reached now.",
    hint: `Install ${packageName} beside everthink: it is an optional peer dependency.`,
    cause
  }),
  /** More messages wait than are kept: the provider sends them again later. */
  InboxFullError: (limit: number) => ({
    code: "messenger-inbox-full",
    message: "Too many messages are waiting for an answer.",
    hint: `${limit} replies are open; the webhook was answered with 503, and the provider will repeat it.`
  }),
  /** Telegram did not take the address of the webhook. */
  TelegramRefusedError: (reason: string) => ({
    code: "telegram-refused",
    message: `Telegram did not set the webhook: ${reason}.`,
    hint: "The token is BotFather's, the address begins with https://, the secret has only A-Z, a-z, 0-9, _ and -."
  })
});
