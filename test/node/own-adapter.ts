// An adapter of the class's own, as small as one can be: answers the webhook at once, and parses its message beside the answer.
import type { ChatAdapter } from "../../src/features/messengers/index.ts";

interface Chat {
  processMessage(adapter: unknown, threadId: string, parse: () => Promise<object>, options?: object): Promise<void>;
}

const MESSAGE = { id: "m1", text: "Hello", author: { userId: "7", isBot: false, isMe: false } };

export class OwnAdapter implements ChatAdapter {
  readonly name = "own";
  readonly posted: unknown[] = [];
  /** The webhooks it was given. */
  readonly received: { readonly method: string; readonly body: string }[] = [];
  parse: () => Promise<object> = async () => MESSAGE;
  #chat: Chat | undefined;

  async initialize(chat: Chat): Promise<void> {
    this.#chat = chat;
  }

  async handleWebhook(request: Request, options?: object): Promise<Response> {
    this.received.push({ method: request.method, body: await request.text() });
    // How providers ask whether an address is the bot's.
    if (request.method === "GET") return new Response(new URL(request.url).searchParams.get("challenge"));
    void this.#chat?.processMessage(this, "own:1", () => this.parse(), options);
    return new Response("ok");
  }

  async postMessage(_threadId: string, { markdown }: { markdown: string }): Promise<{ id: string }> {
    this.posted.push(markdown);
    return { id: "1" };
  }

  async editMessage(): Promise<void> {
    throw new Error("Messages are not edited here.");
  }

  isDM(): boolean {
    return true;
  }
}
