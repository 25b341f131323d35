// What a human can read in the chat before a decision: all of the input, however long, or there is nothing to approve.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { action } from "../../src/index.ts";
import { APPROVE_ACTION } from "../../src/features/messengers/approvals.ts";
import { reply, text, toolCall, type FakeTeams } from "../../src/testing/index.ts";
import { DRIVERS, webhookUrl } from "./messenger-drivers.ts";
import { answered, bot, openBot, Support, type Bot, type Host } from "./messenger-providers-kit.ts";

beforeEach(() => {
  for (const level of ["error", "warn"] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const LATER_MS = 400_000;
let ran: string[] = [];

const run = action({
  description: "Runs a script.",
  inputSchema: z.object({ script: z.string() }),
  kind: "durable-pause",
  execute: ({ script }) => {
    ran.push(script);
    return "done";
  }
});

interface Asked {
  readonly definition?: Bot["definition"];
  /** Before the question is asked. */
  readonly prepare?: (host: Host) => void;
}

async function asked(name: string, script: string, { definition = {}, prepare }: Asked = {}): Promise<Host> {
  ran = [];
  const steps = [reply(toolCall("run", { script }, { id: "c1" })), ...Array(9).fill(reply(text("Well.")))];
  const host = await openBot(name, steps, {
    actions: () => ({ run }),
    definition: { conversation: "self", ...definition }
  });
  bot.driver.fake.enforcePace(() => host.now);
  prepare?.(host);
  await host.fetch(bot.driver.says("Clean up"));
  await answered(host, LATER_MS);
  return host;
}

const messages = () => bot.driver.fake.messages();
const buttons = () => messages().flatMap((one) => one.buttons);
/** As a human reads it, from the top. */
const read = () =>
  messages()
    .map((one) => one.text.replaceAll(/\\(?=[!-/:-@[-`{-~])/g, ""))
    .join("\n");

async function presses(host: Host, label: string): Promise<void> {
  await host.fetch(bot.driver.presses(label));
  await answered(host, LATER_MS);
}

const HARMLESS = Array.from({ length: 120 }, (_, line) => `echo "step ${line}" > /tmp/log.${line} # *done* <@U7>`);
const SCRIPT = [...HARMLESS, "rm -rf / --no-preserve-root"].join("\n");

describe.each(DRIVERS)("$name", ({ name }) => {
  test("every line of a long input is in the chat before the buttons, in order, within the provider's limits", async () => {
    const host = await asked(name, SCRIPT);
    const shown = read();
    let at = 0;
    for (const line of SCRIPT.split("\n")) {
      at = shown.indexOf(`│ ${line}`, at);
      expect(at, line).toBeGreaterThan(-1);
    }
    const withButtons = messages().filter((one) => one.buttons.length > 0);
    expect(withButtons).toEqual([messages().at(-1)]);
    expect(withButtons[0]?.text).toMatch(/Its input is in the \d+ messages above/);
    expect([buttons(), bot.driver.fake.tooFast]).toEqual([["Approve", "Reject"], []]);
    await presses(host, "Approve");
    expect(ran).toEqual([SCRIPT]);
    // What was approved stays readable; only the question is changed.
    expect(read()).toContain("rm -rf / --no-preserve-root");
    expect([buttons(), messages().filter((one) => one.text.includes("Approved by"))]).toEqual([
      [],
      [expect.anything()]
    ]);
  });

  test("one line of 10,000 characters is shown to its end", async () => {
    await asked(name, `${"a".repeat(10_000)}THE_END`);
    expect(read()).toMatch(/THE_END/);
    expect(read().match(/a/g)?.length).toBeGreaterThanOrEqual(10_000);
    expect(buttons()).toEqual(["Approve", "Reject"]);
  });

  test("an input that is too long for the chat is not shown in parts, and can be rejected only", async () => {
    const host = await asked(name, "x".repeat(100_000));
    expect([messages().length, buttons()]).toEqual([2, ["Reject"]]);
    expect(read()).toMatch(/100008 characters, too many for this chat/);
    await presses(host, "Reject");
    expect([ran, buttons()]).toEqual([[], []]);
    expect(messages().filter((one) => one.text.includes("Rejected by"))).toHaveLength(1);
  });

  test("an input of which the provider refuses a part can be rejected only", async () => {
    const host = await asked(name, SCRIPT, {
      prepare: () => interceptParts(2, async () => Response.json({ ok: false, error: "refused" }, { status: 400 }))
    });
    expect(buttons()).toEqual(["Reject"]);
    expect(read()).toMatch(/could not be shown here completely/);
    await presses(host, "Reject");
    expect([ran, buttons()]).toEqual([[], []]);
  });

  test("an input of which a part may not have arrived can be rejected only, where messages cannot be edited", async () => {
    const host = await asked(name, SCRIPT, {
      definition: { capabilities: { canEditMessages: false } },
      prepare: () => interceptParts(2, () => Promise.reject(new TypeError("fetch failed")))
    });
    expect(buttons()).toEqual([]);
    await answered(host, 10 * LATER_MS);
    expect(buttons()).toEqual(["Reject"]);
  });

  test.each(["lost", "unanswered", "silent"] as const)("a %s call costs no part of the input", async (fault) => {
    const host = await asked(name, SCRIPT, {
      prepare: () => {
        const { fake } = bot.driver;
        for (let count = 0; count < 3; count += 1) {
          fake.failNext(fake.postCall, fault);
          fake.failNext(fake.editCall, fault);
        }
      }
    });
    await answered(host, LATER_MS);
    expect(SCRIPT.split("\n").filter((line) => !read().includes(`│ ${line}`))).toEqual([]);
    expect(buttons()).toEqual(["Approve", "Reject"]);
  });

  test("a process that dies between the parts goes on with the next one", async () => {
    const never = new Promise<Response>(() => undefined);
    const host = await asked(name, SCRIPT, { prepare: () => interceptParts(3, () => never) });
    expect(buttons()).toEqual([]);
    vi.stubGlobal("fetch", bot.driver.fake.fetch);
    await host.restart();
    await answered(host, LATER_MS);
    for (const line of SCRIPT.split("\n")) expect(read().split(`│ ${line}\n`).length, line).toBeLessThanOrEqual(2);
    expect(SCRIPT.split("\n").filter((line) => !read().includes(`│ ${line}`))).toEqual([]);
    expect(buttons()).toEqual(["Approve", "Reject"]);
  });
});

async function bodyText(input: string | Request, init?: RequestInit): Promise<string> {
  return new Request(input, init).clone().text();
}

/** Of calls with this part of an input, posted or edited. */
function interceptParts(number: number, answer: () => Promise<Response>): void {
  const { fake } = bot.driver;
  vi.stubGlobal("fetch", async (input: string | Request, init?: RequestInit) =>
    (await bodyText(input, init)).includes(`input, ${number} of`) ? answer() : fake.fetch(input, init)
  );
}

test("a mention in the input of a question calls no user", async () => {
  await asked("slack", SCRIPT);
  const texts = bot.driver.fake.calls.map(({ body }) => String(body["text"] ?? ""));
  expect(texts.filter((one) => one.includes("&lt;@U7&gt;")).length).toBeGreaterThan(1);
  expect(texts.filter((one) => one.includes("<@U7>"))).toEqual([]);
  await asked("discord", SCRIPT);
  const posted = bot.driver.fake.calls.filter(({ body }) => String(body["content"] ?? "").includes("U7"));
  expect(posted.length).toBeGreaterThan(1);
  for (const { body } of posted) expect(body["allowed_mentions"]).toEqual({ parse: [] });
});

test("a press that claims to approve what was not shown whole decides nothing", async () => {
  const host = await asked("teams", "x".repeat(100_000));
  const teams = bot.driver.fake as FakeTeams;
  const rejecting = bot.driver.presses("Reject");
  const forged = (await rejecting.text()).replace("et-no", APPROVE_ACTION);
  await host.fetch(teams.activityRequest(webhookUrl("teams"), JSON.parse(forged) as object));
  await answered(host, LATER_MS);
  expect([ran, buttons()]).toEqual([[], ["Reject"]]);
  expect(read()).toContain("Nothing was done: its input was not shown here completely.");
});

test("a question that an earlier version asked is approved only where its input was not cut", async () => {
  for (const [script, expected] of [
    ["ls", ["ls"]],
    [SCRIPT, []]
  ] as const) {
    const host = await asked("slack", script);
    host.sql(
      Support,
      "main",
      "UPDATE cf_messenger_approvals SET shown = json_object('messageId', shown ->> '$.messageId')"
    );
    await presses(host, "Approve");
    expect(ran).toEqual(expected);
  }
});
