import { createTestHost, FakeSlack } from "everthink/testing";
import { afterEach, expect, test, vi } from "vitest";
import Assistant from "../agents/assistant/agent.ts";

const env = { SLACK_BOT_TOKEN: "xoxb-test", SLACK_SIGNING_SECRET: "signing" };
const url = "http://localhost/agents/assistant/main/messengers/slack/webhook";

let deployed: string[] = [];

/** With a deployment that only counts. */
class Counting extends Assistant {
  override async deploy(service: string) {
    deployed.push(service);
  }
}

afterEach(() => {
  deployed = [];
  vi.unstubAllGlobals();
});

test("asks before it deploys, and the button still works after a crash", async () => {
  const slack = new FakeSlack({ token: "xoxb-test", signingSecret: "signing" });
  vi.stubGlobal("fetch", slack.fetch);
  const host = createTestHost({ agents: { Assistant: Counting }, env });
  await host.fetch(slack.says("Deploy shop", { url }));
  await host.advance(10_000);
  expect(slack.texts()[0]).toBe("I ask first. It waits for a decision.");
  await host.restart();
  await host.fetch(slack.presses("Approve", { url }));
  await host.advance(10_000);
  expect(slack.texts().slice(1)).toEqual([expect.stringContaining("Approved by ada"), "The decision is carried out."]);
  expect(deployed).toEqual(["shop"]);
});

test("a message that Slack did not sign is refused", async () => {
  const slack = new FakeSlack({ token: "xoxb-test", signingSecret: "another" });
  vi.stubGlobal("fetch", slack.fetch);
  const host = createTestHost({ agents: { Assistant }, env });
  expect((await host.fetch(slack.says("Hello", { url }))).status).toBe(401);
  await host.advance(10_000);
  expect(slack.texts()).toEqual([]);
});
