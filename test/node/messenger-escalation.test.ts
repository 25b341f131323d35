// A question in a chat that is escalated: the chat says so once, whatever died, whichever agent of the tree asked.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { action } from "../../src/index.ts";
import { everyCrash, reply, text, toolCall } from "../../src/testing/index.ts";
import { DRIVERS } from "./messenger-drivers.ts";
import { answered, bot, openBot, Support, type Host } from "./messenger-providers-kit.ts";

const MINUTE_MS = 60_000;

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** A deployment that waits in a chat. */
async function parked(name: string, conversation: "self" | "thread", to: readonly string[] = ["boss"]): Promise<Host> {
  const deploy = action({
    description: "Deploys.",
    inputSchema: z.object({ ref: z.string() }),
    kind: "durable-pause",
    approvalSummary: "Deploy to production",
    approvals: { from: ["ann", `${name}:ada`], escalate: { after: "30 minutes", to } },
    execute: () => "done"
  });
  const steps = [reply(toolCall("deploy", { ref: "v2" }, { id: "c1" })), ...Array(5).fill(reply(text("Well.")))];
  const host = await openBot(name, steps, { actions: () => ({ deploy }), definition: { conversation } });
  await host.fetch(bot.driver.says("Deploy v2"));
  await answered(host);
  return host;
}

const notices = () => bot.driver.fake.texts().filter((one) => one.includes("From now on boss may decide, too."));

test.each(
  DRIVERS.flatMap(({ name }) => (["self", "thread"] as const).map((conversation) => [name, conversation] as const))
)("%s, conversation %s: the chat says once that it is escalated, and to whom", async (name, conversation) => {
  const host = await parked(name, conversation);
  expect(notices()).toEqual([]);
  await host.advance(30 * MINUTE_MS);
  await answered(host);
  await host.restart();
  await host.advance(60 * MINUTE_MS);
  await answered(host);
  expect(notices()).toHaveLength(1);
});

test("what was decided in time is not said to be escalated", async () => {
  const host = await parked("slack", "self");
  const agent = await host.get(Support, "main");
  const [{ executionId } = { executionId: "" }] = await agent.pendingApprovals();
  await agent.approveExecution(executionId, { by: "ann" });
  await host.advance(60 * MINUTE_MS);
  await answered(host);
  expect(notices()).toEqual([]);
});

test("killed at every write and await, the chat says it once", async () => {
  const { points } = await everyCrash<Host>({
    create: () => parked("slack", "thread"),
    script: async (host) => {
      await host.advance(30 * MINUTE_MS);
      await answered(host);
    },
    finish: async (host) => {
      await host.advance(10 * MINUTE_MS);
      await answered(host);
    },
    // A message whose fate a crash left unknown is begun again, marked as such: what providers promise, see messengers.md.
    inspect: () => {
      expect(notices().length).toBeGreaterThan(0);
      return Math.min(1, notices().length);
    },
    points: "writes"
  });
  expect(points).toBeGreaterThan(3);
}, 120_000);
