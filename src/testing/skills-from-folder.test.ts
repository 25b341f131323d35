import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SkillRegistry } from "../features/skills/registry.ts";
import { skillFile } from "../features/skills/skills.test-support.ts";
import { skillsFromFolder } from "./skills-from-folder.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "everthink-skills-"));
  mkdirSync(join(folder, "greet/references"), { recursive: true });
  writeFileSync(join(folder, "greet/SKILL.md"), skillFile("greet"));
  writeFileSync(join(folder, "greet/references/guide.md"), "The guide.");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a test's agent has the skills of a folder, and sees the next turn what has changed", async () => {
  const source = skillsFromFolder(folder);
  const registry = new SkillRegistry([source]);
  expect(await registry.systemPrompt()).toContain("- greet: What greet is for.");
  expect(await source.readResource?.("greet", "references/guide.md")).toMatchObject({ content: "The guide." });
  writeFileSync(join(folder, "greet/SKILL.md"), skillFile("greet", "Do it.", "Changed words, of another length."));
  await registry.refresh();
  expect(await registry.systemPrompt()).toContain("Changed words");
});

test("a link that leads out of the folder is no file of a skill", async () => {
  symlinkSync("/etc/hostname", join(folder, "greet/references/host.md"));
  expect((await skillsFromFolder(folder).load("greet"))?.resources?.map(({ path }) => path)).toEqual([
    "references/guide.md"
  ]);
});

test("a folder that is not there is a warning of the registry", async () => {
  const registry = new SkillRegistry([skillsFromFolder(join(folder, "none"))]);
  expect(await registry.systemPrompt()).toBeNull();
  expect(registry.warnings.join()).toContain("none");
});
