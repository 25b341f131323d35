// What holds for every provider, from the webhook to what the user sees. The fake server's messages decide.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { action } from "../../src/index.ts";
import { createGate, reply, text, toolCall } from "../../src/testing/index.ts";
import { DRIVERS, webhookUrl } from "./messenger-drivers.ts";
import { answered, asks, bot, openBot, Support, type Host } from "./messenger-providers-kit.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const shown = () => bot.driver.fake.texts();
const LONG = "Let me see what two and two are, all things considered";

describe.each(DRIVERS)("$name", ({ name }) => {
  test("a message is answered in its chat", async () => {
    const host = await openBot(name, [reply(text("Hello, Ada!"))]);
    expect((await asks(host, "Hello")).status).toBe(200);
    await answered(host);
    expect(shown()).toEqual(["Hello, Ada!"]);
  });

  test("a forged webhook is answered 401 and leaves no trace; another method 405", async () => {
    const host = await openBot(name, [reply(text("never"))]);
    const forged = await bot.driver.forged(bot.driver.says("Hello"));
    expect(forged.length).toBeGreaterThan(1);
    for (const request of forged) expect((await host.fetch(request)).status).toBe(401);
    expect((await host.fetch(webhookUrl(name))).status).toBe(405);
    await answered(host);
    expect(bot.script.calls).toEqual([]);
    expect(shown()).toEqual([]);
  });

  test("a body of more than 4 MiB is refused before it is verified", async () => {
    const host = await openBot(name, []);
    const { headers } = bot.driver.says("Hello");
    const post = (bytes: number) =>
      host.fetch(new Request(webhookUrl(name), { method: "POST", headers, body: "x".repeat(bytes) }));
    expect((await post(4 * 1024 * 1024 + 1)).status).toBe(413);
    expect((await post(4 * 1024 * 1024)).status).not.toBe(413);
  });

  test("a webhook that comes twice, by racing requests or after a restart, is one turn and one reply", async () => {
    const host = await openBot(name, [reply(text("once")), reply(text("twice"))]);
    const request = bot.driver.says("Hello");
    const copies = [1, 2, 3].map(() => request.clone() as Request);
    await Promise.all([request, copies[0]].map((one) => host.fetch(one as Request)));
    await answered(host);
    expect((await host.fetch(copies[1] as Request)).status).toBe(200);
    await answered(host);
    await host.restart();
    expect((await host.fetch(copies[2] as Request)).status).toBe(200);
    await answered(host);
    expect(shown()).toEqual(["once"]);
  });

  test("messages within the pause are one question, also when they come out of order", async () => {
    const host = await openBot(name, [reply(text("Both read."))]);
    const first = bot.driver.says("the first");
    await host.fetch(bot.driver.says("the second"));
    await host.fetch(first);
    await answered(host);
    expect(shown()).toEqual(["Both read."]);
    const prompt = JSON.stringify(bot.script.calls[0]?.prompt);
    expect([prompt.includes("the first"), prompt.includes("the second")]).toEqual([true, true]);
  });

  test("in a group the bot answers mentions of users, and no other bot", async () => {
    const host = await openBot(name, [reply(text("Hi group"))]);
    if (bot.driver.mention === undefined) return;
    await asks(host, "just talking", { in: "group" });
    await asks(host, `${bot.driver.mention} hello`, { in: "group", by: "bot" });
    await answered(host);
    expect(shown()).toEqual([]);
    await asks(host, `${bot.driver.mention} hello`, { in: "group", by: "grace" });
    await answered(host);
    expect(shown()).toEqual(["Hi group"]);
    expect(JSON.stringify(bot.script.calls[0]?.prompt)).toMatch(/Grace[^"]*: @support_bot hello/);
  });

  test("a streamed answer is one message, edited to its end", async () => {
    const slow = createGate();
    const definition = { capabilities: { canStream: true } };
    const host = await openBot(name, [reply(text(LONG), slow.wait(), text(": it is 4."))], { definition });
    await asks(host, "2 + 2?");
    await answered(host, 4_000);
    expect(shown()).toEqual([LONG]);
    slow.open();
    await answered(host);
    expect(bot.driver.fake.messages().map(({ versions }) => versions.at(-1))).toEqual([`${LONG}: it is 4.`]);
    expect(bot.driver.fake.calls.filter((call) => call.name === bot.driver.fake.postCall)).toHaveLength(1);
  });

  test("Markdown arrives as it was written", async () => {
    const markdown = "**Bold** and `code`:\n\n```ts\nconst a = 1;\n```\n\n- one\n- two";
    const host = await openBot(name, [reply(text(markdown))]);
    await asks(host, "Show me");
    await answered(host);
    expect(shown()).toEqual([markdown]);
  });

  test("12,000 characters arrive complete and in order, in messages the provider takes", async () => {
    const paragraphs = Array.from({ length: 120 }, (_, index) => `Paragraph ${index}: ${"word ".repeat(17)}end.`);
    const host = await openBot(name, [reply(text(paragraphs.join("\n\n")))]);
    await asks(host, "Tell me everything");
    await answered(host, 20_000);
    expect(shown().join("\n\n").split("\n\n")).toEqual(paragraphs);
  });

  test("a failed turn posts the general text, and nothing of the error", async () => {
    const host = await openBot(name, [
      () => {
        throw new Error("secret database hostname");
      }
    ]);
    await asks(host, "Hello");
    await answered(host, 400_000);
    expect(shown()).toEqual(["I cannot answer right now. Please try again later."]);
    expect(JSON.stringify(bot.driver.fake.calls)).not.toContain("hostname");
  });

  test.each(["postCall", "editCall"] as const)(
    "429 for a %s is waited for, and the text arrives once",
    async (call) => {
      const slow = createGate();
      const host = await openBot(name, [reply(text(LONG), slow.wait(), text(" end."))]);
      bot.driver.fake.failNext(bot.driver.fake[call], { status: 429, retryAfterSeconds: 3 });
      await asks(host, "Hello");
      await answered(host, 2_000);
      slow.open();
      await answered(host, 60_000);
      expect(shown()).toEqual([`${LONG} end.`]);
    }
  );

  test("a long 429 leaves the reply to the object's wake, also over a restart", async () => {
    const host = await openBot(name, [reply(text("Patience."))]);
    bot.driver.fake.failNext(bot.driver.fake.postCall, { status: 429, retryAfterSeconds: 600 });
    await asks(host, "Hello");
    await answered(host);
    expect(shown()).toEqual([]);
    await host.restart();
    await answered(host, 601_000);
    expect(shown()).toEqual(["Patience."]);
  });

  test.each(["postCall", "editCall"] as const)("an answer of 500 to a %s is tried again", async (call) => {
    const host = await openBot(name, [reply(text("Here."))]);
    for (let times = 0; times < 2; times += 1) bot.driver.fake.failNext(bot.driver.fake[call], { status: 500 });
    await asks(host, "Hello");
    await answered(host, 120_000);
    expect(shown()).toEqual(["Here."]);
  });

  test.each(["lost", "unanswered", "silent"] as const)(
    "a %s post costs a beginning at most, never the answer",
    async (fault) => {
      const host = await openBot(name, [reply(text("Once only."))]);
      bot.driver.fake.failNext(bot.driver.fake.postCall, fault);
      await asks(host, "Hello");
      await answered(host, 120_000);
      expect(shown().filter((one) => one !== "…")).toEqual(["Once only."]);
    }
  );

  test("an edit that is refused does not cost the answer: it is posted anew", async () => {
    const slow = createGate();
    const host = await openBot(name, [reply(text(LONG), slow.wait(), text(" and the end."))]);
    await asks(host, "Hello");
    await answered(host, 4_000);
    bot.driver.fake.failNext(bot.driver.fake.editCall, { status: 400 });
    slow.open();
    await answered(host, 60_000);
    expect(shown().filter((one) => one === `${LONG} and the end.`)).toHaveLength(1);
  });

  // ── Approvals ──

  let deployed: string[] = [];
  const actions = () => ({
    deploy: action({
      description: "Deploys.",
      inputSchema: z.object({ ref: z.string() }),
      kind: "durable-pause",
      approvalSummary: "Deploy to production",
      execute: ({ ref }) => void deployed.push(ref)
    })
  });

  async function parked(conversation: "thread" | "self" = "thread"): Promise<Host> {
    deployed = [];
    const steps = [
      reply(toolCall("deploy", { ref: "v2" })),
      reply(text("Please approve.")),
      reply(text("Deployed v2."))
    ];
    const host = await openBot(name, steps, { actions, definition: { conversation } });
    await asks(host, "Deploy v2");
    await answered(host);
    return host;
  }

  test.each(["thread", "self"] as const)("in %s mode a press resolves a parked action once", async (conversation) => {
    const host = await parked(conversation);
    expect(bot.driver.fake.messages().at(-1)?.buttons).toEqual(["Approve", "Reject"]);
    const press = bot.driver.presses("Approve");
    const again = press.clone() as Request;
    expect((await host.fetch(press)).status).toBe(200);
    await answered(host);
    await host.fetch(again);
    await answered(host);
    expect(deployed).toEqual(["v2"]);
    expect(shown().filter((one) => one === "Deployed v2.")).toHaveLength(1);
    const question = bot.driver.fake.messages().find(({ text: said }) => said.includes("Approved by"));
    expect(question?.buttons).toEqual([]);
    expect(question?.text).toMatch(/Approved by ada|Approved by Ada/i);
  });

  test("a second press, also another user's, reports that it is resolved", async () => {
    const host = await parked();
    const second = bot.driver.presses("Approve", { by: "grace" });
    await host.fetch(bot.driver.presses("Reject"));
    await answered(host);
    await host.fetch(second);
    await answered(host);
    expect(deployed).toEqual([]);
    expect(shown()).toContain("Already resolved.");
  });

  test("a press of a user that authorizeApproval refuses changes nothing", async () => {
    const host = await parked();
    const asked: unknown[] = [];
    bot.mayDecide = ({ by }) => {
      asked.push(by);
      return by !== bot.driver.grace;
    };
    await host.fetch(bot.driver.presses("Approve", { by: "grace" }));
    await answered(host);
    expect([asked, deployed]).toEqual([[bot.driver.grace], []]);
    await host.fetch(bot.driver.presses("Approve"));
    await answered(host);
    expect(deployed).toEqual(["v2"]);
  });

  test("a decision from the web inbox closes the question in the chat", async () => {
    const host = await parked("self");
    const agent = await host.get(Support, "main");
    const [pending] = await agent.pendingApprovals();
    await agent.approveExecution(pending?.executionId ?? "");
    await answered(host);
    expect([deployed, shown().at(-1)]).toEqual([["v2"], "Deployed v2."]);
    expect(bot.driver.fake.messages().some(({ buttons }) => buttons.length > 0)).toBe(false);
  });
});
