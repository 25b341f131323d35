import { Think } from "everthink";
import { defineMessengers } from "everthink/messengers";
import telegramMessenger from "everthink/messengers/telegram";
import { offlineModel } from "../../models/offline-model.ts";

export default class Assistant extends Think<Cloudflare.Env> {
  override getModel() {
    return offlineModel(
      [
        { match: /^\/start|hello|hi\b/i, steps: () => [{ text: "Hello! Ask me what I can do." }] },
        {
          match: /what can you do/i,
          steps: () => [{ text: "I answer in every chat I am in, and a crash does not make me answer twice." }]
        }
      ],
      this.env.OFFLINE_PACE_MS
    );
  }

  override getSystemPrompt() {
    return "You answer in a chat app. Be brief, and write no headings.";
  }

  // Each chat is a sub-agent with a conversation of its own, which no page or URL reaches. In groups it answers when it is
  // mentioned.
  override getMessengers() {
    const { TELEGRAM_BOT_TOKEN: token, TELEGRAM_WEBHOOK_SECRET_TOKEN: secretToken } = this.env;
    if (!token || !secretToken) return {};
    return defineMessengers({ telegram: telegramMessenger({ token, secretToken, userName: "your_bot" }) });
  }
}
