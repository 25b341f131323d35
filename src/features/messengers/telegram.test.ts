import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { FakeTelegram } from "../../testing/index.ts";
import { setTelegramWebhook, splitTelegramMessageText, telegramMessenger } from "./telegram.ts";

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
