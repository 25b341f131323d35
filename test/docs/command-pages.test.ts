// The pages of the commands say what --help says, and show what the commands print.
import { PRICES } from "../../src/features/budgets/prices.ts";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { testContext } from "../../src/cli/cli.test-support.ts";
import { dispatch, reportFailure } from "../../src/cli/main.ts";
import { COMMANDS } from "../../src/cli/table/commands.ts";
import { exitCodeTable, optionTable, pageName, readPage, shownRuns } from "./command-pages.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const index = readFileSync(join(repository, "docs", "cli.md"), "utf8");

/** What needs a server is compared where one runs: chat, state, approve and chaos in test/package/starters.test.ts. */
const ELSEWHERE: readonly string[] = ["chat", "state", "approve", "chaos"];
/** They run until they are stopped, need objects of another package, print versions of packages, or ask Cloudflare or npm. */
const NOT_COMPARED: readonly string[] = ["dev", "serve", "studio", "migrate", "doctor", "deploy", "logs", "upgrade"];

const scratch = mkdtempSync(join(tmpdir(), "everthink-pages-"));
const starter = join(scratch, "starter");
beforeAll(async () => {
  await run(scratch, ["init", "starter", "--name", "shop", "--no-install"]);
  mkdirSync(join(starter, "skills", "greet"), { recursive: true });
  writeFileSync(join(starter, "skills/greet/SKILL.md"), "---\nname: greet\ndescription: Greets.\n---\nSay hello.\n");
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
afterEach(() => vi.unstubAllGlobals());

/** Both outputs in order. */
async function run(cwd: string, args: readonly string[]): Promise<string> {
  let output = "";
  const print = (text: string) => (output += `${text}\n`);
  const environment = {
    TELEGRAM_BOT_TOKEN: "1:test",
    TELEGRAM_WEBHOOK_SECRET_TOKEN: "secret",
    PASSWORD: "correct horse"
  };
  const context = testContext({ cwd, environment, print, note: print, stream: (text) => (output += text) });
  await dispatch(args, context).catch((error: unknown) => reportFailure(error, args, context));
  return output;
}

test("every command has a page, every page a command, and the index lists them with their summaries", () => {
  const pages = readdirSync(join(repository, "docs", "commands"));
  expect(pages.toSorted()).toEqual(COMMANDS.map(pageName).toSorted());
  for (const command of COMMANDS) {
    expect(index).toContain(`| [\`everthink ${command.name}\`](commands/${pageName(command)}) | ${command.summary} |`);
  }
});

test.each(COMMANDS.map((command) => [command.name, command] as const))(
  "the page of everthink %s has the options and exit codes of its --help",
  (name, command) => {
    const page = readPage(pageName(command));
    expect(page).toMatch(new RegExp(`^# everthink ${name}\n\n\\*\\*`));
    expect(page).toContain(optionTable(command));
    expect(page).toContain(exitCodeTable(command));
    expect(page.match(/^\| `--/gm)).toHaveLength(optionTable(command).match(/^\| `--/gm)?.length ?? 0);
    const isRun = shownRuns(page).length > 0;
    expect(isRun).toBe(!NOT_COMPARED.includes(name));
  }
);

const compared = COMMANDS.filter(({ name }) => ![...ELSEWHERE, ...NOT_COMPARED].includes(name)).map(pageName);

const none = { reservedUsd: 0, reservedTokens: 0, grantedUsd: 0, grantedTokens: 0 };
const spent = { usd: 2.1, tokens: 96_000, calls: 12 };
const COSTS = {
  ...{ at: 0, total: spent, days: [{ day: "2026-11-19", ...spent }], open: 0 },
  models: [{ provider: "openai.responses", model: "gpt-5", ...spent }],
  turns: [{ turnId: "rXW2Yc0v3mTn8aQeLkD5p", agent: "", usd: 0.31, tokens: 14_000, calls: 3 }],
  accounts: [{ account: "key:ann:2026-11-19", usd: 2.1, tokens: 96_000, ...none, grantedUsd: 1 }],
  withoutLimits: { total: { usd: 0, tokens: 0, calls: 0 } },
  prices: { isOwn: false, rows: PRICES, isCut: false }
};

test.each(["../cli.md", ...compared])("commands/%s shows what is printed", async (name) => {
  vi.stubGlobal("fetch", async (url: URL) => Response.json(url.pathname?.endsWith("/costs") ? COSTS : { ok: true }));
  const folder = join(scratch, name.replaceAll(/\W/g, "-"), "shop");
  if (name === "init.md") mkdirSync(folder, { recursive: true });
  else {
    cpSync(starter, folder, { recursive: true });
    symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
  }
  const runs = shownRuns(readPage(name));
  expect(runs.length).toBeGreaterThan(0);
  for (const { args, output } of runs) {
    expect((await run(folder, args)).replaceAll(folder, "/home/ada/shop"), args.join(" ")).toBe(output);
  }
});
