// Every starter, made by `everthink init` of the packed package: it type checks, passes its test, builds, and answers its
// questions on `everthink serve` and `everthink dev`, in a terminal and on its page, in `wrangler dev` and through
// `npm run chaos`. The tarball is unpacked beside the repository's packages, so that nothing is downloaded. CI leaves the
// last two to one starter; `npm run test:starters` plays them for all.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launchBrowser } from "../browser/browser.ts";
import { userLine } from "../../src/framework/login/users.ts";
import { ServeRun } from "../process/served-project.ts";
import { readPage, shownRuns, withoutChance } from "../docs/command-pages.ts";
import { PackedProject, repository } from "./packed-project.ts";
import {
  isForEverybody,
  keepsConversations,
  readStarter,
  talkOnPage,
  type Person,
  type StarterTalk
} from "./starter-page.ts";

const STARTERS = readdirSync(join(repository, "starters")).filter((name) =>
  existsSync(join(repository, "starters", name, "starter.json"))
);
const isWhole = process.env["EVERTHINK_STARTERS"] === "all";
/** The one that CI follows to the end: it has a messenger, and an action that waits for a person. */
const FOLLOWED = "slack-bot";
/** The one that docs/commands/ shows for chat, approve and state. */
const SHOWN = "business-workflow";
/** Where it is not each person's own. */
const AGENTS: Readonly<Record<string, string>> = { "webhook-agent": "events" };
/** What the command ends with after the last question: its answer waits for an approval. */
const PARKED: readonly string[] = ["slack-bot"];
/** Webhooks of bots, with variables that switch them on. */
const BOTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "slack-bot": { SLACK_BOT_TOKEN: "xoxb-test", SLACK_SIGNING_SECRET: "secret" },
  "telegram-bot": { TELEGRAM_BOT_TOKEN: "1:test", TELEGRAM_WEBHOOK_SECRET_TOKEN: "secret" }
};

/** People who may log in where a starter is served, with one password. Each has an agent of the own name. */
const PEOPLE = ["ada", "grace", "shown", "on-page", "empty", "owner"];
const PASSWORD = "correct horse";
/** Who has several conversations. */
const OWNER = "owner";
/** Who decides over what `shown` asks for. */
const APPROVER = "grace";

/** Of which a person has several. */
function hasConversations(name: string): boolean {
  const starter = readFileSync(join(repository, "starters", name, "starter.json"), "utf8");
  return (JSON.parse(starter) as { with?: string[] }).with?.includes("conversations") ?? false;
}

let packed: PackedProject;
let command = "";
let browser: Browser;
const runs: ServeRun[] = [];

const login = loginVariables();

async function loginVariables() {
  const lines = await Promise.all(PEOPLE.map((name) => userLine(name, PASSWORD)));
  return { LOGIN_USERS: lines.join(","), SESSION_SECRET: "a secret of 32 characters or more" };
}

beforeAll(async () => {
  browser = await launchBrowser();
  packed = new PackedProject();
  command = join(packed.link(), "dist", "serve", "cli.js");
});
afterAll(async () => {
  await browser?.close();
  for (const { child } of runs) child.kill("SIGTERM");
  await Promise.all(runs.map(({ ended }) => ended));
  await packed?.remove();
});

const inherited = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_ENV$|TEST$)/.test(name))
);
const env = { ...inherited, NO_COLOR: "1", CLOUDFLARE_CF_FETCH_ENABLED: "false", WRANGLER_SEND_METRICS: "false" };

/** A program of node_modules in a starter's folder; answers what it printed. */
async function run(
  folder: string,
  program: string,
  args: readonly string[] = []
): Promise<{ code: number | null; output: string }> {
  const { code, stdout, stderr } = await runApart(folder, program, args);
  return { code, output: stdout + stderr };
}

async function runApart(folder: string, program: string, args: readonly string[]) {
  const { child, ended } = start(folder, program, args);
  const outputs = [child.stdout, child.stderr].map(async (stream) => (stream ? stream.toArray() : []));
  const [stdout = "", stderr = ""] = (await Promise.all(outputs)).map((pieces) => pieces.join(""));
  return { code: await ended, stdout, stderr };
}

function start(folder: string, program: string, args: readonly string[], more = {}): ServeRun {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    env: { ...env, ...more },
    stdio: ["ignore", "pipe", "pipe"]
  });
  const started = new ServeRun(child);
  runs.push(started);
  return started;
}

const bin = (path: string) => join(packed.directory, "node_modules", path);

/** Asks a starter's own questions, one process each, as a user with a terminal would. */
async function answersItsQuestions(
  { name, questions, answered }: StarterTalk,
  url: string,
  token: readonly string[] = []
): Promise<void> {
  const { host } = new URL(url);
  const instance = AGENTS[name] ?? "ada";
  let shown = "";
  let last: number | null = null;
  for (const question of questions) {
    const args = ["chat", "assistant", instance, "--host", host, ...token, "--message", question];
    const { code, output } = await run(join(packed.directory, name), command, args);
    shown += output;
    last = code;
  }
  expect({ last, shown }).toEqual({ last: PARKED.includes(name) ? 2 : 0, shown: expect.stringContaining(answered) });
}

/** The session of a person who logs in with the form. */
async function logIn(url: string, user: string): Promise<string> {
  const body = new URLSearchParams({ user, password: PASSWORD });
  const response = await fetch(`${url}/login`, { method: "POST", body, redirect: "manual" });
  return (
    /everthink_session=([^;]+)/.exec(response.headers.get("set-cookie") ?? "")?.[1] ??
    `not logged in: ${response.status}`
  );
}

const tokenOf = async (url: string, user: string) => ["--token", await logIn(url, user)];

/** The runs of those pages, in the order in which a user would read them, on an agent without a history. */
async function printsWhatPagesShow(folder: string, url: string): Promise<void> {
  const runs = ["chat.md", "approve.md", "state.md"].flatMap((page) => shownRuns(readPage(page)));
  let waiting = "";
  for (const { args, output } of runs) {
    const given = args.map((word) => (word === "ada" ? "shown" : word.replace(/^call-.*/, waiting)));
    const token = await tokenOf(url, args[0] === "approve" ? APPROVER : "shown");
    const { stdout, stderr } = await runApart(folder, command, [...given, "--host", new URL(url).host, ...token]);
    waiting = /^call-\S+/.exec(stdout)?.[0] ?? waiting;
    // A command that is suggested leads to the same server.
    const isSame = stderr.includes("Decide: ") ? stderr.includes(` --host ${new URL(url).host} --token …\n`) : true;
    expect({ isSame, stderr }).toMatchObject({ isSame: true });
    const printed = (stdout + stderr.replace(/^Connecting .*\n/, ""))
      .replaceAll("shown", "ada")
      .replace(/(Decide: .*) --host \S+ --token …/, "$1");
    expect(withoutChance(printed), args.join(" ")).toBe(
      withoutChance(output.replace("localhost:5173", new URL(url).host))
    );
  }
  const wrong = ["approve", "assistant", "unknown", "--host", new URL(url).host];
  // A person's own payment is for another person to approve, and a stranger's agent is not entered.
  const self = [...(await tokenOf(url, "shown")), "--host", new URL(url).host];
  expect((await run(folder, command, ["state", "assistant", "ada", ...self])).code).toBe(1);
  expect((await run(folder, command, wrong)).code).toBe(1);
  expect((await run(folder, command, ["state", "stranger", ...wrong.slice(3)])).code).toBe(1);
}

describe.each(STARTERS)("the starter %s", (name) => {
  test("is made, type checks, passes its test and builds", async () => {
    const folder = join(packed.directory, name);
    const made = await run(packed.directory, command, ["init", name, "--template", name, "--no-install", "--yes"]);
    expect(made).toMatchObject({ code: 0 });
    const [types, tests, build] = await Promise.all([
      run(folder, bin("typescript/bin/tsc")),
      run(folder, bin("vitest/vitest.mjs"), ["run"]),
      run(folder, bin("vite/bin/vite.js"), ["build"])
    ]);
    expect(types).toEqual({ code: 0, output: "" });
    expect(tests).toMatchObject({ code: 0 });
    expect(build).toMatchObject({ code: 0 });
    expect(build.output).not.toMatch(/warn/i);
  });

  test("answers on everthink serve", async () => {
    const folder = join(packed.directory, name);
    const variables = { ...BOTS[name], ...(await login), APPROVERS: APPROVER };
    const given = Object.keys(variables).flatMap((variable) => ["--var", variable]);
    const served = start(folder, command, ["serve", "--port", "0", ...given], variables);
    const url = await served.url();
    const starter = await readStarter(name);
    // Without a login there is nothing.
    const closed = await run(folder, command, ["state", "assistant", "ada", "--host", new URL(url).host]);
    expect(closed.code).toBe(1);
    expect((await fetch(`${url}/agents/assistant/ada/get-messages`)).status).toBe(401);
    await talkOnPage(browser, starter, url, { user: "on-page", password: PASSWORD });
    await isForEverybody(browser, starter, { url, password: PASSWORD });
    if (hasConversations(name)) {
      const people = [OWNER, APPROVER].map((user) => ({ user, password: PASSWORD })) as [Person, Person];
      await keepsConversations(browser, starter, { url, people });
    }
    await answersItsQuestions(starter, url, await tokenOf(url, "ada"));
    if (name in BOTS) {
      // The messenger is there, and takes nothing from a sender without its secret.
      const webhook = `${url}/agents/assistant/main/messengers/${name.replace("-bot", "")}/webhook`;
      expect((await fetch(webhook, { method: "POST", body: "{}" })).status).toBe(401);
    }
    if (name === SHOWN) await printsWhatPagesShow(folder, url);
    const guess = async (at: string) => {
      const body = new URLSearchParams({ user: "guessed", password: "wrong" });
      return (await fetch(`${at}/login`, { method: "POST", body, redirect: "manual" })).status;
    };
    if (name === FOLLOWED) for (let tries = 0; tries < 10; tries += 1) expect(await guess(url)).toBe(401);
    served.child.kill("SIGTERM");
    expect(await served.ended).toBe(0);
    if (name !== FOLLOWED) return;
    // Wrong passwords are not forgotten with the process.
    const again = start(folder, command, ["serve", "--port", "0", ...given], variables);
    expect(await guess(await again.url())).toBe(429);
    again.child.kill("SIGTERM");
    expect(await again.ended).toBe(0);
  });

  test("answers on the page of everthink dev", async () => {
    const folder = join(packed.directory, name);
    const server = start(folder, command, ["dev", "--port", "0"]);
    const [, url = ""] = await server.says(/Local: +(http:\S+)\//);
    await talkOnPage(browser, await readStarter(name), url);
    // Conversations, for no other user of the machine.
    expect(statSync(join(folder, ".wrangler")).mode & 0o077).toBe(0);
    if (name === FOLLOWED) {
      // Another one on the same port would be found by no link and no webhook.
      const { code, output } = await run(folder, command, ["dev", "--port", new URL(url).port]);
      expect({ code, output }).toEqual({ code: 1, output: expect.stringMatching(/Port \d+ is already in use/) });
    }
    server.child.kill("SIGTERM");
    expect(await server.ended).toBe(0);
  });

  test.runIf(isWhole || name === FOLLOWED)("answers in wrangler dev", async () => {
    // Not development, so people log in there too.
    const variables = Object.entries(await login).flatMap(([variable, value]) => ["--var", `${variable}:${value}`]);
    const args = ["dev", "--port", "0", ...variables];
    const server = start(join(packed.directory, name), bin("wrangler/bin/wrangler.js"), args);
    const [, url = ""] = await server.says(/Ready on (http:\S+)/);
    await answersItsQuestions(await readStarter(name), url, await tokenOf(url, "ada"));
    server.child.kill("SIGTERM");
    await server.ended;
  });

  test.runIf(isWhole || name === FOLLOWED)("survives npm run chaos, with points of every disturbance", async () => {
    const [shown] = shownRuns(readPage("chaos.md"));
    const { code, stdout } = await runApart(join(packed.directory, name), command, shown?.args ?? []);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.not.stringMatching(/Not played|\| 0 \| \d+ \| [^|]* \| \d+ \|/)
    });
    // The page shows this starter's; how many writes and awaits a conversation has may change.
    if (name === FOLLOWED) expect(stdout.replaceAll(/\d+/g, "n")).toBe(shown?.output.replaceAll(/\d+/g, "n"));
  });
});
