// `everthink doctor` and `everthink deploy` on projects in temporary folders, with programs that stand for Vite and Wrangler.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { testContext } from "../cli.test-support.ts";
import { dispatch } from "../main.ts";
import type { Finding } from "./findings.ts";

const AGENT = 'import { Think } from "everthink";\nexport default class extends Think {}\n';
const VERSIONS = { everthink: "1.2.3", ai: "7.0.1", vite: "8.0.0", "@cloudflare/vite-plugin": "1.0.0" };

let folder = "";
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "everthink-doctor-"));
  await run("init", "--no-install", "--yes", "shop");
  for (const [name, version] of Object.entries({ ...VERSIONS, workerd: "1.0.0", wrangler: "4.0.0" })) {
    put(`node_modules/${name}/package.json`, JSON.stringify({ name, version, type: "module" }));
  }
  put("node_modules/vite/package.json", JSON.stringify({ version: "8.0.0", type: "module", main: "index.js" }));
  put("node_modules/vite/index.js", `export { parseSync } from ${JSON.stringify(import.meta.resolve("vite"))};`);
  program("node_modules/vite/bin/vite.js", 'console.log("built", process.argv[2], process.env.CLOUDFLARE_ENV ?? "");');
  program(
    "node_modules/.bin/wrangler",
    `import { appendFileSync, readFileSync } from "node:fs";
const args = process.argv.slice(2).join(" ");
appendFileSync("wrangler.log", args + "\\n" + (args === "secret bulk" ? readFileSync(0, "utf8") + "\\n" : ""));
if (args === "deploy") console.log("Deployed shop triggers\\n  https://shop.ada.workers.dev");
if (args.includes("--fail")) process.exit(7);`
  );
});
afterEach(() => {
  vi.unstubAllGlobals();
  rmSync(folder, { recursive: true, force: true });
});

function put(path: string, text: string, mode = 0o600): void {
  const file = join(folder, "shop", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode });
}

function program(path: string, code: string): void {
  put(path, `#!${process.execPath} --input-type=module\n`);
  // A script of its own kind, whatever the package beside it says.
  put(`${path}.mjs`, code);
  put(path, `#!/bin/sh\nexec "${process.execPath}" "${join(folder, "shop", path)}.mjs" "$@"\n`);
  if (path.endsWith(".js")) put(path, code);
  chmodSync(join(folder, "shop", path), 0o755);
}

async function run(...args: string[]): Promise<{ code: number; output: string; notes: string }> {
  let [output, notes] = ["", ""];
  const print = (text: string) => void (output += `${text}\n`);
  const note = (text: string) => void (notes += `${text}\n`);
  const context = testContext({ cwd: folder, print, stream: print, note, environment: { PATH: process.env["PATH"] } });
  return { code: await dispatch(args, context), output, notes };
}

async function found(...args: string[]): Promise<{ code: number; findings: Finding[] }> {
  const { code, output } = await run("doctor", "--root", "shop", "--json", ...args);
  return { code, findings: JSON.parse(output) as Finding[] };
}

const texts = (findings: readonly Finding[], level: Finding["level"]) =>
  findings.filter((one) => one.level === level).map(({ text }) => text);

describe("doctor", () => {
  test("an empty MODEL or MODEL_PROVIDER is the documented choice of the usual one, and no finding", async () => {
    put(".dev.vars", "MODEL=\nMODEL_PROVIDER=\n");
    const { findings } = await found("--offline");
    expect(texts(findings, "warning").filter((text) => text.includes("MODEL"))).toEqual([]);
  });

  test("a new project has no error, and one warning: the login for everthink serve", async () => {
    const { code, findings } = await found("--offline");
    expect([code, texts(findings, "error")]).toEqual([0, []]);
    expect(texts(findings, "warning")).toEqual([expect.stringContaining("LOGIN_USERS and SESSION_SECRET not set")]);
    for (const { level, mend } of findings) expect(mend === undefined).toBe(level === "ok");
  });

  test.each<[name: string, change: () => void, level: Finding["level"], text: string]>([
    ["a missing package", () => rmSync(join(folder, "shop/node_modules/vite"), { recursive: true }), "error", "vite"],
    ["an old SDK", () => put("node_modules/ai/package.json", '{"version":"5.0.0"}'), "error", "ai 5.0.0"],
    ["another everthink", () => put("node_modules/everthink/package.json", '{"version":"0.9.0"}'), "warning", "0.9.0"],
    ["stale types", () => put("agents/other.ts", AGENT), "warning", "everthink.d.ts is stale"],
    ["foreign types", () => put("everthink.d.ts", "declare const mine: 1;"), "warning", "was not written by everthink"],
    ["a folder without an agent", () => put("agents/sales/index.ts", ""), "warning", "folder-without-agent"],
    [
      "no authorize",
      () => put("vite.config.ts", 'import { think } from "everthink/vite"; think(); thinkWorkerConfig()'),
      "warning",
      "Everyone"
    ],
    ["a broken Wrangler file", () => put("wrangler.jsonc", "{ broken"), "warning", "unreadable-worker-config"],
    ["a key in Git", () => put("wrangler.jsonc", '{ "vars": { "OPENAI_API_KEY": "sk" } }'), "error", "OPENAI_API_KEY"],
    ["a file that others read", () => put(".dev.vars", "MODEL=x\n", 0o644), "warning", "can be read by other users"],
    ["a name with a typing error", () => put(".dev.vars", "OPENAI_KEY=sk\n"), "warning", ".dev.vars has OPENAI_KEY"],
    ["an empty value", () => put(".dev.vars", "OPENAI_API_KEY=\n"), "warning", "OPENAI_API_KEY in .dev.vars is empty"]
  ])("%s is found, with its mend", async (_name, change, level, text) => {
    const before = await found("--offline");
    change();
    const { code, findings } = await found("--offline");
    const added = findings.filter((one) => !before.findings.some((old) => old.text === one.text) && one.level !== "ok");
    expect(added).toEqual([{ level, text: expect.stringContaining(text), mend: expect.stringMatching(/\w/) }]);
    expect(code).toBe(level === "error" ? 1 : 0);
  });

  test("a key that Git would take along is an error", async () => {
    put(".dev.vars", "OPENAI_API_KEY=sk\n");
    expect(texts((await found("--offline")).findings, "error")).toEqual([]);
    put(".gitignore", "node_modules\n");
    spawnSync("git", ["init", "--quiet"], { cwd: join(folder, "shop") });
    expect(texts((await found("--offline")).findings, "error")).toEqual(["Git does not ignore .dev.vars."]);
  });

  test("the provider is asked once, about the key and model of the variables, and not with --offline", async () => {
    const asked: string[] = [];
    vi.stubGlobal("fetch", async (url: string) => {
      asked.push(url);
      return new Response("{}", { status: 401 });
    });
    put(".dev.vars", "ANTHROPIC_API_KEY=sk-1234567\nMODEL=claude-x\n");
    await found("--offline");
    const { code, findings } = await found();
    expect(asked).toEqual(["https://api.anthropic.com/v1/models/claude-x"]);
    expect([code, texts(findings, "error")]).toEqual([1, ["Anthropic refuses the key (401)."]]);
    expect(JSON.stringify(findings)).not.toContain("sk-1234567");
  });
});

describe("deploy", () => {
  const log = () => readFileSync(join(folder, "shop/wrangler.log"), "utf8");

  test("builds, deploys and prints the address; of .dev.vars nothing is uploaded", async () => {
    put(".dev.vars", "OPENAI_API_KEY=sk\n");
    const { code, output, notes } = await run("deploy", "--root", "shop", "--env", "staging");
    expect([code, output]).toEqual([0, "Deployed: https://shop.ada.workers.dev\n"]);
    expect(notes).toContain("built build staging");
    expect(notes).toContain("--secrets sets OPENAI_API_KEY as secrets of the Worker.");
    expect(log()).toBe("deploy\n");
  });

  test("--secrets sets them through standard input, without what is for this machine", async () => {
    put(".dev.vars", "OPENAI_API_KEY=sk\nEVERTHINK_DEVELOPMENT=1\nMODEL=\n");
    const { output } = await run("deploy", "--root", "shop", "--secrets");
    expect(output).toContain("Secrets of .dev.vars are set: OPENAI_API_KEY.");
    expect(log()).toBe('deploy\nsecret bulk\n{"OPENAI_API_KEY":"sk"}\n');
  });

  test("--dry-run uploads nothing, and says what it would", async () => {
    put(".dev.vars", "OPENAI_API_KEY=sk\n");
    const { output } = await run("deploy", "--root", "shop", "--dry-run", "--secrets");
    expect(output).toBe("Would set the secrets OPENAI_API_KEY.\nNothing was deployed: --dry-run.\n");
    expect(log()).toBe("deploy --dry-run\n");
  });

  test("an error that a check finds stops it before the build, and a failure of Wrangler is one of the command", async () => {
    put("wrangler.jsonc", '{ "vars": { "OPENAI_API_KEY": "sk" } }');
    await expect(run("deploy", "--root", "shop")).rejects.toThrow("Nothing was deployed.");
    expect(existsSync(join(folder, "shop/wrangler.log"))).toBe(false);
    put("wrangler.jsonc", '{ "main": "virtual:everthink/entry" }');
    await expect(run("deploy", "--root", "shop", "--", "--fail")).rejects.toThrow("wrangler deploy ended with 7.");
  });
});
