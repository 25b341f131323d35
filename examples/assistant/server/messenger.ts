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
    // Sent when it is shown: the answer to it may come before the webhook's own.
    const webhook = await this.#withServer(async (telegram) => act(telegram, url));
    const response = await this.#init.deliver(webhook);
    if (!response.ok) throw new MessengerRefusedError(`The agent did not take the message (${response.status}).`);
  }

  /** One call at a time: two would each store a chat without the other's message. */
  #withServer<T>(work: (telegram: FakeTelegram) => Promise<T>): Promise<T> {
    const turn = this.#last.then(async () => {
      const { agent } = this.#init;
      const { chats, typingAt } = agent.state.messenger ?? {};
      const telegram = new FakeTelegram({ ...this.#bot, ...(chats && { chats }) });
      const result = await work(telegram);
      const messenger = chatOf(telegram, typingAt);
      // Most calls change what is shown; the rest need no broadcast.
      if (JSON.stringify(messenger) !== JSON.stringify(agent.state.messenger))
        agent.setState({ ...agent.state, messenger });
      return result;
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

/** As Telegram shows it: a message of the bot ends its typing. */
function chatOf(telegram: FakeTelegram, typingBefore: number | undefined): MessengerChat {
  const hasSpoken = telegram.calls.some(({ name }) => name === telegram.postCall || name === telegram.editCall);
  const typingAt = telegram.chatActions.length > 0 ? Date.now() : hasSpoken ? undefined : typingBefore;
  return { chats: newest(telegram.chats()), ...(typingAt !== undefined && { typingAt }) };
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
