import { expect, test } from "vitest";
import { FakeSlack } from "../../testing/index.ts";
import slackMessenger, { slackSignatureVerifier } from "./slack.ts";
import { toMarkdown } from "./slack/webhook.ts";

test.each([
  ["<https://example.com|a page> &amp; <https://example.com>", "[a page](https://example.com) & https://example.com"],
  ["<#C1|general> 1 &lt; 2", "#general 1 < 2"]
])("%s reads %s", (mrkdwn, markdown) => expect(toMarkdown(mrkdwn)).toBe(markdown));

test("a verifier without a secret believes no sender", async () => {
  const unsigned = new FakeSlack({ token: "x", signingSecret: "" }).signed("https://example.com/webhook", "{}");
  expect(await slackSignatureVerifier("")(unsigned)).toBe(false);
});

test("without a way to verify its webhooks it cannot be declared", () => {
  expect(() => slackMessenger({ token: "x", userName: "b" })).toThrow(/requires signingSecret/);
});
