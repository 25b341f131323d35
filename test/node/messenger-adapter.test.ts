// An adapter of the class's own: what it parses is stored before its webhook is answered, or the webhook is not taken.
import { afterEach, expect, test, vi } from "vitest";
import { Think } from "../../src/index.ts";
import { chatSdkMessenger, type ChatAdapter } from "../../src/messengers/index.ts";
import { createScript, createTestHost, reply, scriptedModel, text } from "../../src/testing/index.ts";

interface Chat {
  processMessage(adapter: unknown, threadId: string, parse: () => Promise<object>, options?: object): Promise<void>;
}

const MESSAGE = { id: "m1", text: "Hello", author: { userId: "7", isBot: false, isMe: false } };

/** Answers the webhook at once, and parses its message beside the answer. */
class OwnAdapter implements ChatAdapter {
  readonly name = "own";
  readonly posted: unknown[] = [];
  parse: () => Promise<object> = async () => MESSAGE;
  #chat: Chat | undefined;

  async initialize(chat: Chat): Promise<void> {
    this.#chat = chat;
  }

  async handleWebhook(_request: Request, options?: object): Promise<Response> {
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

afterEach(() => {
  vi.restoreAllMocks();
});

test.each([
  ["cannot be parsed", () => Promise.reject(new Error("users.info failed"))],
  ["is not parsed in five seconds", () => new Promise<never>(() => undefined)]
])("a webhook whose message %s is answered 503 and logged, and taken when it is repeated", async (_when, fails) => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const adapter = new OwnAdapter();
  class Support extends Think {
    override getModel() {
      return scriptedModel(createScript([reply(text("Hello, Ada!"))]));
    }
    override getMessengers() {
      const capabilities = { canEditMessages: false };
      const own = { provider: "own", userName: "bot", adapter, verifyWebhook: false, capabilities } as const;
      return { own: chatSdkMessenger(own) };
    }
  }
  const host = createTestHost({ agents: { Support } });
  const send = () => host.fetch("http://localhost/agents/support/main/messengers/own/webhook", { method: "POST" });

  adapter.parse = fails;
  const refused = send();
  await host.idle();
  await host.advance(5_000);
  expect((await refused).status).toBe(503);
  expect(logged.mock.calls.flat().map(String)).toContainEqual(expect.stringContaining('"own" was not stored'));

  adapter.parse = async () => MESSAGE;
  expect((await send()).status).toBe(200);
  await host.idle();
  await host.advance(5_000);
  expect(adapter.posted).toEqual(["Hello, Ada!"]);
});
