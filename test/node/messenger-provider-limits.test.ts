// What each provider refuses, and when: too fast, too long, a card, an edit, a chat that is gone; and webhooks that come late.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { action, type ReplyAttachment } from "../../src/index.ts";
import { createGate, reply, text, toolCall } from "../../src/testing/index.ts";
import { DRIVERS } from "./messenger-drivers.ts";
import { answered, asks, bot, openBot, Support } from "./messenger-providers-kit.ts";

beforeEach(() => {
  for (const level of ["error", "warn"] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const shown = () => bot.driver.fake.texts();
const LONG = "Let me see what two and two are, all things considered";

const CARD: ReplyAttachment = {
  type: "card",
  payload: {
    type: "card",
    title: "Order 7",
    children: [
      { type: "text", content: "On its **way**." },
      { type: "fields", children: [{ type: "field", label: "Total", value: "3 EUR" }] },
      {
        type: "actions",
        children: [
          { type: "button", id: "refund", label: "Refund", value: "order-7" },
          { type: "link-button", label: "Open", url: "https://shop.example/7" }
        ]
      }
    ]
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

describe.each(DRIVERS)("$name", ({ name }) => {
  test.each(["at once", "while it grows"])(
    "12,000 characters given %s arrive complete and in order, and no call is beyond a limit or its pace",
    async (how) => {
      const paragraphs = Array.from({ length: 120 }, (_, index) => `Paragraph ${index}: ${"word ".repeat(17)}end.`);
      const gates = how === "at once" ? [] : Array.from({ length: 12 }, createGate);
      const pieces = paragraphs.flatMap((paragraph, index) => [
        ...(index % 10 === 5 && gates[(index - 5) / 10] ? [gates[(index - 5) / 10]!.wait()] : []),
        text(index === 0 ? paragraph : `\n\n${paragraph}`)
      ]);
      const host = await openBot(name, [reply(...pieces)], {
        definition: { capabilities: { canStream: true } }
      });
      const { fake } = bot.driver;
      fake.enforcePace(() => host.now);
      await asks(host, "Tell me everything");
      for (const gate of gates) {
        await answered(host, 1_300);
        gate.open();
      }
      await answered(host, 60_000);
      expect(shown().join("\n\n").split("\n\n")).toEqual(paragraphs);
      expect(fake.tooFast).toEqual([]);
      expect(fake.calls.filter((call) => call.name === fake.postCall)).toHaveLength(shown().length);
    }
  );

  test("answers in a row are kept to the pace; a pace of the class's own that is too fast is answered 429, and waited for", async () => {
    const steps = Array.from({ length: 12 }, (_, index) => reply(text(`Answer ${index}.`)));
    for (const pace of [undefined, []]) {
      const host = await openBot(name, steps, { definition: { debounceMs: 0, ...(pace && { delivery: { pace } }) } });
      const { fake } = bot.driver;
      fake.enforcePace(() => host.now);
      for (let index = 0; index < 12; index += 1) {
        await asks(host, `Question ${index}`);
        await answered(host, 50);
      }
      await answered(host, 300_000);
      expect(
        shown()
          .filter((one) => one !== "…")
          .join()
      ).toContain("Answer 0.");
      expect(shown()).not.toContain("…");
      expect(fake.tooFast.length > 0).toBe(pace !== undefined);
    }
  });

  test("the end of an answer does not wait in line behind what was shown before it", async () => {
    const [middle, end] = [createGate(), createGate()];
    const host = await openBot(name, [reply(text(LONG), middle.wait(), text(", or so"), end.wait(), text("."))], {
      definition: { capabilities: { canStream: true }, delivery: { pace: [{ calls: 1, perMs: 60_000 }] } }
    });
    await asks(host, "Hello");
    for (const gate of [middle, end]) {
      await answered(host, 5_000);
      gate.open();
    }
    // The post was in the first second: the next call may be a minute later.
    await answered(host, 52_000);
    expect(shown()).toEqual([`${LONG}, or so.`]);
  });

  test("a message that comes late, after a newer one was answered, is answered once", async () => {
    const host = await openBot(name, [reply(text("The newer.")), reply(text("The older.")), reply(text("never"))]);
    const older = bot.driver.says("I was first");
    const again = older.clone() as Request;
    await asks(host, "I was second");
    await answered(host);
    await host.fetch(older);
    await answered(host);
    await host.fetch(again);
    await answered(host);
    expect(shown()).toEqual(["The newer.", "The older."]);
  });

  test.each(["lost", "unanswered", "silent"] as const)("an edit that is %s does not cost the answer", async (fault) => {
    const slow = createGate();
    const host = await openBot(name, [reply(text(LONG), slow.wait(), text(" and the end."))]);
    await asks(host, "Hello");
    await answered(host, 4_000);
    bot.driver.fake.failNext(bot.driver.fake.editCall, fault);
    slow.open();
    await answered(host, 120_000);
    expect(shown().filter((one) => one === `${LONG} and the end.`)).toHaveLength(1);
  });

  test("a chat that takes no message any more ends the reply, and the next question is answered", async () => {
    const host = await openBot(name, [reply(text("Not taken.")), reply(text("Taken."))]);
    const { fake } = bot.driver;
    fake.failNext(fake.postCall, { status: 403 });
    await asks(host, "Hello");
    await answered(host, 60_000);
    await asks(host, "Again");
    await answered(host);
    expect(shown()).toEqual(["Taken."]);
    expect(fake.calls.filter((call) => call.name === fake.postCall)).toHaveLength(2);
  });

  // ── Cards ──

  test("a card element is the provider's own card, and its button is an action", async () => {
    const host = await openBot(
      name,
      [reply(toolCall("order", {})), reply(text("Here it is.")), reply(text("Refunded."))],
      {
        actions: () => ({ order }),
        definition: { respondTo: ["direct-message", "action"], conversation: "self" }
      }
    );
    await asks(host, "My order?");
    await answered(host, 10_000);
    const card = bot.driver.fake.messages().at(-1);
    expect(card?.buttons).toEqual(["Refund", "Open"]);
    expect(card?.text).toMatch(/Order 7[\s\S]*On its \*{0,2}way[\s\S]*Total[\s\S]*3 EUR/);
    expect(card?.text).not.toContain('"children"');
    await host.fetch(bot.driver.presses("Refund"));
    await answered(host, 10_000);
    expect(shown().at(-1)).toBe("Refunded.");
    expect(JSON.stringify(bot.script.calls[2]?.prompt)).toMatch(/refund[\s\S]*order-7/);
  });

  const notice = { markdown: "The text.", card: { type: "card" as const, title: "The card", children: [] } };

  async function noticed(capabilities: object, isRefused: boolean): Promise<void> {
    const host = await openBot(name, [reply(text("Hello."))], { definition: { capabilities } });
    await asks(host, "Hello");
    await answered(host);
    const { fake } = bot.driver;
    if (isRefused) fake.failNext(fake.editCall, { status: 400 });
    const [row] = host.sql<{ lane: string }>(
      Support,
      "main",
      "SELECT lane FROM cf_work WHERE kind = 'messenger-reply'"
    );
    const agent = await host.get(Support, "main");
    await agent.deliverNotice(notice, { channel: name, thread: row?.lane.split("\n")[1] ?? "" });
    await answered(host, 60_000);
  }

  test.each([
    ["is shown", {}, false, "The card"],
    ["that is refused is its text, in the same message", {}, true, "The text."],
    ["is its text where there are no buttons", { supportsActions: false }, false, "The text."]
  ] as const)("a notice's card %s", async (_how, capabilities, isRefused, expected) => {
    await noticed(capabilities, isRefused);
    expect(shown()).toEqual(["Hello.", expect.stringContaining(expected)]);
  });
});
