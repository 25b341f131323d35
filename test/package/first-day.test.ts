// The first ten minutes with a starter, as a person has them: made with the key of a model server, developed, asked on its page,
// an approval, a power cut in the middle of an answer, its test, its build, served, and a deployment that uploads nothing. CI
// plays one starter; `npm run first-day` plays all and writes the times into docs/performance.md.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launchBrowser } from "../browser/browser.ts";
import { ServeRun } from "../process/served-project.ts";
import { FakeCompatible, KEY, MODEL } from "./fake-compatible.ts";
import { PackedProject, repository } from "./packed-project.ts";

const isWhole = process.env["EVERTHINK_FIRST_DAY"] === "all";
/** It asks a person. */
const PLAYED = "business-workflow";
const STARTERS = readdirSync(join(repository, "starters")).filter((name) =>
  existsSync(join(repository, "starters", name, "starter.json"))
);
/** A busy machine takes minutes for what takes a quiet one seconds. */
const PATIENCE_MS = 600_000;
const STEPS = [
  "made",
  "dev ready",
  "first answer",
  "approved",
  "recovered",
  "tested",
  "built",
  "served",
  "deployed (dry)"
];

let packed: PackedProject;
let command = "";
let browser: Browser;
let model: FakeCompatible;
const running: ServeRun[] = [];
const table: string[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
  packed = new PackedProject();
  command = join(packed.link(), "dist", "serve", "cli.js");
});
afterAll(async () => {
  await browser?.close();
  for (const { child } of running) if (child.pid !== undefined && child.exitCode === null) kill(child.pid, "SIGKILL");
  await packed?.remove();
  if (isWhole && table.length === STARTERS.length) writeTable();
});

const inherited = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_ENV$|TEST$)/.test(name))
);
const env = { ...inherited, NO_COLOR: "1", CLOUDFLARE_CF_FETCH_ENABLED: "false", WRANGLER_SEND_METRICS: "false" };

function start(folder: string, args: readonly string[], more: Readonly<Record<string, string>> = {}): ServeRun {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...env, ...more },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own: a power cut takes all of it.
    detached: true
  });
  const run = new ServeRun(child);
  running.push(run);
  return run;
}

async function ends(folder: string, args: readonly string[], more = {}): Promise<string> {
  const run = start(folder, args, more);
  expect({ code: await run.ended, output: run.output }).toMatchObject({ code: 0 });
  return run.output;
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended.
  }
}

test.each(isWhole ? STARTERS : [PLAYED])(
  "the first ten minutes with %s",
  async (name) => {
    model = await FakeCompatible.start();
    // An attempt that failed leaves its project behind.
    const place = mkdtempSync(join(packed.directory, "try-"));
    const folder = join(place, name);
    const times = new Map<string, number>();
    let last = performance.now();
    const done = (step: string) => {
      times.set(step, (performance.now() - last) / 1_000);
      last = performance.now();
    };

    const asked = ["--model", "compatible", "--model-url", model.url, "--model-name", MODEL, "--key-var", "MY_KEY"];
    const init = [command, "init", name, "--template", name, "--no-install", "--yes", ...asked];
    // The key was checked with one call to the server.
    expect(await ends(place, init, { MY_KEY: KEY })).toContain("The server answers, and has the model.");
    done("made");

    let server = start(folder, [command, "dev", "--port", "0"]);
    const url = await addressOf(server);
    done("dev ready");

    const page = await browser.newPage();
    await page.goto(`${url}/?name=ada`);
    await ask(page, "Are you there?");
    await said(page, "The model heard: Are you there?");
    done("first answer");

    if (name === PLAYED) {
      await ask(page, "Pay 400 to Grace");
      const host = ["--host", new URL(url).host];
      await page.getByText("A payment above the limit").first().waitFor();
      const waiting = await ends(folder, [command, "approve", "assistant", "--instance", "ada", ...host]);
      const id = /^\S+/m.exec(waiting)?.[0] ?? "";
      await ends(folder, [command, "approve", "assistant", id, "--instance", "ada", ...host]);
      await said(page, "It is paid.");
      done("approved");
    }

    await ask(page, "Speak slowly");
    await said(page, "It begins,");
    kill(server.child.pid ?? 0, "SIGKILL");
    await server.ended;
    server = start(folder, [command, "dev", "--port", new URL(url).port]);
    await addressOf(server);
    // The page comes back by itself, and the answer goes on to its end.
    await said(page, "The model heard: Speak slowly");
    done("recovered");
    await page.close();
    server.child.kill("SIGTERM");
    await server.ended;

    last = performance.now();
    const bin = (path: string) => join(packed.directory, "node_modules", path);
    await ends(folder, [bin("vitest/vitest.mjs"), "run"]);
    done("tested");
    await ends(folder, [bin("vite/bin/vite.js"), "build"]);
    done("built");
    const served = start(folder, [command, "serve", "--port", "0"]);
    expect((await fetch(`${await served.url()}/__think/health`)).status).toBe(200);
    done("served");
    served.child.kill("SIGTERM");
    await served.ended;
    last = performance.now();
    expect(await ends(folder, [command, "deploy", "--dry-run"])).toContain("Nothing was deployed: --dry-run.");
    done("deployed (dry)");

    const cells = STEPS.map((step) => times.get(step)?.toFixed(1) ?? "");
    const row = `| \`${name}\` | ${cells.join(" | ")} |`;
    table.push(row);
    console.log(row);
    model.stop();
  },
  PATIENCE_MS
);

async function ask(page: Page, question: string): Promise<void> {
  page.setDefaultTimeout(PATIENCE_MS / 4);
  const field = page.getByRole("textbox", { name: "Message" });
  await page
    .locator('[role="status"]:is([data-status="settled"], [data-status="parked"], [data-status="idle"])')
    .waitFor();
  await field.fill(question);
  await field.press("Enter");
}

/** In the conversation; what is read out to those who do not see it has the words, too. */
async function said(page: Page, words: string): Promise<void> {
  await page.getByRole("log").getByText(words).first().waitFor();
}

async function addressOf(server: ServeRun): Promise<string> {
  const [, url = ""] = await server.says(/Local: +(http:\S+)\//);
  return url;
}

const BEGIN = "<!-- first-day: written by npm run first-day -->";
const END = "<!-- first-day: end -->";

function writeTable(): void {
  const path = join(repository, "docs", "performance.md");
  const text = readFileSync(path, "utf8");
  const machine = `${cpus().length} cores (${cpus()[0]?.model ?? "unknown"}), Node ${process.versions.node}`;
  const day = new Date().toISOString().slice(0, "yyyy-mm-dd".length);
  const shown = [
    BEGIN,
    `Seconds per step, on ${day}, ${machine}:`,
    "",
    `| starter | ${STEPS.join(" | ")} |`,
    `|---|${STEPS.map(() => "---:|").join("")}`,
    ...table,
    "",
    END
  ].join("\n");
  const known = new RegExp(`${BEGIN}[^]*${END}`);
  const section = `## The first ten minutes\n\n${shown}\n`;
  writeFileSync(path, known.test(text) ? text.replace(known, shown) : `${text.trimEnd()}\n\n${section}`);
}
