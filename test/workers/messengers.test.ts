// Messengers in workerd: the provider's module boots, its adapter loads on first use, and the reply of a sub-agent's turn
// crosses the boundary between the two objects.
import { afterEach, expect, test, vi } from "vitest";
import { FakeTelegram } from "../../src/testing/messengers/telegram.ts";
import { BOT } from "./bot.ts";
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
