// `everthink init` without questions: every answer is an argument.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { parseVariables } from "../../framework/serve/variables.ts";
import { testContext } from "../cli.test-support.ts";
import { dispatch } from "../main.ts";

const KEY = "sk-secret-0123456789";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "everthink-model-"));
});
afterEach(() => {
  vi.unstubAllGlobals();
  rmSync(folder, { recursive: true, force: true });
});

const variables = () => readFileSync(join(folder, "shop/.dev.vars"), "utf8");

async function init(args: readonly string[], environment: Record<string, string> = {}) {
  let output = "";
  const print = (text: string) => (output += `${text}\n`);
  const context = testContext({ cwd: folder, environment, print, note: print, stream: print });
  const code = await dispatch(["init", "shop", "--no-install", ...args], context);
  return { code, output };
}

function provider(status: number) {
  let calls = 0;
  vi.stubGlobal("fetch", async () => {
    calls += 1;
    return new Response("{}", { status });
  });
  return () => calls;
}

test("a key of a named variable is written and checked once; a refusal is reported, and the project is made", async () => {
  const calls = provider(401);
  const { code, output } = await init(["--model", "openai", "--key-var", "MY_KEY"], { MY_KEY: KEY });
  expect([code, calls()]).toEqual([0, 1]);
  expect(output).toContain(
    "OpenAI refuses the key (401). What you gave is in .dev.vars all the same: change it there."
  );
  expect(output).not.toContain(KEY);
  expect(variables()).toBe(`MODEL_PROVIDER=openai\nOPENAI_API_KEY=${KEY}\n`);
});

test("a key that the shell has under its own name is checked and not written", async () => {
  const calls = provider(200);
  const { output } = await init(["--model", "openai"], { OPENAI_API_KEY: KEY });
  expect([calls(), variables()]).toEqual([1, "MODEL_PROVIDER=openai\n"]);
  expect(output).toContain("OpenAI answers, and has the model.");
});

test("without a key, and with --no-check-key, no provider is asked", async () => {
  const calls = provider(200);
  expect((await init(["--model", "google"])).output).toContain("Google needs a key: put GOOGLE_GENERATIVE_AI_API_KEY=");
  rmSync(join(folder, "shop"), { recursive: true });
  const args = ["--model", "openai", "--key-var", "MY_KEY", "--no-check-key", "--json"];
  const { output } = await init(args, { MY_KEY: KEY });
  expect(JSON.parse(output)).toMatchObject({ model: { provider: "openai", state: "unchecked", problem: null } });
  expect(calls()).toBe(0);
});

test.each([
  [["--model", "gpt"], 'not "gpt"'],
  [["--model", "compatible"], "compatible needs --model-url."],
  [["--model", "workers-ai"], "workers-ai needs --account."],
  [["--model", "compatible", "--model-url", "ftp://x", "--model-name", "m"], "--model-url takes an address"],
  [["--model", "openai", "--key-var", "NOT_THERE"], "The variable NOT_THERE is not set."]
])("%j makes nothing, and says what is missing", async (args, message) => {
  await expect(init(args)).rejects.toThrow(message);
  expect(existsSync(join(folder, "shop"))).toBe(false);
});

test("a provider is added to a project later: its variables join those that are there, and it is the one that answers", async () => {
  provider(200);
  await init(["--model", "openai", "--key-var", "MY_KEY"], { MY_KEY: KEY });
  let output = "";
  const print = (text: string) => (output += `${text}\n`);
  const context = testContext({
    cwd: join(folder, "shop"),
    environment: { OTHER: "sk-other-0123" },
    print,
    note: print,
    stream: print
  });
  expect(await dispatch(["add", "anthropic", "--key-var", "OTHER", "--model-name", "claude-x"], context)).toBe(0);
  expect(output).toBe("Anthropic answers, and has the model.\nStart again: variables are read at the start.\n");
  const lines = [
    "MODEL_PROVIDER=anthropic",
    `OPENAI_API_KEY=${KEY}`,
    "ANTHROPIC_API_KEY=sk-other-0123",
    "MODEL=claude-x"
  ];
  expect(variables()).toBe(`${lines.join("\n")}\n`);
  // Its model is not the other one's.
  expect(await dispatch(["add", "openai", "--no-check-key"], context)).toBe(0);
  expect(parseVariables(variables()).get("MODEL")).toBe("");
  await expect(dispatch(["add", "mistral"], context)).rejects.toThrow('not "mistral"');
  await expect(dispatch(["add", "openai"], { ...context, cwd: folder })).rejects.toThrow("is no everthink project");
});

test("a first commit has the project and not the key", async () => {
  provider(200);
  const identity = {
    GIT_AUTHOR_NAME: "a",
    GIT_AUTHOR_EMAIL: "a@b",
    GIT_COMMITTER_NAME: "a",
    GIT_COMMITTER_EMAIL: "a@b"
  };
  for (const [name, value] of Object.entries(identity)) vi.stubEnv(name, value);
  const { output } = await init(["--model", "openai", "--key-var", "MY_KEY", "--json"], { MY_KEY: KEY });
  vi.unstubAllEnvs();
  expect(JSON.parse(output)).toMatchObject({ isCommitted: true });
  const git = (...args: string[]) => spawnSync("git", args, { cwd: join(folder, "shop"), encoding: "utf8" }).stdout;
  const files = git("ls-files").split("\n");
  expect(files).toEqual(expect.arrayContaining(["package.json", ".dev.vars.example", "agents/assistant/agent.ts"]));
  expect(files).not.toContain(".dev.vars");
  expect(git("status", "--porcelain")).toBe("");
});
