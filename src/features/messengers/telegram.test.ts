import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { FakeTelegram } from "../../testing/index.ts";
import { createChatSdkState } from "../chat-sdk/index.ts";
import discordMessenger from "./discord.ts";
import {
  defaultTelegramThreadShard,
  setTelegramWebhook,
  shardTelegramStateKey,
  splitTelegramMessageText,
  telegramMessenger
} from "./telegram.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

test("splitTelegramMessageText loses no character and no chunk exceeds the limit", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 400 }), fc.integer({ min: 2, max: 60 }), (text, limit) => {
      const chunks = splitTelegramMessageText(text, limit);
      expect(chunks.join("")).toBe(text.trim() === "" ? "" : text);
      for (const chunk of chunks) expect(chunk.length).toBeLessThanOrEqual(limit);
    })
  );
});

describe("a bot is declared with a verification, or explicitly without", () => {
  const options = { token: "1:test", userName: "support_bot" };

  test("neither a secret nor a check is an error", () => {
    expect(() => telegramMessenger(options)).toThrow("requires secretToken");
  });

  test("an explicit false is accepted", () => {
    expect(telegramMessenger({ ...options, verifyWebhook: false }).verifyWebhook).toBe(false);
  });
});

describe("setTelegramWebhook", () => {
  const telegram = new FakeTelegram({ token: "1:test", secretToken: "s" });
  const url = "https://example.com/webhook";

  test("registers the address with its secret", async () => {
    vi.stubGlobal("fetch", telegram.fetch);
    await setTelegramWebhook({ token: "1:test", url, secretToken: "secret" });
    expect(telegram.webhook).toEqual({ url, secretToken: "secret" });
  });

  test("says why Telegram refused", async () => {
    vi.stubGlobal("fetch", telegram.fetch);
    await expect(setTelegramWebhook({ token: "2:wrong", url, secretToken: "secret" })).rejects.toThrow("Unauthorized");
  });
});

test("the state of a Telegram chat is in one shard, whatever its topic, its key or its business connection", () => {
  expect([
    defaultTelegramThreadShard("telegram:-100:4"),
    defaultTelegramThreadShard("telegram:7"),
    defaultTelegramThreadShard("telegram:-100:4", "second")
  ]).toEqual(["telegram:-100", "telegram:7", "second:telegram:-100"]);
  expect(defaultTelegramThreadShard("telegram:biz:c1:7")).toBe("telegram:biz:c1");
  expect([shardTelegramStateKey("dedupe:telegram:7:101"), shardTelegramStateKey("telegram:update:5")]).toEqual([
    "telegram:7",
    undefined
  ]);
});

test("a Chat of the class's own is sharded as the messenger says", async () => {
  const facets: string[] = [];
  const parent = {
    subAgent: async (_class: unknown, name: string) => {
      facets.push(name);
      return { chatSdkState: async () => undefined };
    }
  };
  const second = telegramMessenger({ token: "2:t", userName: "b", secretToken: "s", adapterName: "second" });
  const discord = discordMessenger({ token: "t", applicationId: "1", publicKey: "00".repeat(32), userName: "b" });
  const own = discordMessenger({
    token: "t",
    applicationId: "1",
    publicKey: "00".repeat(32),
    userName: "b",
    shardKey: () => "one"
  });
  for (const [messenger, thread] of [
    [second, "telegram:-100:4"],
    [discord, "discord:50:500"],
    [discord, "discord:@me:700"],
    [own, "discord:50:500"]
  ] as const) {
    const state = createChatSdkState({ ...messenger, parent: parent as never });
    await state.connect();
    await state.isSubscribed(thread);
  }
  expect(facets).toEqual(["second:telegram:-100", "discord:50", "discord:@me:700", "one"]);
});
