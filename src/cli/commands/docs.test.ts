// `everthink docs` reads the pages of the package.
import { expect, test } from "vitest";
import { testContext } from "../cli.test-support.ts";
import { dispatch } from "../main.ts";

async function printed(...args: string[]): Promise<string> {
  const lines: string[] = [];
  const print = (text: string) => void lines.push(text);
  const context = testContext({ cwd: ".", print, note: () => undefined, stream: () => undefined });
  expect(await dispatch(["docs", ...args], context)).toBe(0);
  return lines.join("\n");
}

test("all pages are listed with their titles, those of commands last", async () => {
  const lines = (await printed()).split("\n");
  expect(lines).toContainEqual(expect.stringMatching(/^actions +Actions$/));
  const first = lines.findIndex((line) => line.startsWith("commands/"));
  expect(lines.slice(first).every((line) => line.startsWith("commands/"))).toBe(true);
  const { pages } = JSON.parse(await printed("--json")) as { pages: { name: string }[] };
  expect(pages).toHaveLength(lines.length);
});

test.each(["actions", "docs/actions.md", "actions.md"])("the page %s is printed", async (topic) => {
  expect(await printed(topic)).toMatch(/^# Actions\n/);
});

test("a command is found by its name", async () => {
  expect(await printed("dev")).toMatch(/^# everthink dev\n/);
  expect(JSON.parse(await printed("dev", "--json"))).toMatchObject({ name: "commands/dev", title: "everthink dev" });
});

test("a word leads to the pages that have it, the one with the most places first", async () => {
  const [said, first] = (await printed("idempotencyKey")).split("\n");
  expect(said).toBe('There is no page "idempotencyKey". Pages with the word:');
  expect(first).toMatch(/^ {2}\S/);
});

test("what no page has is an error that names the nearest page, and nothing outside of the folder is read", async () => {
  await expect(printed("actoins")).rejects.toMatchObject({ hint: expect.stringContaining("Did you mean actions?") });
  await expect(printed("../package")).rejects.toThrow("There is no page");
});
