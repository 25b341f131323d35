// The test of docs/messengers.md, and what its channels do.
import { afterEach, expect, test, vi } from "vitest";
import {
  createScript,
  createTestHost,
  FakeDiscord,
  FakeSlack,
  FakeTeams,
  FakeTelegram,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script
} from "everthink/testing";
import { Concierge, Everywhere, Guarded, paged, Wider } from "./messengers.ts";
import { Support } from "./telegram.ts";

await import("@chat-adapter/telegram");
let script: Script = createScript([reply(text("Hello, Ada!"))]);
const SECRETS = { TELEGRAM_BOT_TOKEN: "1:test", TELEGRAM_WEBHOOK_SECRET_TOKEN: "secret" };

class ScriptedSupport extends Support {
  override getModel() {
    return scriptedModel(script);
  }
}

class ScriptedConcierge extends Concierge {
  override getModel() {
    return scriptedModel(script);
  }
}

afterEach(() => {
  vi.unstubAllGlobals();
});

test("the bot says hello", async () => {
  const telegram = new FakeTelegram({ token: "1:test", secretToken: "secret" });
  vi.stubGlobal("fetch", telegram.fetch);
  const host = createTestHost({ agents: { Support: ScriptedSupport }, env: SECRETS });
  const url = "http://localhost/agents/support/main/messengers/telegram/webhook";
  await host.fetch(telegram.says("Hello", { url }));
  await host.advance(5_000);
  expect(telegram.texts()).toEqual(["Hello, Ada!"]);
});

class ScriptedGuarded extends Guarded {
  override getModel() {
    return scriptedModel(script);
  }
}

test("a chat is open to the staff that the class lets in, and to no other client", async () => {
  script = createScript([reply(text("Hello, Ada!"))]);
  const telegram = new FakeTelegram({ token: "1:test", secretToken: "secret" });
  vi.stubGlobal("fetch", telegram.fetch);
  const host = createTestHost({ agents: { ScriptedGuarded }, env: SECRETS });
  const root = "http://localhost/agents/scripted-guarded/main";
  await host.fetch(telegram.says("Hello", { url: `${root}/messengers/telegram/webhook` }));
  await host.advance(5_000);
  const chat = `${root}/sub/scripted-guarded/messenger:telegram:telegram:7/get-messages`;
  expect((await host.fetch(chat)).status).toBe(403);
  expect(await (await host.fetch(chat, { headers: { Cookie: "session=staff" } })).text()).toContain("Hello, Ada!");
});

class ScriptedEverywhere extends Everywhere {
  override getModel() {
    return scriptedModel(script);
  }
}

test.each(["slack", "discord", "teams"] as const)("one class answers in %s beside the others", async (provider) => {
  script = createScript([reply(text("Hello, Ada!"))]);
  const fakes = {
    slack: new FakeSlack({ token: "xoxb-test", signingSecret: "signing" }),
    discord: new FakeDiscord({ token: "bot", applicationId: "1" }),
    teams: new FakeTeams({ appId: "app", appPassword: "password" })
  };
  vi.stubGlobal("fetch", fakes[provider].fetch);
  const env = {
    SLACK_BOT_TOKEN: "xoxb-test",
    SLACK_SIGNING_SECRET: "signing",
    DISCORD_BOT_TOKEN: "bot",
    DISCORD_APPLICATION_ID: "1",
    DISCORD_PUBLIC_KEY: fakes.discord.publicKey,
    TEAMS_APP_ID: "app",
    TEAMS_APP_PASSWORD: "password"
  };
  const host = createTestHost({ agents: { Everywhere: ScriptedEverywhere }, env });
  const url = `http://localhost/agents/everywhere/main/messengers/${provider}/webhook`;
  await host.fetch(fakes[provider].says("Hello", { url }));
  await host.advance(5_000);
  expect(fakes[provider].texts()).toEqual(["Hello, Ada!"]);
});

class ScriptedWider extends Wider {
  override getModel() {
    return scriptedModel(script);
  }

  override async onStart() {
    await this.workspace.writeFileBytes?.("/charts/sales.png", PNG, "image/png");
  }
}

const PNG = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 0]);

test("an action's file follows its answer, with the workspace's own token; the Gateway is open", async () => {
  script = createScript([reply(toolCall("chart", {})), reply(text("Here."))]);
  const slack = new FakeSlack({ token: "xoxb-test-T2", signingSecret: "signing" });
  const discord = new FakeDiscord({ token: "bot", applicationId: "1" });
  vi.stubGlobal("fetch", slack.fetch);
  vi.stubGlobal("WebSocket", discord.gateway.WebSocket);
  const env = {
    SLACK_BOT_TOKEN: "xoxb-test",
    SLACK_SIGNING_SECRET: "signing",
    DISCORD_BOT_TOKEN: "bot",
    DISCORD_APPLICATION_ID: "1",
    DISCORD_PUBLIC_KEY: discord.publicKey
  };
  const host = createTestHost({ agents: { Wider: ScriptedWider }, env });
  const url = "http://localhost/agents/wider/main/messengers/slack/webhook";
  await host.fetch(slack.says("Show me", { url, team: "T2" }));
  await host.advance(10_000);
  expect(slack.messages().map(({ text: shown, files = [] }) => [shown, files.map(({ bytes }) => bytes)])).toEqual([
    ["Here.", []],
    ["", [PNG]]
  ]);
  expect(discord.gateway.connected).toBe(1);
});

test("a channel has its own instructions and surface", async () => {
  script = createScript([reply(text("Yes."))]);
  const host = createTestHost({ agents: { Concierge: ScriptedConcierge } });
  const agent = await host.get(ScriptedConcierge, "main");
  await agent.runTurn({ input: "Are you there?", channel: "pager" });
  expect(JSON.stringify(script.calls[0]?.prompt)).toContain("Answer in one line.");
  await agent.deliverNotice("Fire.", { channel: "pager" });
  expect(paged).toEqual(["Fire."]);
});
