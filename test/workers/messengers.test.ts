// Messengers in workerd: the provider's module boots, its adapter loads on first use, and the reply of a sub-agent's turn
// crosses the boundary between the two objects.
import { afterEach, expect, test, vi } from "vitest";
import { FakeDiscord } from "../../src/testing/messengers/discord.ts";
import { FakeSlack } from "../../src/testing/messengers/slack.ts";
import { FakeTeams } from "../../src/testing/messengers/teams.ts";
import { FakeTelegram } from "../../src/testing/messengers/telegram.ts";
import { BOT, DISCORD, SLACK, TEAMS } from "./bot.ts";
import { fetchPath, uniqueName } from "./world.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

test("a webhook is answered in its chat by a sub-agent; a forged one is refused", async () => {
  const telegram = new FakeTelegram(BOT);
  vi.stubGlobal("fetch", telegram.fetch);
  const path = `/agents/bot/${uniqueName()}/messengers/telegram/webhook`;
  const webhook = telegram.says("hello", { url: `https://example.com${path}` });
  const body = await webhook.text();
  const send = (secret: string) =>
    fetchPath(path, { method: "POST", headers: { "X-Telegram-Bot-Api-Secret-Token": secret }, body });
  expect((await send("forged")).status).toBe(401);
  expect((await send(BOT.secretToken)).status).toBe(200);
  await vi.waitFor(() => expect(telegram.texts()).toEqual(["You said hello"]), 10_000);
  expect((await send(BOT.secretToken)).status).toBe(200);
});

test("a stranger is refused at every URL and socket of a chat, before and after its first message", async () => {
  const telegram = new FakeTelegram(BOT);
  vi.stubGlobal("fetch", telegram.fetch);
  const root = `/agents/bot/${uniqueName()}`;
  const paths = ["messenger:telegram:telegram:7", encodeURIComponent("messenger:telegram:telegram:7")].flatMap((name) =>
    [
      "/get-messages",
      "/approvals",
      "/chat",
      "/v1/models",
      "/submit",
      "/workspace/a",
      "/inspect/v1/agent",
      "",
      "/sub/bot/x"
    ].map((route) => `${root}/sub/bot/${name}${route}`)
  );
  const statuses = async () => {
    const requests = paths.flatMap((path) => [
      fetchPath(path),
      fetchPath(path, { method: "POST", headers: { "Content-Type": "application/json" } }),
      fetchPath(path, { headers: { Upgrade: "websocket" } })
    ]);
    const responses = await Promise.all(requests);
    return new Set(await Promise.all(responses.map(async (response) => `${response.status} ${await response.text()}`)));
  };
  const refused = new Set([`403 ${JSON.stringify({ error: "Conversations of messengers are not open here." })}`]);
  expect(await statuses()).toEqual(refused);
  const webhook = telegram.says("hello", { url: `https://example.com${root}/messengers/telegram/webhook` });
  await fetchPath(`${root}/messengers/telegram/webhook`, {
    method: "POST",
    headers: new Headers(webhook.headers),
    body: await webhook.text()
  });
  await vi.waitFor(() => expect(telegram.texts()).toEqual(["You said hello"]), 10_000);
  expect(await statuses()).toEqual(refused);
  expect(telegram.texts()).toEqual(["You said hello"]);
});

test.each([
  { name: "slack", open: () => new FakeSlack(SLACK), said: "hello", signed: "x-slack-signature" },
  { name: "discord", open: () => new FakeDiscord(DISCORD), said: "/ask hello", signed: "x-signature-ed25519" },
  { name: "teams", open: () => new FakeTeams(TEAMS), said: "hello", signed: "authorization" }
])(
  "$name: its signature is checked by workerd, and the answer is in the chat",
  async ({ name, open, said, signed }) => {
    const fake = open();
    if (fake instanceof FakeDiscord) DISCORD.publicKey = fake.publicKey;
    vi.stubGlobal("fetch", fake.fetch);
    const path = `/agents/bot/${uniqueName()}/messengers/${name}/webhook`;
    const webhook = fake.says("hello", { url: `https://example.com${path}` });
    const body = await webhook.text();
    const send = (headers: Headers) => fetchPath(path, { method: "POST", headers, body });
    const forged = new Headers(webhook.headers);
    forged.set(signed, `${forged.get(signed)}00`);
    expect((await send(forged)).status).toBe(401);
    expect((await send(new Headers(webhook.headers))).status).toBe(200);
    await vi.waitFor(() => expect(fake.texts()).toEqual([`You said ${said}`]), 10_000);
  }
);
