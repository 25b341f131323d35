import { expect, test } from "vitest";
import { FakeTelegram, type TelegramChats } from "./telegram.ts";

const BOT = { token: "1:test", secretToken: "secret" };
const url = "https://example.com/messengers/telegram/webhook";

async function post(telegram: FakeTelegram, method: string, body: object): Promise<number> {
  const headers = { "Content-Type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify({ chat_id: 7, ...body }) };
  const response = await telegram.fetch(`https://api.telegram.org/bot1:test/${method}`, init);
  const { result } = (await response.json()) as { result?: { message_id: number } };
  return result?.message_id ?? 0;
}

const question = (token: string) => ({
  text: `Question ${token}`,
  reply_markup: { inline_keyboard: [[{ text: "Approve", callback_data: token }]] }
});

test("a server that goes on with the chats of another one shows, edits and numbers as that one would have", async () => {
  const first = new FakeTelegram(BOT);
  first.says("Hello", { url });
  const id = await post(first, "sendMessage", { text: "Hello, A" });
  // As a store keeps it.
  const chats = JSON.parse(JSON.stringify(first.chats())) as TelegramChats;
  const second = new FakeTelegram({ ...BOT, chats });
  await post(second, "editMessageText", { message_id: id, text: "Hello, Ada!" });
  expect(second.texts()).toEqual(["Hello, Ada!"]);
  expect(first.texts()).toEqual(["Hello, A"]);
  expect(second.chats().said).toEqual([{ id: 100, chatId: 7, name: "Ada", text: "Hello" }]);
  const next = (await second.says("Again", { url }).json()) as { update_id: number; message: { message_id: number } };
  expect([next.update_id, next.message.message_id]).toEqual([2, id + 1]);
});

test("a button is pressed on the message that is named, else on the newest that has one", async () => {
  const telegram = new FakeTelegram(BOT);
  const older = await post(telegram, "sendMessage", question("older"));
  await post(telegram, "sendMessage", question("newer"));
  const pressed = async (options: { messageId?: number }) =>
    ((await telegram.presses("Approve", { url, ...options }).json()) as { callback_query: { data: string } })
      .callback_query.data;
  expect(await pressed({})).toBe("newer");
  expect(await pressed({ messageId: older })).toBe("older");
  expect(() => telegram.presses("Approve", { url, messageId: 1 })).toThrow('No message with a button "Approve".');
});
