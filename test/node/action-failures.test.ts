// What a developer reads when an action fails: the model is given a short error as an output and the turn goes on, so
// without a line in the log the cause would be lost.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { action } from "../../src/index.ts";
import { reply, text, toolCall } from "../../src/testing/index.ts";
import { firstWaiting, open, say, stubEntry } from "./actions-kit.ts";

let log: string[] = [];
beforeEach(() => {
  log = [];
  vi.spyOn(console, "error").mockImplementation((...words) => void log.push(words.map(String).join(" ")));
});
afterEach(() => void vi.restoreAllMocks());

const inputSchema = z.object({});
const about = { description: "Deploys.", inputSchema };
const fails = () => {
  throw new TypeError("no such project: sk-secret-0123456789");
};
const call = () => [reply(toolCall("deploy", {})), reply(text("a pity"))];

describe("one line names the agent, the action, the request and the cause, and no key, when", () => {
  test.each([
    ["execute throws", action({ ...about, execute: fails }), {}],
    ["execute rejects", action({ ...about, execute: async () => fails() }), {}],
    ["its permissions throw", action({ ...about, permissions: fails, execute: () => 1 }), {}],
    ["its approval policy throws", action({ ...about, approval: fails, execute: () => 1 }), {}],
    ["its idempotency key throws", action({ ...about, idempotencyKey: fails, execute: () => 1 }), {}],
    ["authorizeAction throws", action({ ...about, execute: () => 1 }), { authorizeAction: fails }]
  ])("%s", async (_what, deploy, overrides) => {
    const host = open(call(), { deploy }, overrides);
    await say(host, "go");
    expect(log).toEqual([
      expect.stringMatching(
        /^Clerk "\w+": the action "deploy" failed \(request [\w-]+\): .*no such project: \[key\].*at /
      )
    ]);
  });

  test("its result is not what it promised", async () => {
    const deploy = action({ ...about, outputSchema: z.number(), execute: (): unknown => "one" });
    await say(open(call(), { deploy }), "go");
    expect(log).toEqual([expect.stringContaining("its result does not match its output schema")]);
  });

  test("it was approved after its turn", async () => {
    const deploy = action({ ...about, approval: true, kind: "durable-pause", execute: fails });
    const host = open([...call(), reply(text("later"))], { deploy });
    await say(host, "go");
    const { executionId } = await firstWaiting(host);
    expect(log).toEqual([]);
    await stubEntry.approve(host, executionId);
    await host.idle();
    expect(log).toEqual([expect.stringContaining('the action "deploy" failed')]);
  });
});

test("an action that the class denies, and one that succeeds, are no failures", async () => {
  const deploy = action({ ...about, execute: () => 1 });
  await say(open(call(), { deploy }, { authorizeAction: () => false }), "go");
  await say(open(call(), { deploy }), "go");
  expect(log).toEqual([]);
});
