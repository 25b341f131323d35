// `deliverMessengerReply` and its parts, for code that runs a chat of its own.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  deliverMessengerReply,
  messengerReplyFailureMode,
  messengerReplyRecoveryMode,
  messengerReplySnapshot,
  parseMessengerReplySnapshot,
  TextStreamCallback,
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

describe("TextStreamCallback", () => {
  const delta = (value: string) => JSON.stringify({ type: "text-delta", id: "1", delta: value });

  test("only what is within the limit is visible, and the rest remains", async () => {
    const callback = new TextStreamCallback({ visibleSoftLimit: 5 });
    for (const piece of [delta("hello"), "no JSON", JSON.stringify({ type: "finish" }), delta(" world")]) {
      callback.onEvent(piece);
    }
    const visible = [];
    for await (const piece of callback.stream()) visible.push(piece);
    expect([visible, callback.remainingText(), callback.visibleLimitReached()]).toEqual([["hello"], " world", true]);
  });

  test("a failure comes behind what was pending; an interruption ends without one", async () => {
    const failed = new TextStreamCallback();
    failed.onEvent(delta("so far"));
    failed.onError("it broke");
    const read: string[] = [];
    const reading = (async () => {
      for await (const piece of failed.stream()) read.push(piece);
    })();
    await expect(reading).rejects.toThrow("it broke");
    expect(read).toEqual(["so far"]);
    const interrupted = new TextStreamCallback();
    interrupted.onInterrupted();
    expect((await interrupted.stream().next()).done).toBe(true);
    expect([interrupted.wasInterrupted(), interrupted.hasText()]).toEqual([true, false]);
  });
});

describe("snapshots", () => {
  test("survive JSON without what the provider sent, and fill in their tag", () => {
    const stored: unknown = JSON.parse(JSON.stringify(messengerReplySnapshot("streaming", EVENT)));
    const { raw: _raw, ...event } = EVENT;
    expect(parseMessengerReplySnapshot(stored)).toEqual({
      type: "think:messenger-reply",
      stage: "streaming",
      event,
      tag: { stage: "streaming", kind: "interim", turnEnded: false }
    });
    const custom = { stage: "done", kind: "command", turnEnded: true } as const;
    expect(parseMessengerReplySnapshot({ ...(stored as object), tag: custom })?.tag).toEqual(custom);
  });

  test.each([
    [{ type: "other" }],
    [{ type: "think:messenger-reply", stage: "lost", event: {} }],
    [{ type: "think:messenger-reply", stage: "accepted" }],
    [undefined]
  ])("%j is none", (value) => expect(parseMessengerReplySnapshot(value)).toBeNull());

  test("say what a restart does, and what a failure says", () => {
    const stages = ["accepted", "streaming", "completed"] as const;
    expect(stages.map((stage) => messengerReplyRecoveryMode({ stage }))).toEqual(["answer", "apologize", "complete"]);
    expect([
      messengerReplyFailureMode(true, true, true),
      messengerReplyFailureMode(true, true, false),
      messengerReplyFailureMode(true, false, false),
      messengerReplyFailureMode(false, false, false)
    ]).toEqual(["none", "error", "interrupted", "error"]);
  });
});
