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
  watchFiles();
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

/** Of 200 KB, and as it is printed. */
const LONG = Array.from(
  { length: 3_500 },
  (_, line) => `echo "step ${line}" > /tmp/log.${line} # and what follows it, *done*`
).join("\n");
const PRINTED = `script:\n${LONG.split("\n")
  .map((line) => `│ ${line}`)
  .join("\n")}`;
const FILE_CALLS: Record<string, string[]> = { slack: ["files.completeUploadExternal"], telegram: ["sendDocument"] };
/** A hundred messages of them are not enough. */
const WITHOUT_FILES = {
  definition: { capabilities: { supportsAttachments: false }, delivery: { visibleSoftLimit: 500 } }
};

/** The bytes of the last file that was sent, as text. */
let sent: string | undefined;
const sentText = () => sent;

/** Notes what is sent as a file. */
function watchFiles(): void {
  sent = undefined;
  const { fake } = bot.driver;
  vi.stubGlobal("fetch", async (input: string | Request, init?: RequestInit) => {
    const body = await bodyText(input, init);
    const at = body.indexOf("script:\n│");
    if (at !== -1 && body.includes(PRINTED)) sent = PRINTED;
    return fake.fetch(input, init);
  });
}

function refuseFiles(): void {
  const { fake } = bot.driver;
  vi.stubGlobal("fetch", async (input: string | Request, init?: RequestInit) =>
    /run-input\.txt/.test(`${String(input instanceof Request ? input.url : input)} ${await bodyText(input, init)}`)
      ? Response.json({ ok: false, error: "refused" }, { status: 400 })
      : fake.fetch(input, init)
  );
}

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

  test("an input of 200 KB is in the chat whole before the buttons: as a file, or in messages where files are not taken", async () => {
    const host = await asked(name, LONG);
    const [withButtons, ...others] = messages().filter((one) => one.buttons.length > 0);
    expect([withButtons?.buttons, others, bot.driver.fake.tooFast]).toEqual([["Approve", "Reject"], [], []]);
    expect(withButtons).toEqual(messages().at(-1));
    expect(messages().filter((one) => one.text === "…")).toEqual([]);
    const files = messages().flatMap((one) => one.files ?? []);
    if (name === "teams") {
      expect(files).toEqual([]);
      expect(withButtons?.text).toMatch(/Its input is in the \d+ messages above/);
      expect(LONG.split("\n").filter((line) => !read().includes(`│ ${line}\n`))).toEqual([]);
    } else {
      expect(withButtons?.text).toContain(`Its input is in the file above: ${PRINTED.length} characters.`);
      expect(files.map((file) => file.name)).toEqual(["run-input.txt"]);
      expect(sentText()).toBe(PRINTED);
    }
    await presses(host, "Approve");
    expect(ran).toEqual([LONG]);
  });

  test("a long input whose file is refused is in messages, up to a hundred", async () => {
    await asked(name, LONG.slice(0, 80_000), { prepare: () => refuseFiles() });
    expect(messages().flatMap((one) => one.files ?? [])).toEqual([]);
    expect(messages().at(-1)?.text).toMatch(/Its input is in the \d\d messages above/);
    expect(
      LONG.slice(0, 79_900)
        .split("\n")
        .slice(0, -1)
        .filter((line) => !read().includes(`│ ${line}\n`))
    ).toEqual([]);
    expect(buttons()).toEqual(["Approve", "Reject"]);
  });

  test("a process that dies between a refused file and its messages takes none of them for the file", async () => {
    const never = new Promise<Response>(() => undefined);
    const host = await asked(name, LONG.slice(0, 80_000), {
      prepare: () => {
        refuseFiles();
        interceptParts(3, () => never);
      }
    });
    expect(buttons()).toEqual([]);
    refuseFiles();
    await host.restart();
    await answered(host, LATER_MS);
    expect(messages().at(-1)?.text).toMatch(/Its input is in the \d\d messages above/);
    expect(
      LONG.slice(0, 79_900)
        .split("\n")
        .slice(0, -1)
        .filter((line) => !read().includes(`│ ${line}\n`))
    ).toEqual([]);
  });

  test.each(["lost", "unanswered", "silent"] as const)("a %s call costs no file of an input", async (fault) => {
    const host = await asked(name, LONG, {
      prepare: () => {
        const { fake } = bot.driver;
        for (const call of FILE_CALLS[name] ?? [fake.postCall]) fake.failNext(call, fault);
      }
    });
    await answered(host, LATER_MS);
    expect(buttons()).toEqual(["Approve", "Reject"]);
    if (name !== "teams") expect(sentText()).toBe(PRINTED);
  });

  test("an input that is too long for the chat is not shown in parts, and can be rejected only", async () => {
    const host = await asked(name, "x".repeat(100_000), WITHOUT_FILES);
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
    const host = await asked(name, SCRIPT, { prepare: () => interceptParts(2, () => never) });
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
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", async (input: string | Request, init?: RequestInit) =>
    (await bodyText(input, init)).includes(`input, ${number} of`) ? answer() : fetch(input, init)
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
  const host = await asked("teams", "x".repeat(100_000), WITHOUT_FILES);
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
