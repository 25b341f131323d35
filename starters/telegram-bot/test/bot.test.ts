import { createTestHost, FakeTelegram } from "everthink/testing";
import { afterEach, expect, test, vi } from "vitest";
import { Scripted } from "./scripted.ts";

// Loaded by the bot on first use: real time, which the clock of the test would not wait for.
await import("@chat-adapter/telegram");

const env = { TELEGRAM_BOT_TOKEN: "1:test", TELEGRAM_WEBHOOK_SECRET_TOKEN: "secret" };
const url = "http://localhost/agents/assistant/main/messengers/telegram/webhook";

afterEach(() => {
  vi.unstubAllGlobals();
});

test("answers a message once, also when Telegram sends it again after a crash", async () => {
  const telegram = new FakeTelegram({ token: "1:test", secretToken: "secret" });
  vi.stubGlobal("fetch", telegram.fetch);
  const host = createTestHost({ agents: { Assistant: Scripted }, env });
  const update = await telegram.says("Hello", { url }).json<object>();
  expect((await host.fetch(telegram.webhookRequest(url, update))).status).toBe(200);
  await host.restart();
  await host.fetch(telegram.webhookRequest(url, update));
  await host.advance(10_000);
  expect(telegram.texts()).toEqual(["Hello! Ask me what I can do."]);
});

test("a chat has no address: a client with its URL reads and writes nothing", async () => {
  const telegram = new FakeTelegram({ token: "1:test", secretToken: "secret" });
  vi.stubGlobal("fetch", telegram.fetch);
  const host = createTestHost({ agents: { Assistant: Scripted }, env });
  await host.fetch(telegram.says("Hello", { url }));
  await host.advance(10_000);
  const chat = "/agents/assistant/main/sub/scripted/messenger:telegram:telegram:7";
  for (const path of ["/get-messages", "/approvals", "/chat"]) {
    expect((await host.fetch(`${chat}${path}`)).status).toBe(403);
  }
  await expect(host.connect(chat)).rejects.toThrow("403");
  expect(telegram.texts()).toEqual(["Hello! Ask me what I can do."]);
});

test("a message without the secret is refused", async () => {
  const telegram = new FakeTelegram({ token: "1:test", secretToken: "another" });
  vi.stubGlobal("fetch", telegram.fetch);
  const host = createTestHost({ agents: { Assistant: Scripted }, env });
  expect((await host.fetch(telegram.says("Hello", { url }))).status).toBe(401);
  await host.advance(10_000);
  expect(telegram.texts()).toEqual([]);
});
