// The first example of docs/messengers.md.
import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think } from "everthink";
import { defineMessengers } from "everthink/messengers";
import telegramMessenger from "everthink/messengers/telegram";

interface Env {
  TELEGRAM_BOT_TOKEN: string;
  TELEGRAM_WEBHOOK_SECRET_TOKEN: string;
}

export class Support extends Think<Env> {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override getMessengers() {
    return defineMessengers({
      telegram: telegramMessenger({
        token: this.env.TELEGRAM_BOT_TOKEN,
        userName: "support_bot",
        secretToken: this.env.TELEGRAM_WEBHOOK_SECRET_TOKEN
      })
    });
  }
}
