import { createTestHost, FakeSlack } from "everthink/testing";
import { afterEach, expect, test, vi } from "vitest";
import { Scripted } from "./scripted.ts";

const env = { SLACK_BOT_TOKEN: "xoxb-test", SLACK_SIGNING_SECRET: "signing", SLACK_APPROVERS: "U5, U7" };
const url = "http://localhost/agents/assistant/main/messengers/slack/webhook";

let deployed: string[] = [];

/** With a deployment that only counts. */
class Counting extends Scripted {
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

test("only people who are named decide, by a press in Slack, and a thread has no address for others", async () => {
  const slack = new FakeSlack({ token: "xoxb-test", signingSecret: "signing" });
  vi.stubGlobal("fetch", slack.fetch);
  const host = createTestHost({ agents: { Counting }, env });
  const root = "http://localhost/agents/counting/main";
  await host.fetch(slack.says("Deploy shop", { url: `${root}/messengers/slack/webhook` }));
  await host.advance(10_000);
  await host.fetch(slack.presses("Approve", { url: `${root}/messengers/slack/webhook`, user: "U9" }));
  await host.advance(10_000);
  expect(slack.texts().at(-1)).toContain("Only people in SLACK_APPROVERS");
  const main = await host.get(Counting, "main");
  const [thread] = await main.listSubAgents();
  const address = `${root}/sub/counting/${encodeURIComponent(thread?.name ?? "")}`;
  expect((await host.fetch(`${address}/get-messages`)).status).toBe(403);
  expect((await host.fetch(`${address}/approvals`)).status).toBe(403);
  // In the page's own conversation, a client that claims to be one of them is not.
  await main.saveMessages([{ id: "q", role: "user", parts: [{ type: "text", text: "Deploy shop" }] }]);
  const [waiting] = await main.pendingApprovals();
  const claim = await host.fetch(`${root}/approvals/${waiting?.executionId}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ decision: "approve", by: "slack:U7" })
  });
  expect([claim.status, deployed]).toEqual([409, []]);
});

test("a message that Slack did not sign is refused", async () => {
  const slack = new FakeSlack({ token: "xoxb-test", signingSecret: "another" });
  vi.stubGlobal("fetch", slack.fetch);
  const host = createTestHost({ agents: { Assistant: Scripted }, env });
  expect((await host.fetch(slack.says("Hello", { url }))).status).toBe(401);
  await host.advance(10_000);
  expect(slack.texts()).toEqual([]);
});
