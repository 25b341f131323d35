// `everthink init` as a user at a terminal has it: asked for what the arguments leave open.
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CONTROL_C, ENTER, TerminalUser } from "./terminal-user.ts";

const DOWN = "\u001b[B";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "everthink-init-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const init = (...args: string[]) => new TerminalUser(["init", ...args, "--no-install"], { cwd: folder });

test("the directory and the starter are asked for, and the project is made of the answers", async () => {
  const user = init();
  await user.sees(/Where\?/);
  user.types(`shop${ENTER}`);
  await user.sees(/Which starter\?/);
  user.types(DOWN);
  await user.sees(/● business-workflow/);
  user.types(ENTER);
  expect(await user.ended).toBe(0);
  expect(user.screen.text).toContain("business-workflow is in shop\nNext:\n  cd shop\n  npm install\n  npm run dev");
  expect(readFileSync(join(folder, "shop/agents/assistant/agent.ts"), "utf8")).toContain("A payment above the limit");
});

test("what the arguments say is not asked, and an empty answer takes the proposal", async () => {
  writeFileSync(join(folder, "notes.txt"), "mine");
  const user = init("--template", "basic");
  await user.sees(/Where\?/);
  user.types(ENTER);
  expect(await user.ended).toBe(0);
  const [made = ""] = readdirSync(folder).filter((name) => name !== "notes.txt");
  expect(made).toMatch(/^think-agent-\w+-\w+$/);
  expect(existsSync(join(folder, made, "package.json"))).toBe(true);
});

test.each(["Where?", "Which starter?"])("Ctrl-C at %s makes nothing", async (question) => {
  const user = question === "Where?" ? init() : init("shop");
  await user.sees(new RegExp(question.replace("?", "\\?")));
  user.types(CONTROL_C);
  expect(await user.ended).toBe(1);
  expect(user.screen.text).toContain("Nothing was made.");
  expect(readdirSync(folder)).toEqual([]);
});
