// A Telegram chat beside the page, without an account: the bot is a real messenger of the agent, the server it talks to is
// the fake one that tests use. What a person does there goes to the agent as a webhook with its secret, through the same
// route as Telegram's. The chat is part of the agent's state, so every page follows it and a restart goes on with it. The
// fake server is made anew for each call, from what is stored: nothing of it is only in memory.
import type { Agent } from "everthink/agent";
import { defineMessengers } from "everthink/messengers";
import telegramMessenger from "everthink/messengers/telegram";
import { FakeTelegram, type TelegramChats } from "everthink/testing/messengers";
import type { AssistantState, MessengerChat } from "../shared/demo.ts";
import { SIMULATED_API, simulateProvider } from "./messenger-fetch.ts";

/** Telegram's own limit. */
const MAX_TEXT_LENGTH = 4_096;
/** Of each side; older ones are forgotten by the chat, not by the conversation. */
const MAX_MESSAGES = 40;

export class MessengerRefusedError extends Error {
  override readonly name = "MessengerRefusedError";
}

export interface MessengerInit {
  readonly agent: Pick<Agent<never, AssistantState>, "name" | "state" | "setState">;
  /** To the agent, as any request from outside. */
  deliver(webhook: Request): Promise<Response>;
}

export class SimulatedMessenger {
  readonly #init: MessengerInit;
  /** Of this process: no configuration to copy, and worth nothing after it. */
  readonly #bot = { token: `1:${crypto.randomUUID()}`, secretToken: crypto.randomUUID(), userName: "assistant_bot" };
  #last: Promise<unknown> = Promise.resolve();

  constructor(init: MessengerInit) {
    this.#init = init;
  }

  /** The messenger's conversation is the agent's own: both chats show the same turns and the same questions. */
  definitions() {
    simulateProvider(this.#init.agent, this);
    return defineMessengers({
      telegram: telegramMessenger({ ...this.#bot, apiUrl: SIMULATED_API, conversation: "self" })
    });
  }

  async say(text: string): Promise<void> {
    const said = String(text).trim();
    if (said === "" || said.length > MAX_TEXT_LENGTH) {
      throw new MessengerRefusedError(`A message has between 1 and ${MAX_TEXT_LENGTH} characters.`);
    }
    await this.#deliver((telegram, url) => telegram.says(said, { url }));
  }

  async press(messageId: number, label: string): Promise<void> {
    await this.#deliver((telegram, url) => telegram.presses(String(label), { messageId: Number(messageId), url }));
  }

  /** A call of the bot. */
  answer(request: Request): Promise<Response> {
    return this.#withServer((telegram) => telegram.fetch(request));
  }

  async #deliver(act: (telegram: FakeTelegram, url: string) => Request): Promise<void> {
    const url = `https://assistant.invalid/agents/assistant/${encodeURIComponent(this.#init.agent.name)}/messengers/telegram/webhook`;
    // Stored before it is sent: the bot may answer before its webhook is answered.
    const webhook = await this.#withServer(async (telegram) => act(telegram, url));
    const response = await this.#init.deliver(webhook);
    if (!response.ok) throw new MessengerRefusedError(`The agent did not take the message (${response.status}).`);
  }

  /** One call at a time: two would each store a chat without the other's message. */
  #withServer<T>(work: (telegram: FakeTelegram) => Promise<T>): Promise<T> {
    const turn = this.#last.then(async () => {
      const { agent } = this.#init;
      const before = agent.state.messenger;
      const telegram = new FakeTelegram({ ...this.#bot, ...(before && { chats: before.chats }) });
      const result = await work(telegram);
      const messenger = chatOf(telegram, before);
      if (!isSame(messenger, before)) agent.setState({ ...agent.state, messenger });
      return result;
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

/** As Telegram shows it: a message of the bot ends its typing. */
function chatOf(telegram: FakeTelegram, before: MessengerChat | undefined): MessengerChat {
  const chats = newest(telegram.chats());
  const hasSpoken = !isSame(chats.messages, before?.chats.messages);
  const typingAt = telegram.chatActions.length > 0 ? Date.now() : hasSpoken ? undefined : before?.typingAt;
  return { chats, ...(typingAt !== undefined && { typingAt }) };
}

/** Plain data, in the order in which this file builds it. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function newest({ said, messages, ...numbers }: TelegramChats): TelegramChats {
  return {
    said: said.slice(-MAX_MESSAGES),
    // Only the text that is shown, and no files: this bot sends none.
    messages: messages
      .slice(-MAX_MESSAGES)
      .map(({ files: _none, ...message }) => ({ ...message, versions: [message.text] })),
    ...numbers
  };
}
