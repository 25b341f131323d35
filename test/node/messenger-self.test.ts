// Several threads in one conversation, and several conversations in one thread.
import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { action } from "../../src/index.ts";
import { reply, text, toolCall, type FakeSlack } from "../../src/testing/index.ts";
import { webhookUrl } from "./messenger-drivers.ts";
import { answered, bot, openBot } from "./messenger-providers-kit.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

test("the answer after an approval is in the thread that asked, though another has asked since", async () => {
  const deploy = action({
    description: "Deploys.",
    inputSchema: z.object({ ref: z.string() }),
    kind: "durable-pause",
    execute: () => "done"
  });
  const steps = [
    reply(toolCall("deploy", { ref: "v2" })),
    reply(text("Please approve.")),
    reply(text("Good morning, Grace.")),
    reply(text("Deployed."))
  ];
  const host = await openBot("slack", steps, {
    actions: () => ({ deploy }),
    definition: { conversation: "self" }
  });
  const slack = bot.driver.fake as FakeSlack;
  const url = webhookUrl("slack");
  await host.fetch(slack.says("Deploy v2", { url }));
  await answered(host);
  await host.fetch(slack.says("Hello", { url, channel: "D9", user: "U9" }));
  await answered(host);
  await host.fetch(slack.presses("Approve", { url }));
  await answered(host);
  const texts = (channel: string) => slack.messages(channel).map(({ text: shown }) => shown);
  expect(texts("D7").at(-1)).toBe("Deployed.");
  expect(texts("D9")).toEqual(["Good morning, Grace."]);
});

test("a decision in one conversation of a thread leaves the question of another open", async () => {
  const deployed: string[] = [];
  const deploy = action({
    description: "Deploys.",
    inputSchema: z.object({ ref: z.string() }),
    kind: "durable-pause",
    execute: ({ ref }) => void deployed.push(ref)
  });
  const parks = (ref: string) => [reply(toolCall("deploy", { ref })), reply(text("Please approve."))];
  const host = await openBot("slack", [...parks("v1"), ...parks("v2"), reply(text("Second.")), reply(text("First."))], {
    actions: () => ({ deploy }),
    definition: { conversation: ({ message }) => ({ target: "subagent", name: message?.text ?? "" }) }
  });
  const slack = bot.driver.fake as FakeSlack;
  const url = webhookUrl("slack");
  for (const name of ["first", "second"]) {
    await host.fetch(slack.says(name, { url }));
    await answered(host);
  }
  for (const decided of [["v2"], ["v2", "v1"]]) {
    await host.fetch(slack.presses("Approve", { url }));
    await answered(host);
    expect(deployed).toEqual(decided);
  }
});

const note = action({
  description: "Attaches a note.",
  inputSchema: z.object({ subject: z.string() }),
  execute: ({ subject }, { attachReply }) => {
    attachReply({ type: "email_draft", subject });
    return "noted";
  }
});

test.each([1, 9])(
  "an answer that its provider held up is followed by its own attachments, though %i turns have ended since",
  async (others) => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const steps = (name: string) => [
      reply(toolCall("note", { subject: `Note ${name}` })),
      reply(text(`Answer ${name}`))
    ];
    const names = Array.from({ length: others }, (_, index) => `U${index}`);
    const host = await openBot("slack", [...steps("Ada"), ...names.flatMap(steps)], {
      actions: () => ({ note }),
      definition: { conversation: "self" }
    });
    const slack = bot.driver.fake as FakeSlack;
    const url = webhookUrl("slack");
    slack.failNext(slack.postCall, { status: 429, retryAfterSeconds: 900 });
    await host.fetch(slack.says("Note it", { url }));
    await answered(host);
    for (const user of names) {
      await host.fetch(slack.says("Note it", { url, channel: `D${user}`, user }));
      await answered(host);
    }
    expect(slack.messages("D7")).toEqual([]);
    await host.restart();
    await answered(host, 901_000);
    const shown = (channel: string) => slack.messages(channel).map(({ text: said }) => said);
    expect(shown("D7")).toEqual(["Answer Ada", expect.stringContaining("Subject: Note Ada")]);
    for (const user of names) expect(shown(`D${user}`)[1]).toContain(`Subject: Note ${user}`);
  }
);
