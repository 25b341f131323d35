// `deliverMessengerReply` against real turns, for code that runs a chat of its own.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  deliverMessengerReply,
  type MessengerDeliveryPolicy,
  type MessengerEvent
} from "../../src/features/messengers/index.ts";
import { Think } from "../../src/index.ts";
import { createScript, createTestHost, reply, scriptedModel, text, type Step } from "../../src/testing/index.ts";

const EVENT: MessengerEvent = {
  kind: "direct-message",
  messengerId: "own",
  provider: "own",
  capabilities: {},
  thread: { id: "own:1", providerThreadId: "own:1", isDirectMessage: true },
  message: { id: "m1", providerMessageId: "m1", text: "Hello", author: { userId: "7" }, attachments: [] },
  raw: { secret: () => undefined }
};

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

let script = createScript([]);

class Bot extends Think {
  seen: unknown;

  override getModel() {
    return scriptedModel(script);
  }

  override beforeTurn() {
    this.seen = this.getMessengerContext()?.thread.id;
  }

  whatWasSeen() {
    return this.seen;
  }
}

interface Delivered {
  readonly posts: string[];
  readonly stages: string[];
  readonly cancelled: string[];
}

interface Refusals {
  readonly delivery?: MessengerDeliveryPolicy;
  readonly refuses?: (post: string) => boolean;
}

/** Against a real turn; a post of a stream is its text. */
async function delivered(steps: Step[], { delivery = {}, refuses = () => false }: Refusals = {}): Promise<Delivered> {
  script = createScript(steps);
  const host = createTestHost({ agents: { Bot } });
  const target = await host.get(Bot, "main");
  const result: Delivered = { posts: [], stages: [], cancelled: [] };
  await host.external(
    deliverMessengerReply({
      event: EVENT,
      target: {
        chat: (message, callback) => target.chat(message, callback),
        chatWithMessengerContext: (message, callback, context) =>
          target.chatWithMessengerContext(message, callback, context),
        cancelChat: (requestId) => void result.cancelled.push(requestId)
      },
      surface: {
        startTyping: () => Promise.reject(new Error("no typing")),
        post: async (message) => {
          let shown = "";
          if (typeof message === "string") shown = message;
          else if ("markdown" in message) shown = message.markdown;
          else for await (const piece of message) shown += piece;
          if (refuses(shown)) throw new Error("post refused");
          result.posts.push(shown);
        }
      },
      delivery,
      checkpoint: (stage) => void result.stages.push(stage)
    })
  );
  expect(await target.whatWasSeen()).toBe("own:1");
  return result;
}

test("the answer is posted as it grows, and the stages follow each other", async () => {
  const { posts, stages } = await delivered([reply(text("Hello, "), text("Ada!"))]);
  expect([posts, stages]).toEqual([["Hello, Ada!"], ["accepted", "streaming", "completed"]]);
});

test("with a soft limit of 2 and a splitText that returns its input, hello is he and llo", async () => {
  const delivery = { visibleSoftLimit: 2, splitText: (rest: string) => [rest] };
  expect((await delivered([reply(text("hello"))], { delivery })).posts).toEqual(["he", "llo"]);
});

test("an answer without text is the empty text, and nothing was streaming", async () => {
  const { posts, stages } = await delivered([reply()], { delivery: { emptyResponseText: "Nothing." } });
  expect([posts, stages]).toEqual([["Nothing."], ["accepted", "completed"]]);
});

test("a failed turn posts the general text, and nothing of the error", async () => {
  const failing: Step = () => {
    throw new Error("secret database hostname");
  };
  const { posts } = await delivered([failing, failing, failing, failing, failing]);
  expect(posts).toEqual(["I cannot answer right now. Please try again later."]);
});

test("a post that fails cancels the turn by its id, and ends with the error text once", async () => {
  const { posts, cancelled, stages } = await delivered([reply(text("Hello"))], { refuses: (post) => post === "Hello" });
  expect(posts).toEqual(["I cannot answer right now. Please try again later."]);
  expect([cancelled.length, stages.at(-1)]).toEqual([1, "completed"]);
});
