// What bounds a bot: what it answers, how much waits, how long it tries, and what it leaves behind.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { action, type ReplyAttachment } from "../../src/index.ts";
import { createGate, reply, text, toolCall } from "../../src/testing/index.ts";
import { TurnEngine } from "../../src/turn/engine.ts";
import { discordDriver } from "./messenger-drivers.ts";
import * as providers from "./messenger-providers-kit.ts";
import { answered, open, presses, says, scene, Support, type Host } from "./messengers-kit.ts";
import { DAY_MS } from "../kit/time.ts";

beforeEach(() => {
  for (const level of ["error", "warn"] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const shown = () => scene.telegram.texts();
const ignored = () =>
  scene.events.flatMap((event) => (event.type === "messenger:ignored" ? [event.payload.reason] : []));
const prompts = () => scene.script.calls.map(({ prompt }) => JSON.stringify(prompt));

// ── What it answers ──

const CARD: ReplyAttachment = {
  type: "card",
  payload: {
    type: "card",
    title: "Order 7",
    children: [{ type: "actions", children: [{ type: "button", id: "refund", label: "Refund", value: "7" }] }]
  }
};
const order = action({
  description: "Shows an order.",
  inputSchema: z.object({}),
  execute: (_input, { attachReply }) => {
    attachReply(CARD);
    return "shown";
  }
});
const TRIGGERS = ["direct-message", "mention", "subscribed-thread", "action"] as const;
const GROUP = { chatId: -100, chatType: "group" };

const SENT: Record<(typeof TRIGGERS)[number], (host: Host) => Promise<unknown>> = {
  "direct-message": (host) => says(host, "Hello"),
  mention: (host) => says(host, "@support_bot hello", GROUP),
  "subscribed-thread": async (host) => {
    await says(host, "@support_bot hello", GROUP);
    await answered(host);
    return says(host, "and now?", GROUP);
  },
  action: async (host) => {
    await says(host, "My order?");
    await answered(host, 20_000);
    return presses(host, "Refund");
  }
};

describe.each(TRIGGERS)("respondTo without %s", (trigger) => {
  test.each([false, true])("answers it: %s", async (isListed) => {
    const before = trigger === "subscribed-thread" ? 1 : trigger === "action" ? 2 : 0;
    const first = trigger === "action" ? [reply(toolCall("order", {}))] : [];
    const respondTo = TRIGGERS.filter((one) => isListed || one !== trigger);
    const host = await open([...first, ...Array(5).fill(reply(text("Yes.")))], {
      actions: () => ({ order }),
      definition: { respondTo, conversation: "self" }
    });
    await SENT[trigger](host);
    await answered(host);
    expect([scene.script.calls.length, ignored()]).toEqual(
      isListed ? [before + 1, []] : [before, ["not-in-respondTo"]]
    );
  });
});

test("messages that come while a question is open are one question after it", async () => {
  const first = createGate();
  const host = await open([reply(first.wait(), text("One.")), ...Array(5).fill(reply(text("Two.")))]);
  await says(host, "first");
  await answered(host);
  await says(host, "second");
  await answered(host);
  // What another chat brings makes the bot look at what waits.
  await says(host, "elsewhere", { chatId: 9, from: { id: 9, first_name: "Grace" } });
  await answered(host);
  await says(host, "third");
  await answered(host);
  first.open();
  await answered(host, 20_000);
  expect(prompts()).toEqual([
    expect.stringContaining("first"),
    expect.stringContaining("elsewhere"),
    expect.stringMatching(/second[\s\S]*third/)
  ]);
  expect(scene.telegram.texts(7)).toEqual(["One.", "Two."]);
});

// ── What waits ──

test("a message that waits longer than a week is answered", async () => {
  const host = await open(Array(3).fill(reply(text("At last."))), { definition: { debounceMs: 9 * DAY_MS } });
  await says(host, "I can wait");
  await host.advance(8 * DAY_MS);
  // Webhooks are when old events are deleted.
  await says(host, "Another chat", { chatId: 9, from: { id: 9, first_name: "Grace" } });
  await host.advance(2 * DAY_MS);
  await answered(host);
  expect(scene.telegram.texts(7)).toEqual(["At last."]);
});

test("with 10,000 messages that wait the next one is refused, so that its provider repeats it", async () => {
  const host = await open([reply(text("Hello."))]);
  await says(host, "Hello");
  await answered(host);
  const fill = (count: number) =>
    host.sql(
      Support,
      "main",
      `INSERT INTO cf_work (kind, key, lane, payload, due_at, created_at)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
       SELECT 'messenger-reply', 'k' || i, 'telegram' || char(10) || 'telegram:-' || i, '{}', ${Number.MAX_SAFE_INTEGER},
         ${host.now} FROM n`
    );
  fill(9_999);
  expect((await says(host, "The last one")).status).toBe(200);
  expect((await says(host, "One too many")).status).toBe(503);
  const [row] = host.sql<{ n: number }>(
    Support,
    "main",
    "SELECT COUNT(*) AS n FROM cf_work WHERE kind = 'messenger-reply' AND settled_at IS NULL"
  );
  expect(row?.n).toBe(10_000);
});

// ── How long it tries ──

/** From now on the provider does this with every message that is posted or edited. */
function providerThat(answer: (call: () => Promise<Response>) => Promise<Response>): { calls: number } {
  const seen = { calls: 0 };
  vi.stubGlobal("fetch", (input: string | Request, init?: RequestInit) => {
    const url = input instanceof Request ? input.url : input;
    if (!/\/(send(?!ChatAction)|edit)/.test(url)) return scene.telegram.fetch(input, init);
    seen.calls += 1;
    return answer(() => scene.telegram.fetch(input, init));
  });
  return seen;
}

test("a provider that never says what it did is not sent one beginning after the other", async () => {
  const host = await open([reply(text("An answer that is long enough to have a beginning of its own."))]);
  const seen = providerThat(async (call) => {
    await call();
    throw new TypeError("fetch failed");
  });
  await says(host, "Hello");
  await answered(host, 2 * DAY_MS);
  // Two messages, the answer and the note that it may not have arrived, each begun thirteen times and once whole.
  expect(seen.calls).toBeLessThanOrEqual(30);
  expect(shown().filter((one) => one.endsWith("of its own."))).toHaveLength(1);
  await host.advance(DAY_MS);
  expect(seen.calls).toBeLessThanOrEqual(30);
});

test("a reply that always fails is given up after about a day, and said so", async () => {
  const host = await open([reply(text("Hello."))]);
  const seen = providerThat(async () =>
    Response.json({ ok: false, error_code: 500, description: "Internal Server Error" }, { status: 500 })
  );
  await says(host, "Hello");
  await answered(host, 3 * DAY_MS);
  const { calls } = seen;
  const failures = scene.events.flatMap((event) => (event.type === "messenger:failed" ? [event.payload] : []));
  expect([failures.length, failures.at(-1)?.retryInMs]).toEqual([300, undefined]);
  await host.advance(3 * DAY_MS);
  expect([seen.calls, calls > 300]).toEqual([calls, true]);
}, 60_000);

// ── What it leaves behind ──

test.each([
  ["an upload", "files.completeUploadExternal"],
  ["an answer with a file", "chat.postMessage"]
])("the bytes of %s that is given up are deleted", async (_what, call) => {
  const { openBot } = providers;
  const chart = action({
    description: "Draws.",
    inputSchema: z.object({}),
    execute: (_input, { attachReply }) => {
      attachReply({ type: "file", data: btoa("bytes"), name: "chart.txt", mediaType: "text/plain" });
      return "drawn";
    }
  });
  const host = await openBot("slack", [reply(toolCall("chart", {})), reply(text("Here."))], {
    actions: () => ({ chart }),
    definition: { conversation: "self" }
  });
  const driver = providers.bot.driver;
  driver.fake.failNext(call, { status: 429, retryAfterSeconds: 3_600 });
  await providers.asks(host, "Draw");
  await providers.answered(host, 20_000);
  const kept = async () => (await host.get(providers.Support, "main")).keptUploads();
  expect(await kept()).toHaveLength(1);
  // The class does not declare this messenger any more.
  providers.bot.driver = discordDriver();
  await host.restart();
  await kept();
  await providers.answered(host, 2 * 3_600_000);
  expect(await kept()).toEqual([]);
});

test("no listener of a question stays after its answer", async () => {
  const listen = TurnEngine.prototype.listen;
  let listening = 0;
  vi.spyOn(TurnEngine.prototype, "listen").mockImplementation(function (this: TurnEngine, listener) {
    listening += 1;
    const stop = listen.call(this, listener);
    return () => {
      listening -= 1;
      stop();
    };
  });
  const host = await open(Array(12).fill(reply(text("Yes."))), { definition: { conversation: "self" } });
  await says(host, "Hello");
  await answered(host);
  const before = listening;
  for (let count = 0; count < 10; count += 1) {
    await says(host, `Question ${count}`);
    await answered(host);
  }
  expect([scene.script.calls.length, listening]).toEqual([11, before]);
});
