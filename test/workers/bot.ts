// A Telegram bot inside workerd. Its provider is imported at module scope, as users do; the adapter is not loaded by that.
import { Think } from "../../src/index.ts";
import telegramMessenger from "../../src/messengers/telegram.ts";
import { createScript, reply, scriptedModel, text } from "../../src/testing/model/index.ts";

export const BOT = { token: "1:test", secretToken: "secret" };

export class Bot extends Think {
  override getModel() {
    return scriptedModel(createScript((call) => reply(text(`You said ${call.lastUserText ?? ""}`))));
  }

  override getMessengers() {
    return { telegram: telegramMessenger({ ...BOT, userName: "support_bot", apiUrl: "https://telegram.test" }) };
  }
}
