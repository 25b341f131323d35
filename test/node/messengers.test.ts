// A Telegram bot, from the webhook to what the user sees. The fake Bot API records it.
import { tool } from "ai";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { action } from "../../src/index.ts";
import { createGate, reply, text, toolCall } from "../../src/testing/index.ts";
import { answered, open, presses, says, scene, Support, URL_OF_BOT, type Host } from "./messengers-kit.ts";

const GROUP = { chatId: -100, chatType: "group" as const };
const GRACE = { id: 9, first_name: "Grace", username: "grace" };

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const ignored = () =>
  scene.events.flatMap((event) => (event.type === "messenger:ignored" ? [event.payload.reason] : []));

test("a message is answered in its chat", async () => {
  const host = await open([reply(text("Hello, Ada!"))]);
  expect((await says(host, "Hello")).status).toBe(200);
  await answered(host);
  expect(scene.telegram.texts()).toEqual(["Hello, Ada!"]);
});

test("a webhook without the secret, or with another, is refused and leaves no trace", async () => {
  const host = await open([reply(text("never"))]);
  for (const secret of [undefined, "", "s3cret-tokeN", "s3cret-token-and-more"]) {
    const request = scene.telegram.says("Hello", { url: URL_OF_BOT });
    request.headers.delete("X-Telegram-Bot-Api-Secret-Token");
    if (secret !== undefined) request.headers.set("X-Telegram-Bot-Api-Secret-Token", secret);
    expect((await host.fetch(request)).status).toBe(401);
  }
  expect((await host.fetch(URL_OF_BOT)).status).toBe(405);
  await answered(host);
  expect(scene.telegram.calls).toEqual([]);
});

test("a webhook delivered twice, or by two racing requests, is one turn and one visible reply", async () => {
  const host = await open([reply(text("once")), reply(text("twice"))]);
  const request = scene.telegram.says("Hello", { url: URL_OF_BOT });
  const again = request.clone();
  const late = request.clone();
  await Promise.all([host.fetch(request as Request), host.fetch(again as Request)]);
  await answered(host);
  expect((await host.fetch(late as Request)).status).toBe(200);
  await answered(host);
  expect(scene.telegram.texts()).toEqual(["once"]);
});

test("a repeated webhook after a restart is one reply", async () => {
  const host = await open([reply(text("once")), reply(text("twice"))]);
  const request = scene.telegram.says("Hello", { url: URL_OF_BOT });
  const late = request.clone();
  await host.fetch(request);
  await answered(host);
  await host.restart();
  await host.fetch(late as Request);
  await answered(host);
  expect(scene.telegram.texts()).toEqual(["once"]);
});

test("one message under two update ids, out of order, is one reply", async () => {
  const host = await open([reply(text("once")), reply(text("twice"))]);
  const message = {
    message_id: 5,
    date: 1,
    from: { id: 7, is_bot: false, first_name: "Ada" },
    chat: { id: 7, type: "private" },
    text: "Hello"
  };
  for (const update_id of [12, 11]) {
    await host.fetch(scene.telegram.webhookRequest(URL_OF_BOT, { update_id, message }));
    await answered(host);
  }
  expect(scene.telegram.texts()).toEqual(["once"]);
  expect(scene.events.filter(({ type }) => type === "messenger:duplicate")).toHaveLength(1);
});

test("three messages within the pause are one question with all three texts in order", async () => {
  const host = await open([reply(text("All three read."))]);
  for (const said of ["hey", "quick question", "what is 2 + 2?"]) await says(host, said);
  await answered(host);
  expect(scene.telegram.texts()).toEqual(["All three read."]);
  const prompt = JSON.stringify(scene.script.calls[0]?.prompt);
  expect(prompt).toMatch(/hey.*quick question.*what is 2 \+ 2\?/);
});

test("a message that arrives while a long turn runs is answered afterwards", async () => {
  const slow = createGate();
  const host = await open([reply(text("first"), slow.wait(), text(" done")), reply(text("second"))]);
  await says(host, "one");
  await answered(host, 1_000);
  await says(host, "two");
  await answered(host, 300_000);
  slow.open();
  await answered(host);
  expect(scene.telegram.texts()).toEqual(["first done", "second"]);
});

test("a streamed answer is one message, edited to its end", async () => {
  const slow = createGate();
  const said = "Let me see what two and two are, all things considered";
  const host = await open([reply(text(said), slow.wait(), text(": it is 4."))]);
  await says(host, "2 + 2?");
  await answered(host, 3_000);
  expect(scene.telegram.texts()).toEqual([said]);
  slow.open();
  await answered(host);
  const [versions] = scene.telegram.messages().map((message) => message.versions);
  expect(versions).toEqual(["Let me see what two and …", said, `${said}: it is 4.`]);
  expect(scene.telegram.chatActions.length).toBeGreaterThan(0);
});

test("a group's message needs a mention, names its author, and other bots are not answered", async () => {
  const host = await open([reply(text("Hi group"))]);
  await says(host, "just talking", GROUP);
  await says(host, "@support_bot hello", { ...GROUP, from: { ...GRACE, is_bot: true } });
  await says(host, "@support_bot hello", { ...GROUP, from: GRACE });
  await answered(host);
  expect(scene.telegram.texts(-100)).toEqual(["Hi group"]);
  expect(ignored()).toEqual(["not-addressed", "bot"]);
  expect(JSON.stringify(scene.script.calls[0]?.prompt)).toContain("Grace: @support_bot hello");
});

test("a slash command is a message like any other", async () => {
  const host = await open([reply(text("Welcome!"))]);
  await says(host, "/start");
  await answered(host);
  expect(scene.telegram.texts()).toEqual(["Welcome!"]);
});

test("a failed turn posts the generic error text, and nothing of the cause", async () => {
  const host = await open([]);
  scene.inTurn = () => {
    throw new Error("secret database hostname");
  };
  await says(host, "Hello");
  await answered(host);
  expect(scene.telegram.texts()).toEqual(["I cannot answer right now. Please try again later."]);
  expect(JSON.stringify(scene.telegram.calls)).not.toContain("hostname");
});

test("an answer without text says so", async () => {
  const host = await open([reply()]);
  await says(host, "Hello");
  await answered(host);
  expect(scene.telegram.texts()).toEqual(["I have no answer to that. Please try again."]);
});

test("12,000 characters arrive complete and in order, in messages Telegram takes", async () => {
  const paragraphs = Array.from({ length: 120 }, (_, index) => `Paragraph ${index}: ${"word ".repeat(17)}end.`);
  const host = await open([reply(text(paragraphs.join("\n\n")))]);
  await says(host, "Tell me everything");
  await answered(host, 20_000);
  const shown = scene.telegram.texts();
  expect(shown.length).toBeGreaterThan(2);
  expect(shown.join("\n\n").split("\n\n")).toEqual(paragraphs);
});

test.each(["sendRichMessage", "editMessageText"])(
  "429 with retry_after for %s is waited for, and the text arrives once",
  async (name) => {
    const slow = createGate();
    const host = await open([reply(text("Half"), slow.wait(), text(" and half."))]);
    scene.telegram.failNext(name, { status: 429, retryAfterSeconds: 3 });
    await says(host, "Hello");
    await answered(host, 2_000);
    slow.open();
    await answered(host, 60_000);
    expect(scene.telegram.texts()).toEqual(["Half and half."]);
  }
);

test("a long 429 leaves the reply to the object's wake, also over a restart", async () => {
  const host = await open([reply(text("Patience."))]);
  scene.telegram.failNext("sendRichMessage", { status: 429, retryAfterSeconds: 600 });
  await says(host, "Hello");
  await answered(host);
  expect(scene.telegram.texts()).toEqual([]);
  await host.restart();
  await answered(host, 601_000);
  expect(scene.telegram.texts()).toEqual(["Patience."]);
});

test("an answer of 500 is not a posted message: it is tried again", async () => {
  const host = await open([reply(text("Here."))]);
  for (let times = 0; times < 5; times += 1) scene.telegram.failNext("sendRichMessage", { status: 500 });
  await says(host, "Hello");
  await answered(host, 120_000);
  expect(scene.telegram.texts()).toEqual(["Here."]);
});

test("a post whose answer is lost leaves a beginning at most: the answer is in the chat once", async () => {
  const host = await open([reply(text("Once only."))]);
  scene.telegram.failNext("sendRichMessage", "unanswered");
  await says(host, "Hello");
  await answered(host, 120_000);
  expect(scene.telegram.texts()).toEqual(["…", "Once only."]);
});

test("an edit that is refused does not cost the answer: it is posted anew", async () => {
  const slow = createGate();
  const host = await open([reply(text("Begin"), slow.wait(), text(" and end."))]);
  await says(host, "Hello");
  await answered(host, 1_000);
  scene.telegram.failNext("editMessageText", { status: 400 });
  slow.open();
  await answered(host, 60_000);
  expect(scene.telegram.texts().at(-1)).toBe("Begin and end.");
});

test("a failing typing indicator does not prevent the answer", async () => {
  const host = await open([reply(text("Here."))]);
  for (let times = 0; times < 9; times += 1) scene.telegram.failNext("sendChatAction", { status: 500 });
  await says(host, "Hello");
  await answered(host);
  expect(scene.telegram.texts()).toEqual(["Here."]);
});

test("text before and after a tool call are paragraphs of their own", async () => {
  const host = await open([reply(text("Looking."), toolCall("look", {})), reply(text("Found."))]);
  vi.spyOn(Support.prototype, "getTools").mockReturnValue({
    look: tool({ inputSchema: z.object({}), execute: () => "there" })
  });
  await says(host, "Hello");
  await answered(host);
  expect(scene.telegram.texts()).toEqual(["Looking.\n\nFound."]);
});

test.each(["thread", "self"] as const)(
  "in %s mode the channel's policy, its context and its notices reach the thread",
  async (conversation) => {
    const host = await open([reply(text("Done."))], { definition: { conversation } });
    const seen: unknown[] = [];
    scene.inTurn = async (agent) => {
      seen.push(agent.activeChannel?.channelId, agent.activeChannel?.thread, agent.getMessengerContext()?.thread.id);
      await agent.deliverNotice({ markdown: "Working on it." });
    };
    await says(host, "Hello");
    await answered(host);
    expect(seen).toEqual(["telegram", "telegram:7", "telegram:7"]);
    expect(scene.telegram.texts()).toEqual(["Working on it.", "Done."]);
  }
);

test("two chats are two conversations", async () => {
  const host = await open([reply(text("one")), reply(text("two"))]);
  await says(host, "from seven");
  await answered(host);
  await says(host, "from nine", { chatId: 9, from: GRACE });
  await answered(host);
  expect([scene.telegram.texts(7), scene.telegram.texts(9)]).toEqual([["one"], ["two"]]);
  expect(JSON.stringify(scene.script.calls[1]?.prompt)).not.toContain("from seven");
});

// ── Approvals ──

const inputSchema = z.object({ ref: z.string() });
let deployed: string[] = [];
const actions = () => ({
  deploy: action({
    description: "Deploys.",
    inputSchema,
    kind: "durable-pause",
    approvalSummary: "Deploy to production",
    execute: ({ ref }) => void deployed.push(ref)
  })
});

async function parked(conversation: "thread" | "self" = "thread"): Promise<Host> {
  deployed = [];
  const steps = [reply(toolCall("deploy", { ref: "v2" })), reply(text("Please approve.")), reply(text("Deployed v2."))];
  const host = await open(steps, { actions, definition: { conversation } });
  await says(host, "Deploy v2");
  await answered(host);
  return host;
}

test.each(["thread", "self"] as const)(
  "in %s mode a parked action is asked with buttons, and a press resolves it once",
  async (conversation) => {
    const host = await parked(conversation);
    expect(scene.telegram.messages().at(-1)?.buttons).toEqual(["Approve", "Reject"]);
    await presses(host, "Approve");
    await answered(host);
    expect(deployed).toEqual(["v2"]);
    expect(scene.telegram.texts().at(-1)).toBe("Deployed v2.");
    const question = scene.telegram.messages().find(({ text: shown }) => shown.includes("Approved by Ada Lovelace"));
    expect(question?.buttons).toEqual([]);
  }
);

test("a second press, also one of another user, reports that it is resolved", async () => {
  const host = await parked();
  const second = scene.telegram.presses("Approve", { url: URL_OF_BOT, from: GRACE });
  await presses(host, "Reject");
  await answered(host);
  await host.fetch(second);
  await answered(host);
  expect(deployed).toEqual([]);
  expect(scene.telegram.texts()).toContain("Already resolved.");
});

test("a press of a user that authorizeApproval refuses changes nothing", async () => {
  const host = await parked();
  const asked: unknown[] = [];
  scene.mayDecide = ({ by }) => {
    asked.push(by);
    return by === "telegram:7";
  };
  await presses(host, "Approve", { from: GRACE });
  await answered(host);
  expect([asked, deployed]).toEqual([["telegram:9"], []]);
  expect(scene.telegram.messages().some(({ buttons }) => buttons.length === 2)).toBe(true);
  await presses(host, "Approve");
  await answered(host);
  expect(deployed).toEqual(["v2"]);
});

test("an approval from the web inbox closes the question in the chat, and the answer appears there", async () => {
  const host = await parked("self");
  const agent = await host.get(Support, "main");
  const [pending] = await agent.pendingApprovals();
  await agent.approveExecution(pending?.executionId ?? "");
  await answered(host);
  expect(deployed).toEqual(["v2"]);
  expect(scene.telegram.texts().at(-1)).toBe("Deployed v2.");
  expect(scene.telegram.messages().some(({ buttons }) => buttons.length > 0)).toBe(false);
});

test("a button with a token that was never asked resolves nothing", async () => {
  const host = await parked();
  const data = 'chat:{"a":"et-yes","v":"0123456789abcdef"}';
  await host.fetch(
    scene.telegram.webhookRequest(URL_OF_BOT, {
      update_id: 9_999,
      callback_query: {
        id: "1",
        from: { id: 9, is_bot: false, first_name: "Eve" },
        message: { message_id: 1, date: 1, chat: { id: 7, type: "private" }, text: "x" },
        chat_instance: "1",
        data
      }
    })
  );
  await answered(host);
  expect(deployed).toEqual([]);
  expect(scene.telegram.texts().at(-1)).toBe("This question is not known any more.");
});
