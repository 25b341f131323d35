// Each provider as the tests use it: its fake server, its messenger, and what two users do in it.
import type { Messenger, MessengerDefinition } from "../../src/features/messengers/index.ts";
import discordMessenger from "../../src/features/messengers/discord.ts";
import slackMessenger from "../../src/features/messengers/slack.ts";
import teamsMessenger from "../../src/features/messengers/teams.ts";
import telegramMessenger from "../../src/features/messengers/telegram.ts";
import {
  FakeDiscord,
  FakeSlack,
  FakeTeams,
  FakeTelegram,
  type FakeFile,
  type FakeProvider
} from "../../src/testing/index.ts";

export interface How {
  readonly by?: "ada" | "grace" | "bot";
  readonly in?: "direct" | "group";
  readonly file?: FakeFile;
}

export type Definition = Partial<Omit<MessengerDefinition, "adapter" | "provider" | "userName">>;

/** A provider, and one conversation in it. */
export interface Driver {
  readonly name: string;
  readonly fake: FakeProvider;
  readonly grace: string;
  messenger(definition: Definition): Messenger;
  says(text: string, how?: How): Request;
  presses(label: string, how?: How): Request;
  /** What another sender would try. */
  forged(request: Request): Promise<Request[]>;
  /** How a message in a group addresses the bot; undefined: the provider sends commands only. */
  readonly mention: string | undefined;
}

export const webhookUrl = (name: string) => `http://localhost/agents/support/main/messengers/${name}/webhook`;

async function changed(request: Request, change: (headers: Headers, body: string) => string | void): Promise<Request> {
  const headers = new Headers(request.headers);
  const body = await (request.clone() as Request).text();
  const other = change(headers, body);
  return new Request(request.url, { method: "POST", headers, body: other ?? body });
}

/** Without each header, with each header changed, and with another body. */
function forgedBy(headers: readonly string[], hasSignedBody: boolean) {
  return async (request: Request): Promise<Request[]> => {
    const forged = [];
    for (const name of headers) {
      forged.push(await changed(request, (all) => all.delete(name)));
      forged.push(await changed(request, (all) => all.set(name, `${all.get(name)}0`)));
    }
    if (hasSignedBody) forged.push(await changed(request, (_, body) => body.replace("Hello", "Send me the secrets")));
    return forged;
  };
}

/** Signed, for a time that is over or is still to come. */
async function outOfTime(
  request: Request,
  fake: { signed(url: string, body: string, options: { ageSeconds: number }): Request }
): Promise<Request[]> {
  const body = await (request.clone() as Request).text();
  return [301, -302].map((ageSeconds) => fake.signed(request.url, body, { ageSeconds }));
}

export function telegramDriver(): Driver {
  const fake = new FakeTelegram({ token: "1:test", secretToken: "s3cret-token" });
  const url = webhookUrl("telegram");
  const GRACE = { id: 9, first_name: "Grace", username: "grace" };
  const options = (how: How = {}) => ({
    url,
    ...(how.in === "group" && { chatId: -100, chatType: "group" as const }),
    ...(how.by === "grace" && { from: GRACE }),
    ...(how.by === "bot" && { from: { ...GRACE, is_bot: true } }),
    ...(how.file && { file: how.file })
  });
  return {
    name: "telegram",
    fake,
    grace: "telegram:9",
    mention: "@support_bot",
    messenger: (definition) =>
      telegramMessenger({
        token: "1:test",
        userName: "support_bot",
        secretToken: "s3cret-token",
        apiUrl: "https://telegram.test",
        ...definition
      }),
    says: (text, how) => fake.says(text, options(how)),
    presses: (label, how) => fake.presses(label, options(how)),
    forged: forgedBy(["X-Telegram-Bot-Api-Secret-Token"], false)
  };
}

export function slackDriver(): Driver {
  const fake = new FakeSlack({ token: "xoxb-test", signingSecret: "signing-secret" });
  const url = webhookUrl("slack");
  const options = ({ by, in: place, file }: How = {}) => ({
    url,
    ...(place === "group" && { channel: "C100" }),
    ...(by === "grace" && { user: "U9" }),
    ...(by === "bot" && { isBot: true }),
    ...(file && { files: [file] })
  });
  return {
    name: "slack",
    fake,
    grace: "slack:U9",
    mention: "<@UBOT>",
    messenger: (definition) =>
      slackMessenger({ token: "xoxb-test", signingSecret: "signing-secret", userName: "support_bot", ...definition }),
    says: (text, how) => fake.says(text, options(how)),
    presses: (label, how) => fake.presses(label, options(how)),
    forged: async (request) => [
      ...(await forgedBy(["x-slack-signature", "x-slack-request-timestamp"], true)(request)),
      ...(await outOfTime(request, fake))
    ]
  };
}

export function discordDriver(): Driver {
  const fake = new FakeDiscord({ token: "bot-token", applicationId: "1" });
  const url = webhookUrl("discord");
  const options = ({ by, in: place, file }: How = {}) => ({
    url,
    ...(place === "group" && { guild: "50", channel: "500" }),
    ...(by === "grace" && { user: "9" }),
    ...(file && { files: [file] })
  });
  return {
    name: "discord",
    fake,
    grace: "discord:9",
    mention: undefined,
    messenger: (definition) =>
      discordMessenger({
        token: "bot-token",
        applicationId: "1",
        publicKey: fake.publicKey,
        userName: "support_bot",
        ...definition
      }),
    says: (text, how) => fake.says(text, options(how)),
    presses: (label, how) => fake.presses(label, options(how)),
    forged: async (request) => [
      ...(await forgedBy(["X-Signature-Ed25519", "X-Signature-Timestamp"], true)(request)),
      ...(await outOfTime(request, fake))
    ]
  };
}

export function teamsDriver(): Driver {
  const fake = new FakeTeams({ appId: "app-1", appPassword: "app-secret" });
  const url = webhookUrl("teams");
  const options = ({ by, in: place, file }: How = {}) => ({
    url,
    ...(place === "group" && { conversation: "19:channel@thread.tacv2;messageid=1" }),
    ...(by === "grace" && { user: "9" }),
    ...(by === "bot" && { isBot: true }),
    ...(file && { files: [file] })
  });
  return {
    name: "teams",
    fake,
    grace: "teams:9",
    mention: "@support_bot",
    messenger: (definition) =>
      teamsMessenger({ appId: "app-1", appPassword: "app-secret", userName: "support_bot", ...definition }),
    says: (text, how) =>
      fake.says(text.replace("@support_bot ", ""), { ...options(how), mention: text.startsWith("@support_bot") }),
    presses: (label, how) => fake.presses(label, options(how)),
    forged: async (request) => {
      const activity = (await (request.clone() as Request).json()) as object;
      const now = Date.now() / 1_000;
      const other = new FakeTeams({ appId: "app-1", appPassword: "" });
      const claims = [
        { exp: now - 301 },
        { nbf: now + 301 },
        { aud: "app-2" },
        { iss: "https://example.com" },
        { serviceurl: "https://example.com/" }
      ];
      return [
        ...(await forgedBy(["Authorization"], false)(request)),
        ...claims.map((changed) => fake.activityRequest(url, activity, changed)),
        other.activityRequest(url, activity)
      ];
    }
  };
}

export const DRIVERS: readonly { readonly name: string; readonly open: () => Driver }[] = [
  { name: "telegram", open: telegramDriver },
  { name: "slack", open: slackDriver },
  { name: "discord", open: discordDriver },
  { name: "teams", open: teamsDriver }
];
