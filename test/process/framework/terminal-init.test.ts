// `everthink init` as a user at a terminal has it: asked for what the arguments leave open.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CONTROL_C, ENTER, TerminalUser } from "./terminal-user.ts";

const DOWN = "\u001b[B";
const UP = "\u001b[A";
const KEY = "sk-test-0123456789";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "everthink-init-"));
});
afterEach(() => {
  vi.unstubAllGlobals();
  rmSync(folder, { recursive: true, force: true });
});

const init = (...args: string[]) => new TerminalUser(["init", ...args, "--no-install"], { cwd: folder });

test("the directory and the starter are asked for, and the project is made of the answers", async () => {
  const user = init();
  await user.sees(/Where\?/);
  user.types(`shop${ENTER}`);
  await user.sees(/Which starter\?/);
  user.types(DOWN);
  await user.sees(/● business-workflow: Asks a person/);
  expect(user.screen.text).toContain("○ customer-support: Looks up orders");
  user.types(ENTER);
  await user.sees(/Which model\?/);
  user.types(`${UP}${ENTER}`);
  expect(await user.ended).toBe(0);
  expect(user.screen.text).toMatch(
    /business-workflow is in shop\nThe offline model answers.*\nNext:\n  cd shop\n  npm install\n  npm run dev/
  );
  expect(existsSync(join(folder, "shop/.dev.vars"))).toBe(false);
  expect(readFileSync(join(folder, "shop/agents/assistant/agent.ts"), "utf8")).toContain("A payment above the limit");
});

test("what the arguments say is not asked, and an empty answer takes the proposal", async () => {
  writeFileSync(join(folder, "notes.txt"), "mine");
  const user = init("--template", "basic", "--model", "offline");
  await user.sees(/Where\?/);
  user.types(ENTER);
  expect(await user.ended).toBe(0);
  const [made = ""] = readdirSync(folder).filter((name) => name !== "notes.txt");
  expect(made).toMatch(/^think-agent-\w+-\w+$/);
  expect(existsSync(join(folder, made, "package.json"))).toBe(true);
});

test("the key is typed unseen, checked with one call, and goes into a file that git ignores", async () => {
  const asked: Request[] = [];
  vi.stubGlobal("fetch", async (url: string, given: RequestInit) => {
    asked.push(new Request(url, given));
    return Response.json({ id: "gpt-5-mini" });
  });
  const user = init("shop", "--template", "basic");
  await user.sees(/Which model\?/);
  user.types(ENTER);
  await user.sees(/Key of OpenAI\?/);
  user.types(`${KEY}${ENTER}`);
  expect(await user.ended).toBe(0);
  expect(user.screen.text).toContain("OpenAI answers, and has the model.");
  expect(user.screen.text).not.toContain(KEY);
  expect(asked.map((one) => [one.url, one.headers.get("authorization")])).toEqual([
    ["https://api.openai.com/v1/models/gpt-5-mini", `Bearer ${KEY}`]
  ]);
  const path = join(folder, "shop/.dev.vars");
  expect(readFileSync(path, "utf8")).toBe(`MODEL_PROVIDER=openai\nOPENAI_API_KEY=${KEY}\n`);
  expect(statSync(path).mode & 0o077).toBe(0);
  const ignored = spawnSync("git", ["check-ignore", ".dev.vars", ".dev.vars.example"], { cwd: join(folder, "shop") });
  expect(String(ignored.stdout)).toBe(".dev.vars\n");
});

test.each(["Where?", "Which starter?", "Which model?", "Key of OpenAI?"])(
  "Ctrl-C at %s makes nothing",
  async (question) => {
    const given = {
      "Where?": [],
      "Which starter?": ["shop"],
      "Which model?": ["shop", "--template", "basic"],
      "Key of OpenAI?": ["shop", "--template", "basic"]
    }[question];
    const user = init(...(given ?? []));
    if (question.startsWith("Key")) {
      await user.sees(/Which model\?/);
      user.types(ENTER);
    }
    await user.sees(new RegExp(question.replace("?", "\\?")));
    user.types(CONTROL_C);
    expect(await user.ended).toBe(1);
    expect(user.screen.text).toContain("Nothing was made.");
    expect(readdirSync(folder)).toEqual([]);
  }
);
