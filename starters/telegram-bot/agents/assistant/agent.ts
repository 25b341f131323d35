import { Think } from "everthink";
import { defineMessengers } from "everthink/messengers";
import telegramMessenger from "everthink/messengers/telegram";
import { chooseModel } from "../../models/model.ts";
import { plans } from "./plans.ts";

export default class Assistant extends Think<Cloudflare.Env> {
  override getModel() {
    return chooseModel(this.env, plans);
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
