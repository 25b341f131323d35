// What a question in the chat says in the end, and that one press is one decision, whatever decided and whatever died.
import { tool } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { createExecuteRuntime } from "../../src/features/execute/index.ts";
import { action, Think } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  createTestLoader,
  everyCrash,
  reply,
  scriptedModel,
  text,
  toolCall,
  type FakeSlack,
  type Script
} from "../../src/testing/index.ts";
import { DRIVERS, slackDriver, webhookUrl } from "./messenger-drivers.ts";
import { answered, bot, openBot, Support, type Host } from "./messenger-providers-kit.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const EXPIRY_MS = 30 * 24 * 3_600_000;
const shown = () => bot.driver.fake.texts();
const withButtons = () => bot.driver.fake.messages().filter(({ buttons }) => buttons.length > 0);
const question = () => shown().find((one) => one.includes("Deploy to production"));

async function parked(name: string, execute: () => unknown, ref = "v2"): Promise<Host> {
  const deploy = action({
    description: "Deploys.",
    inputSchema: z.object({ ref: z.string() }),
    kind: "durable-pause",
    approvalSummary: "Deploy to production",
    execute
  });
  const steps = [reply(toolCall("deploy", { ref }, { id: "c1" })), ...Array(5).fill(reply(text("Well.")))];
  const host = await openBot(name, steps, { actions: () => ({ deploy }), definition: { conversation: "self" } });
  await host.fetch(bot.driver.says("Deploy v2"));
  await answered(host);
  expect(withButtons()).toHaveLength(1);
  return host;
}

const agentOf = (host: Host) => host.get(Support, "main");
const fails = () => {
  throw new Error("The machine is on fire.");
};

describe.each(DRIVERS)("$name", ({ name }) => {
  test.each([
    ["says that it failed", () => ({ status: "error" })],
    ["throws", fails],
    ["returns a status of its own", () => ({ status: "rejected" })]
  ])("an action that %s was approved by the user who pressed", async (_how, execute) => {
    const host = await parked(name, execute);
    await host.fetch(bot.driver.presses("Approve"));
    await answered(host);
    expect(question()).toMatch(/Approved by ada/i);
    expect(shown()).not.toContain("Already resolved.");
  });

  test("a decision of another surface is shown with its name, and how it was decided", async () => {
    for (const [by, expected] of [
      ["grace@example.com", "Rejected by grace@example.com."],
      [undefined, "Rejected elsewhere."]
    ]) {
      const host = await parked(name, () => "done");
      const agent = await agentOf(host);
      const [pending] = await agent.pendingApprovals();
      await agent.rejectExecution(pending?.executionId ?? "", "no", { ...(by !== undefined && { by }) });
      await answered(host);
      expect([question(), withButtons()]).toEqual([expect.stringContaining(expected ?? ""), []]);
    }
  });

  test("of a press and a decision of another surface at the same moment one wins, and the question says which", async () => {
    const deployed: string[] = [];
    const host = await parked(name, () => deployed.push("v2"));
    const agent = await agentOf(host);
    const [pending] = await agent.pendingApprovals();
    const press = host.fetch(bot.driver.presses("Approve"));
    await Promise.all([press, agent.rejectExecution(pending?.executionId ?? "", "no", { by: "web" })]);
    await answered(host);
    expect(question()).toMatch(deployed.length === 1 ? /Approved by ada/i : /Rejected by web/);
    expect(withButtons()).toEqual([]);
  });

  test("a question that has expired says so, at a press and with the next answer", async () => {
    for (const next of [() => bot.driver.presses("Approve"), () => bot.driver.says("Hello?")]) {
      const host = await parked(name, fails);
      await host.advance(EXPIRY_MS + 1_000);
      await host.fetch(next());
      await answered(host, 10_000);
      expect([question(), withButtons()]).toEqual([expect.stringContaining("Expired."), []]);
    }
  });

  test.each(["completes", "fails"])("who approved an action that %s is recorded", async (how) => {
    const host = await parked(name, how === "fails" ? fails : () => "done");
    await host.fetch(bot.driver.presses("Approve"));
    await answered(host);
    const agent = await agentOf(host);
    const ada = bot.driver.grace.replace("9", "7");
    expect(await agent.approvalOutcome("c1")).toEqual({ how: "approved", by: ada });
  });
});

test.each([
  ["telegram", { text: expect.stringContaining("ref: \\[v2\\]\\(a\\) \\*b\\*") }],
  ["slack", { blocks: expect.arrayContaining([section("ref: [v2](a) *b*")]) }],
  ["discord", { content: expect.stringContaining("ref: \\[v2\\]\\(a\\) \\*b\\*") }],
  ["teams", { attachments: [{ content: { body: expect.arrayContaining([plainLine("ref: [v2](a) *b*")]) } }] }]
])("%s: marks in what is asked for are shown and have no effect", async (name, body) => {
  await parked(name, fails, "[v2](a) *b*");
  expect(bot.driver.fake.calls.at(-1)?.body).toMatchObject(body);
});

function section(plain: string): object {
  return { type: "section", text: { type: "plain_text", text: plain } };
}

function plainLine(plain: string): object {
  return { type: "RichTextBlock", inlines: [{ type: "TextRun", text: plain }] };
}

test("the token of a question in another chat decides nothing", async () => {
  const deployed: string[] = [];
  const host = await parked("slack", () => deployed.push("v2"));
  const slack = bot.driver.fake as FakeSlack;
  const [asked] = slack.messages().filter(({ buttons }) => buttons.length > 0);
  const stolen = asked?.actions.find(({ label }) => label === "Approve");
  await host.fetch(
    slack.pressRequest(webhookUrl("slack"), {
      type: "block_actions",
      team: { id: "T1" },
      user: { id: "U9", name: "grace" },
      channel: { id: "D9" },
      message: { ts: "1790000900.000100" },
      trigger_id: "t.9",
      actions: [{ type: "button", action_id: stolen?.actionId, value: stolen?.value }]
    })
  );
  await answered(host);
  expect(deployed).toEqual([]);
  expect(slack.messages("D9").map(({ text: said }) => said)).toEqual(["This question is not known any more."]);
});

// ── Code that waits more than once ──

let script: Script = createScript([]);
let paid: number[] = [];

const pay = tool({
  description: "Pays.",
  inputSchema: z.object({ amount: z.number() }),
  needsApproval: true,
  execute: ({ amount }) => {
    paid.push(amount);
    return amount;
  }
});

class Coder extends Think<{ LOADER: ReturnType<typeof createTestLoader> }> {
  override workspaceTools = false;

  override getModel() {
    return scriptedModel(script);
  }

  override getTools() {
    return { execute: createExecuteRuntime(this, { tools: { pay } }).tool };
  }

  override getMessengers() {
    return { slack: slack.messenger({ conversation: "self" }) };
  }
}

let slack = slackDriver();
const url = "http://localhost/agents/coder/main/messengers/slack/webhook";

async function coded(code: string) {
  slack = slackDriver();
  paid = [];
  script = createScript([
    reply(toolCall("execute", { code })),
    reply(text("Please approve.")),
    ...Array(9).fill(reply(text("Paid.")))
  ]);
  vi.stubGlobal("fetch", slack.fake.fetch);
  const host = createTestHost({ agents: { Coder }, env: { LOADER: createTestLoader() } });
  await host.fetch((slack.fake as FakeSlack).says("Pay", { url }));
  await host.idle();
  await host.advance(5_000);
  return host;
}

type CoderHost = Awaited<ReturnType<typeof coded>>;
const presses = (label: string) => (slack.fake as FakeSlack).presses(label, { url });
const open = () => slack.fake.messages().filter(({ buttons }) => buttons.length > 0).length;

test("code that waits again asks again, also for the same call, and one press approves one call", async () => {
  const host = await coded(`await tools.pay({ amount: 1 }); await tools.pay({ amount: 1 }); "paid"`);
  for (const expected of [[1], [1, 1]]) {
    expect(open()).toBe(1);
    const press = presses("Approve");
    const copies = [press, press.clone(), press.clone()] as Request[];
    for (const copy of copies) await host.fetch(copy);
    await host.idle();
    await host.advance(5_000);
    expect(paid).toEqual(expected);
  }
  expect(open()).toBe(0);
  expect(slack.fake.texts().filter((one) => one.includes("Approved by ada"))).toHaveLength(2);
  expect(slack.fake.texts().at(-1)).toBe("Paid.");
});

test("code that another surface let go on asks its next question at a press, or with the next answer", async () => {
  const host = await coded(`await tools.pay({ amount: 1 }); await tools.pay({ amount: 2 }); "paid"`);
  const agent = await host.get(Coder, "main");
  const [pending] = await agent.pendingApprovals();
  await agent.approveExecution(pending?.executionId ?? "");
  await host.fetch(presses("Approve"));
  await host.idle();
  await host.advance(5_000);
  expect(paid).toEqual([1]);
  const [asked] = slack.fake.messages().filter(({ buttons }) => buttons.length > 0);
  expect(asked?.text).toContain("amount: 2");
  await host.fetch(presses("Approve"));
  await host.idle();
  await host.advance(5_000);
  expect([paid, slack.fake.texts().at(-1)]).toEqual([[1, 2], "Paid."]);
});

test("killed anywhere after a press, a call of code runs once: one that may have run is asked about again", async () => {
  let press: Request | undefined;
  const askedAgain = new Set<number>();
  const deliver = (host: CoderHost) => host.fetch(press?.clone() as Request).catch(() => undefined);
  const settle = async (host: CoderHost) => {
    await host.idle();
    await host.advance(400_000);
  };
  await everyCrash<CoderHost>({
    create: async () => {
      const host = await coded(`await tools.pay({ amount: 1 }); "paid"`);
      press = presses("Approve");
      return host;
    },
    script: async (host) => {
      await deliver(host);
      await settle(host);
    },
    finish: async (host) => {
      await deliver(host);
      await settle(host);
      const [asked] = slack.fake.messages().filter(({ buttons }) => buttons.length > 0);
      if (!asked) return;
      expect(asked.text).toContain("may have run");
      // The human looks outside whether it was done.
      askedAgain.add(paid.length);
      await host.fetch(presses(paid.length === 0 ? "Approve" : "Reject"));
      await settle(host);
    },
    inspect: () => [paid, open(), slack.fake.texts().at(-1)],
    points: "both"
  });
  expect(askedAgain).toEqual(new Set([0, 1]));
}, 240_000);
