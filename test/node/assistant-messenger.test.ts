// The demo's simulated messenger: a real bot of the agent on the fake server, kept with the conversation.
import { afterEach, expect, test, vi } from "vitest";
import { offlineModel } from "../../examples/assistant/server/offline/offline-model.ts";
import type { AssistantState } from "../../examples/assistant/shared/demo.ts";
import { Assistant, Directory, openHost, promptOf, type Host } from "./assistant-kit.ts";

afterEach(() => void vi.restoreAllMocks());

const WEBHOOK = "/agents/assistant/a/messengers/telegram/webhook";

async function chatOf(host: Host, name = "a") {
  const socket = await host.connect(`/agents/assistant/${name}`);
  const { state } = await socket.next<{ state: AssistantState }>("cf_agent_state");
  socket.close();
  return state.messenger?.chats;
}

async function say(host: Host, text: string, { name = "a", agent = Assistant } = {}): Promise<void> {
  await (await host.get(agent, name)).sayInMessenger(text);
  await host.advance(5_000);
}

let spoken = 0;
let stopAt = Infinity;

/** Falls silent after some words, as if the process hung there. */
class Halting extends Assistant {
  override getModel() {
    return offlineModel({ pause: () => (++spoken > stopAt ? new Promise<void>(() => undefined) : Promise.resolve()) });
  }
}

test("killed while the bot writes, its message in the chat is edited to the end of the same story", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  [spoken, stopAt] = [0, 100];
  const host = openHost({}, { Assistant: Halting, Directory });
  await say(host, promptOf("Tell a long story"), { agent: Halting });
  const before = await chatOf(host);
  expect(before?.messages).toHaveLength(1);
  expect(before?.messages[0]?.text).not.toContain("lamp lit until sunrise");
  stopAt = Infinity;
  await host.restart();
  await host.advance(60_000);
  const after = await chatOf(host);
  expect(after?.messages.map(({ id }) => id)).toEqual(before?.messages.map(({ id }) => id));
  expect(after?.messages[0]?.text).toMatch(/^# The Keeper of Gull Rock[\s\S]*lamp lit until sunrise\.\*$/);
});

test("what is said in the messenger of a conversation is in no other, and the chat keeps 40 messages of a person", async () => {
  const host = openHost();
  const assistant = await host.get(Assistant, "a");
  const said = Array.from({ length: 41 }, (_, index) => `What is ${index} + 1?`);
  await Promise.all(said.map((text) => assistant.sayInMessenger(text)));
  await say(host, "What is 6*7?", { name: "b" });
  const shown = async (name: string) => (await chatOf(host, name))?.said.map(({ text }) => text);
  expect(await shown("a")).toEqual(said.slice(1));
  expect(await shown("b")).toEqual(["What is 6*7?"]);
  // Each bot has answered in its own chat.
  expect((await chatOf(host, "a"))?.messages).toHaveLength(1);
  expect((await chatOf(host, "b"))?.messages.map(({ text }) => text)).toEqual([expect.stringContaining("42")]);
  // The chat forgets, the agent does not.
  const stored = await host.fetch("/agents/assistant/a/get-messages");
  expect(await stored.text()).toContain(said[0]);
});

test("a webhook without the secret is refused and leaves nothing behind", async () => {
  const host = openHost();
  await say(host, "Hello!");
  const chat = { id: 7, type: "private" };
  const update = { update_id: 9, message: { message_id: 900, date: 1, chat, text: "forged" } };
  const headers = { "Content-Type": "application/json", "X-Telegram-Bot-Api-Secret-Token": "guessed" };
  const response = await host.fetch(WEBHOOK, { method: "POST", headers, body: JSON.stringify(update) });
  expect(response.status).toBe(401);
  await host.advance(5_000);
  const stored = await host.fetch("/agents/assistant/a/get-messages");
  expect(await stored.text()).not.toContain("forged");
});

test("an empty or too long message is refused with a sentence for people", async () => {
  const assistant = await openHost().get(Assistant, "a");
  await expect(assistant.sayInMessenger("  ")).rejects.toThrow("between 1 and 4096 characters");
  await expect(assistant.sayInMessenger("x".repeat(4_097))).rejects.toThrow("between 1 and 4096 characters");
});
