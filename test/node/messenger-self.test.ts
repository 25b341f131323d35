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
