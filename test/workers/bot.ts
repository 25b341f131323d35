// A bot of every provider inside workerd. Providers are imported at module scope, as users do; an adapter is not loaded by that.
import { Think } from "../../src/index.ts";
import discordMessenger from "../../src/features/messengers/discord.ts";
import slackMessenger from "../../src/features/messengers/slack.ts";
import teamsMessenger from "../../src/features/messengers/teams.ts";
import telegramMessenger from "../../src/features/messengers/telegram.ts";
import { createScript, reply, scriptedModel, text } from "../../src/testing/model/index.ts";

export const BOT = { token: "1:test", secretToken: "secret" };

export const SLACK = { token: "xoxb-test", signingSecret: "signing" };
export const TEAMS = { appId: "app", appPassword: "password" };
/** The key is the fake server's. */
export const DISCORD = { token: "bot", applicationId: "1", publicKey: "00".repeat(32) };

export class Bot extends Think {
  override getModel() {
    return scriptedModel(createScript((call) => reply(text(`You said ${call.lastUserText ?? ""}`))));
  }

  override getMessengers() {
    const userName = "support_bot";
    return {
      telegram: telegramMessenger({ ...BOT, userName, apiUrl: "https://telegram.test" }),
      slack: slackMessenger({ ...SLACK, userName }),
      discord: discordMessenger({ ...DISCORD, userName }),
      teams: teamsMessenger({ ...TEAMS, userName })
    };
  }
}
