// The examples of docs/messengers.md.
import { defineChannels, type ChannelText } from "everthink";
import { Think } from "everthink";
import { defineMessengers } from "everthink/messengers";
import telegramMessenger from "everthink/messengers/telegram";

interface Env {
  TELEGRAM_BOT_TOKEN: string;
  TELEGRAM_WEBHOOK_SECRET_TOKEN: string;
}

export class Support extends Think<Env> {
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

export const paged: ChannelText[] = [];
const page = (message: ChannelText) => paged.push(message);

export class Concierge extends Think {
  override configureChannels() {
    return defineChannels({
      web: { kind: "web", instructions: "Answer with headings and tables." },
      pager: {
        kind: "custom",
        instructions: "Answer in one line.",
        maxTurns: 2,
        tools: () => ({}),
        surface: () => ({ post: (message) => page(message) })
      }
    });
  }
}
