// The skills for coding agents that the package has: in the format that our own parser reads, and true about what they name.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/table/commands.ts";
import { readSkillMarkdown } from "../../src/features/skills/markdown.ts";

const root = new URL("../../", import.meta.url);
const names = readdirSync(new URL("agent-skills/", root));
const textOf = (name: string) => readFileSync(new URL(`agent-skills/${name}/SKILL.md`, root), "utf8");

test.each(names)("%s is a skill, and names pages and commands that there are", (name) => {
  const text = textOf(name);
  expect(readSkillMarkdown(text, name)).toMatchObject({ skill: { name }, problems: [] });
  const pages = [...text.matchAll(/`([a-z/-]+)\.md`/g)].map(([, page]) => page);
  expect(pages.length).toBeGreaterThan(5);
  for (const page of pages) expect(existsSync(new URL(`docs/${page}.md`, root)), page).toBe(true);
  const commands = new Set(COMMANDS.map((command) => command.name.split(" ")[0]));
  for (const [, command] of text.matchAll(/npx everthink ([a-z]+)/g)) expect(commands).toContain(command);
});
