// Calls that wait for approval inside a turn (`needsApproval`, `approval: true`): in a chat they have buttons like parked
// actions, one press is one decision, and what follows is said in the same chat.
import { tool } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { action, type ApprovalAuthorizationContext } from "../../src/index.ts";
import { everyCrash, reply, text, toolCall, type FakeSlack, type Step } from "../../src/testing/index.ts";
import { DRIVERS } from "./messenger-drivers.ts";
import { answered, bot, openBot, Support, type Bot, type Host } from "./messenger-providers-kit.ts";

vi.setConfig({ testTimeout: 120_000 });

let paid: number[] = [];

beforeEach(() => {
  paid = [];
  for (const level of ["error", "warn"] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const pay = tool({
  description: "Pays.",
  inputSchema: z.object({ euros: z.number(), note: z.string().optional() }),
  needsApproval: true,
  execute: ({ euros }) => {
    paid.push(euros);
    return `paid ${euros}`;
  }
});

/** Says what its prompt shows of the calls. */
const step =
  (...calls: { euros: number; note?: string }[]): Step =>
  (call) => {
    const prompt = JSON.stringify(call.prompt);
    if (!prompt.includes('"tool-call"')) {
      return reply(...calls.map((input, index) => toolCall("pay", input, { id: `c${index}` })));
    }
    return reply(
      text(
        prompt.includes("did not allow") ? "I did not pay." : `Done: ${calls.map(({ euros }) => euros).join(" and ")}.`
      )
    );
  };

async function open(name: string, one: Step, changes: Partial<Bot> = {}): Promise<Host> {
  return openBot(
    name,
    Array.from({ length: 30 }, () => one),
    { tools: () => ({ pay }), ...changes }
  );
}

async function asked(name: string, one: Step, changes: Partial<Bot> = {}): Promise<Host> {
  const host = await open(name, one, changes);
  await host.fetch(bot.driver.says("Pay"));
  await answered(host, 60_000);
  return host;
}

const shown = () => bot.driver.fake.texts();
const withButtons = () => bot.driver.fake.messages().filter(({ buttons }) => buttons.length > 0);
const count = (part: string | RegExp) =>
  shown().filter((one) => (typeof part === "string" ? one === part : part.test(one))).length;

async function press(host: Host, label: string, times = 1): Promise<void> {
  const request = bot.driver.presses(label);
  for (let time = 0; time < times; time += 1) await host.fetch(request.clone() as Request);
  await answered(host, 60_000);
}

describe.each(DRIVERS)("$name", ({ name }) => {
  test.each(["thread", "self"] as const)(
    "a call that waits is asked with buttons, and a press runs it once and is answered in the chat: %s",
    async (conversation) => {
      const host = await asked(name, step({ euros: 5 }), { definition: { conversation } });
      expect(withButtons().map(({ buttons }) => buttons)).toEqual([["Approve", "Reject"]]);
      expect(shown()).toHaveLength(1);
      expect(shown()[0]).toMatch(/pay[^]*euros: 5/);
      expect(paid).toEqual([]);
      await press(host, "Approve", 3);
      expect([paid, withButtons()]).toEqual([[5], []]);
      expect(shown()).toEqual([expect.stringMatching(/Approved by ada/i), "Done: 5."]);
    }
  );

  test("a press on Reject is the end of the call, and the model says so", async () => {
    const host = await asked(name, step({ euros: 5 }));
    await press(host, "Reject");
    expect(paid).toEqual([]);
    expect(shown()).toEqual([expect.stringMatching(/Rejected by ada/i), "I did not pay."]);
  });

  test("all of a long input is in the chat before the buttons", async () => {
    const note = Array.from({ length: 200 }, (_, line) => `line ${line} of the note`).join("\n");
    await asked(name, step({ euros: 5, note }));
    const read = shown().join("\n");
    for (const line of note.split("\n")) expect(read).toContain(`│ ${line}`);
    expect(withButtons().map(({ text: said }) => said)).toEqual([shown().at(-1)]);
  });
});

test("each of several calls has its own question, and the turn goes on after the last decision", async () => {
  const host = await asked("slack", step({ euros: 1 }, { euros: 2 }));
  expect(withButtons()).toHaveLength(2);
  await press(host, "Approve");
  expect([withButtons().length, paid, count(/^Done/)]).toEqual([1, [], 0]);
  await press(host, "Approve");
  expect([withButtons().length, paid.toSorted(), count("Done: 1 and 2.")]).toEqual([0, [1, 2], 1]);
});

test("an action with `approval: true` is asked with its summary and risk", async () => {
  const deploy = action({
    description: "Deploys.",
    inputSchema: z.object({ ref: z.string() }),
    approval: true,
    approvalSummary: "Deploy to production",
    approvalRisk: "high",
    execute: () => "deployed"
  });
  const steps: Step[] = [reply(toolCall("deploy", { ref: "v2" }, { id: "c1" })), reply(text("Deployed."))];
  const host = await openBot("slack", steps, { actions: () => ({ deploy }) });
  await host.fetch(bot.driver.says("Deploy"));
  await answered(host);
  expect(shown()[0]).toMatch(/Deploy to production[^]*high[^]*ref: v2/);
  await press(host, "Approve");
  expect(shown().at(-1)).toBe("Deployed.");
});

test("who may not decide is refused, and the question stays; who decided is recorded", async () => {
  let asks: ApprovalAuthorizationContext | undefined;
  const mayDecide = (context: ApprovalAuthorizationContext) => {
    asks = context;
    return context.by === "slack:U9";
  };
  const host = await asked("slack", step({ euros: 5 }), { mayDecide, definition: { conversation: "self" } });
  await press(host, "Approve");
  expect([paid, withButtons().length, shown().at(-1)]).toEqual([[], 1, expect.stringContaining("may not decide")]);
  expect(asks).toMatchObject({ source: "tool", decision: "approve", by: "slack:U7", descriptor: { action: "pay" } });
  await host.fetch(bot.driver.presses("Approve", { by: "grace" }));
  await answered(host);
  expect(paid).toEqual([5]);
  expect(await (await host.get(Support, "main")).approvalOutcome("c0")).toEqual({ how: "approved", by: "slack:U9" });
});

test("a decision in a page closes the question with its name, and what follows is said in the chat", async () => {
  const host = await asked("slack", step({ euros: 5 }), { definition: { conversation: "self" } });
  const agent = await host.get(Support, "main");
  const [waiting] = await agent.waitingApprovals({ callIds: ["c0"] });
  await agent.decideCall("c0", { isApproved: true, by: "grace@example.com", inputHash: waiting?.inputHash ?? "" });
  await answered(host);
  expect(shown()).toEqual([expect.stringMatching(/Approved by grace@example\.com/), "Done: 5."]);
  expect(withButtons()).toEqual([]);
});

test("a question whose answer was deleted is closed with the next answer", async () => {
  const one: Step = (call) =>
    JSON.stringify(call.prompt).includes("Hi") ? reply(text("Hello.")) : reply(toolCall("pay", { euros: 5 }));
  const host = await asked("slack", one, { definition: { conversation: "self" } });
  await (await host.get(Support, "main")).clearMessages();
  await host.fetch(bot.driver.says("Hi"));
  await answered(host);
  expect([withButtons(), count(/Decided elsewhere/), paid]).toEqual([[], 1, []]);
});

test("a decision about another input decides nothing", async () => {
  const host = await asked("slack", step({ euros: 5 }), { definition: { conversation: "self" } });
  const agent = await host.get(Support, "main");
  expect(await agent.decideCall("c0", { isApproved: true, inputHash: "another" })).toMatchObject({ status: "error" });
  expect(paid).toEqual([]);
});

test("of two threads of one agent, each is asked and answered its own", async () => {
  const one: Step = (call) => {
    const prompt = JSON.stringify(call.prompt);
    if (!prompt.includes('"tool-call"')) return reply(toolCall("pay", { euros: 5 }, { id: "c0" }));
    return reply(text(prompt.includes("paid 5") ? "Done." : "Hello."));
  };
  const host = await open("slack", one, { definition: { conversation: "self" } });
  await host.fetch(bot.driver.says("Pay"));
  await answered(host);
  await host.fetch(bot.driver.says(`${bot.driver.mention} Hi`, { in: "group" }));
  await answered(host);
  const inGroup = () => (bot.driver.fake as FakeSlack).messages("C100").map(({ text: said }) => said);
  expect(inGroup()).toEqual(["Hello."]);
  await press(host, "Approve");
  expect([paid, inGroup(), shown().at(-1)]).toEqual([[5], ["Hello."], "Done."]);
});

test.each(["slack", "telegram"])(
  "%s: asked once and run once, and answered once, wherever the process dies",
  async (name) => {
    const outcomes: unknown[] = [];
    let stage: Host | undefined;
    let message: Request | undefined;
    const says = (host: Host) => host.fetch(message?.clone() as Request).catch(() => undefined);
    let pressed: Request | undefined;
    const presses = async (host: Host) => {
      if (!pressed && withButtons().length > 0) pressed = bot.driver.presses("Approve");
      if (pressed) await host.fetch(pressed.clone() as Request).catch(() => undefined);
    };
    await everyCrash<Host>({
      create: async () => {
        paid = [];
        pressed = undefined;
        stage = await open(name, step({ euros: 5 }), { definition: { conversation: "self" } });
        message = bot.driver.says("Pay");
        return stage;
      },
      script: async (host) => {
        await says(host);
        await answered(host, 10_000);
        await presses(host);
        await answered(host, 10_000);
      },
      finish: async (host) => {
        await says(host);
        await answered(host, 400_000);
        await presses(host);
        await answered(host, 400_000);
        await presses(host);
        await answered(host, 400_000);
      },
      inspect: () => void outcomes.push([paid, count(/Approved by ada/i), count("Done: 5."), withButtons().length]),
      points: "both",
      ...(process.env["EVERTHINK_ALL_CRASHES"] ? {} : { limit: 16 })
    });
    expect(outcomes.length).toBeGreaterThan(10);
    for (const outcome of outcomes) expect(outcome).toEqual([[5], 1, 1, 0]);
  }
);
