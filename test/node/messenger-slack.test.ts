// What is Slack's own.
import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { action } from "../../src/index.ts";
import slackMessenger, { type SlackWorkspace } from "../../src/features/messengers/slack.ts";
import { FakeSlack, reply, text, toolCall, type Step } from "../../src/testing/index.ts";
import { slackDriver, webhookUrl, type Driver } from "./messenger-drivers.ts";
import { answered, bot, openBot } from "./messenger-providers-kit.ts";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const url = webhookUrl("slack");
const slack = () => bot.driver.fake as FakeSlack;

test("the challenge of url_verification is echoed", async () => {
  const host = await openBot("slack", []);
  const response = await host.fetch(
    slack().signed(url, JSON.stringify({ type: "url_verification", challenge: "abc" }))
  );
  expect([response.status, await response.json()]).toEqual([200, { challenge: "abc" }]);
});

test("app_mention and message for one message, and a retry of either, are one reply in its thread", async () => {
  const host = await openBot("slack", [reply(text("once")), reply(text("twice"))]);
  const event = { channel: "C1", user: "U9", text: "<@UBOT> hello", ts: "1790000500.000100" };
  for (const type of ["message", "app_mention", "app_mention"]) {
    await host.fetch(slack().eventRequest(url, { ...event, type }));
    await answered(host);
  }
  expect(
    slack()
      .messages()
      .map(({ text: shown, threadTs }) => [shown, threadTs])
  ).toEqual([["once", "1790000500.000100"]]);
});

test("an app in two workspaces answers each with its own token, over a restart and for files too", async () => {
  const asked: unknown[] = [];
  const token = (workspace: SlackWorkspace) => {
    asked.push(workspace);
    return `xoxb-${workspace.teamId}`;
  };
  const fake = new FakeSlack({ token: ["xoxb-T1", "xoxb-T2"], signingSecret: "signing-secret" });
  const driver: Driver = {
    ...slackDriver(),
    fake,
    messenger: (definition) =>
      slackMessenger({ token, signingSecret: "signing-secret", userName: "support_bot", ...definition })
  };
  const bytes = new TextEncoder().encode("the plan");
  const files = [{ name: "plan.txt", mediaType: "text/plain", bytes }];
  const step: Step = (call) => reply(text(JSON.stringify(call.prompt).includes("the plan") ? "two" : "one"));
  const host = await openBot("slack", [step, step], { driver });
  await host.fetch(fake.says("Hello", { url, channel: "D1", team: "T1" }));
  await host.fetch(fake.says("<@UBOT> read", { url, channel: "C2", team: "T2", files }));
  await host.restart();
  await answered(host, 20_000);
  expect(fake.messages("D1").map(({ text: shown, token: used }) => [shown, used])).toEqual([["one", "xoxb-T1"]]);
  expect(fake.messages("C2").map(({ text: shown, token: used }) => [shown, used])).toEqual([["two", "xoxb-T2"]]);
  expect(asked).not.toContainEqual({});
  expect(JSON.stringify(bot.script.calls.map(({ prompt }) => prompt))).toContain("@support_bot read");
});

function commandRequest(words: string, channel: string): Request {
  const form = { command: "/ask", text: words, channel_id: channel, user_id: "U7", trigger_id: "t.1" };
  const contentType = "application/x-www-form-urlencoded";
  return slack().signed(url, new URLSearchParams(form).toString(), { contentType });
}

test("a slash command is a question", async () => {
  const host = await openBot("slack", [reply(text("42."))]);
  expect((await host.fetch(commandRequest("the answer?", "D7"))).status).toBe(200);
  await answered(host);
  expect(slack().texts()).toEqual(["42."]);
  expect(JSON.stringify(bot.script.calls[0]?.prompt)).toContain("/ask the answer?");
});

test.each(["alone", "with answers below it"])(
  "what a slash command parks in a channel is approved by a press on its question, %s",
  async (how) => {
    const deployed: string[] = [];
    const deploy = action({
      description: "Deploys.",
      inputSchema: z.object({ ref: z.string() }),
      kind: "durable-pause",
      execute: ({ ref }) => void deployed.push(ref)
    });
    const steps = [reply(toolCall("deploy", { ref: "v2" })), reply(text("Please approve.")), reply(text("Deployed."))];
    const host = await openBot("slack", steps, { actions: () => ({ deploy }) });
    await host.fetch(commandRequest("deploy v2", "C1"));
    await answered(host);
    const asked = slack().messages("C1").at(-1);
    const [approve] = asked?.actions ?? [];
    await host.fetch(
      slack().pressRequest(url, {
        type: "block_actions",
        team: { id: "T1" },
        user: { id: "U7", name: "ada" },
        channel: { id: "C1" },
        // Slack names the thread of a message once it has answers.
        message: { ts: asked?.id, ...(how !== "alone" && { thread_ts: asked?.id }) },
        trigger_id: "t.2",
        actions: [{ type: "button", action_id: approve?.actionId, value: approve?.value }]
      })
    );
    await answered(host);
    expect([deployed, slack().texts().at(-1)]).toEqual([["v2"], "Deployed."]);
    expect(
      slack()
        .messages()
        .map(({ threadTs }) => threadTs)
    ).toEqual(["", "", ""]);
  }
);

test("an answer cannot call everyone in the channel; other marks stay as they are", async () => {
  const host = await openBot("slack", [reply(text("<!channel> <!here|x> <!subteam^S1> <!DOCTYPE html> <@U9>"))]);
  await host.fetch(bot.driver.says("Hello"));
  await answered(host);
  const [post] = slack().calls.filter(({ name }) => name === "chat.update");
  expect(JSON.stringify(post?.body)).not.toMatch(/<!(channel|here|subteam)/);
  expect(slack().texts()[0]).toContain("<!DOCTYPE html> <@U9>");
});

test("an edited or deleted message, and the bot's own, start no turn", async () => {
  const host = await openBot("slack", [reply(text("never"))]);
  const event = { type: "message", channel: "D7", user: "U7", text: "Hello", ts: "1790000600.000100" };
  await host.fetch(slack().eventRequest(url, { ...event, subtype: "message_changed" }));
  await host.fetch(slack().eventRequest(url, { ...event, user: "UBOT" }));
  await host.fetch(slack().eventRequest(url, { ...event, user: undefined, bot_id: "B0", app_id: "A1" }));
  await answered(host);
  expect(bot.script.calls).toEqual([]);
});

test("a token that Slack does not take ends the reply without a second call for each try", async () => {
  const failed = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const host = await openBot("slack", [reply(text("never seen"))], { definition: {} });
  bot.driver.messenger = (definition) =>
    slackMessenger({ token: "xoxb-other", signingSecret: "signing-secret", userName: "b", ...definition });
  await host.restart();
  await host.fetch(bot.driver.says("Hello"));
  await answered(host, 60_000);
  expect(slack().calls.filter(({ name }) => name === "chat.postMessage")).toHaveLength(1);
  expect(failed.mock.calls.flat().some((one) => String(one).includes("invalid_auth"))).toBe(true);
});
