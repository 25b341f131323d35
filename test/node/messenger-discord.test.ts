// What is Discord's own.
import { afterEach, expect, test, vi } from "vitest";
import discordMessenger from "../../src/features/messengers/discord.ts";
import { reply, text, type FakeDiscord } from "../../src/testing/index.ts";
import { webhookUrl } from "./messenger-drivers.ts";
import { answered, bot, openBot } from "./messenger-providers-kit.ts";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const url = webhookUrl("discord");
const discord = () => bot.driver.fake as FakeDiscord;

test("a PING is answered with a PONG", async () => {
  const host = await openBot("discord", []);
  const response = await host.fetch(discord().signed(url, JSON.stringify({ type: 1 })));
  expect([response.status, await response.json()]).toEqual([200, { type: 1 }]);
});

test("a command shows its question at once, and its answer mentions no user", async () => {
  const host = await openBot("discord", [reply(text("Hello @everyone"))]);
  const response = await host.fetch(discord().says("who is there?", { url, guild: "50", channel: "500" }));
  expect(await response.json()).toMatchObject({ type: 4, data: { content: "> **/ask** who is there?" } });
  await answered(host);
  expect(discord().texts()).toEqual(["Hello @everyone"]);
  const sent = discord().calls.filter(({ name }) => name.endsWith(" messages"));
  expect(sent.every(({ body }) => JSON.stringify(body["allowed_mentions"]) === '{"parse":[]}')).toBe(true);
});

test("a request that claims to be forwarded from the Gateway is refused, also with a signature", async () => {
  const host = await openBot("discord", [reply(text("never"))]);
  const request = discord().says("Hello", { url });
  request.headers.set("x-discord-gateway-token", "bot-token");
  expect((await host.fetch(request)).status).toBe(401);
  await answered(host);
  expect(bot.script.calls).toEqual([]);
});

test.each([
  [{ applicationId: "1", publicKey: "ab".repeat(32) }, /requires token/],
  [{ token: "t", applicationId: "1" }, /requires publicKey/],
  [{ token: "t", applicationId: "1", publicKey: "xyz" }, /64 hexadecimal/]
])("%o cannot be declared", (options, problem) => {
  expect(() => discordMessenger({ token: "", userName: "b", ...options })).toThrow(problem);
});
