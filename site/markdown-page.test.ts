import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { llmsFull, llmsIndex } from "./llms.ts";
import { readPage, siteLinks, withFrontMatter } from "./markdown-page.ts";
import { SECTIONS } from "./navigation.ts";

const docs = new URL("../docs/", import.meta.url);
const targets = { pages: new Set(["actions", "commands/init"]), repository: undefined };

test("every page of docs/ stands in the navigation once, and nothing else does", () => {
  const files = readdirSync(docs, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md") && !name.startsWith("dist/"))
    .map((name) => name.slice(0, -3));
  const listed = SECTIONS.flatMap(({ pages }) => pages);
  expect(listed.toSorted()).toEqual(files.toSorted());
  for (const path of listed) expect(existsSync(new URL(`${path}.md`, docs)), path).toBe(true);
});

test("the README links each page under the name of its section, once", () => {
  const readme =
    readFileSync(new URL("../README.md", docs), "utf8").split("\n## Documentation\n")[1]?.split("\n## ")[0] ?? "";
  for (const { label, pages } of SECTIONS.filter((section) => section.label !== "Commands")) {
    const row = new RegExp(`^\\| \\*\\*${label}\\*\\* \\| (.*) \\|$`, "m").exec(readme)?.[1] ?? "";
    const linked = [...row.matchAll(/\]\(docs\/([\w-]+)\.md\)/g)].map(([, path]) => path);
    expect(linked, label).toEqual(
      label === "Reference" ? ["cli", ...pages.filter((path) => path !== "decisions")] : pages
    );
  }
});

test("every page begins with its title and says in its first paragraph what it is about", () => {
  for (const path of SECTIONS.flatMap(({ pages }) => pages)) {
    const { title, description } = readPage(readFileSync(new URL(`${path}.md`, docs), "utf8"));
    expect(title, path).not.toMatch(/[[\]*`]/);
    expect(description.length, path).toBeGreaterThan(20);
    expect(description, path).not.toMatch(/^[|#<]|\]\(|```/);
  }
});

test("a page is split into its title, its first paragraph as plain text, and the rest", () => {
  const text = "# Conventions of `agents/`\n\n**Files [become](x.md#y) a\nWorker.** Always.\n\nMore.\n";
  expect(readPage(text)).toEqual({
    title: "Conventions of agents/",
    description: "Files become a Worker. Always.",
    body: "**Files [become](x.md#y) a\nWorker.** Always.\n\nMore.\n"
  });
  expect(() => readPage("No title")).toThrow("# Title");
});

test("links to pages are addresses of the site, and code is left as it is", () => {
  const linked = (text: string, page = "actions") => siteLinks(text, page, targets);
  expect(linked("[a](actions.md#limits) [b](commands/init.md)")).toBe("[a](/actions/#limits) [b](/commands/init/)");
  expect(linked("[up](../actions.md)", "commands/init")).toBe("[up](/actions/)");
  expect(linked("[read](../README.md#your-own-agent)")).toBe("[read](/#your-own-agent)");
  expect(linked("![what is shown](../terminal-chat.png)", "commands/init")).toBe(
    "![what is shown](/terminal-chat.png)"
  );
  expect(linked("[here](#limits) [there](https://example.com/a.md)")).toBe(
    "[here](#limits) [there](https://example.com/a.md)"
  );
  expect(linked("[code](../examples/assistant) [lost](gone.md)")).toBe("code lost");
  expect(siteLinks("[code](../examples/a)", "actions", { ...targets, repository: "https://git.example/r" })).toBe(
    "[code](https://git.example/r/examples/a)"
  );
  const code = "```ts\nconst list = [a](actions.md);\n```";
  expect(linked(code)).toBe(code);
});

test("titles with quotes and colons survive the front matter", () => {
  const page = withFrontMatter({ title: 'The framework: "agents/"', description: "One: two" }, "Body");
  expect(page).toBe('---\ntitle: "The framework: \\"agents/\\""\ndescription: "One: two"\n---\n\nBody');
});

test("coding agents get an index with a line per page, and everything in one file", () => {
  const page = (title: string) => ({ title, description: `About ${title}.`, body: `About ${title}.\n\nMore.\n` });
  const sections = [{ label: "Guides", pages: ["actions"] }];
  const pages = new Map([["actions", page("Actions")]]);
  expect(llmsIndex(page("everthink"), sections, pages)).toBe(
    "# everthink\n\n> About everthink.\n\n## Guides\n\n- [Actions](docs/actions.md): About Actions.\n"
  );
  expect(llmsFull(page("everthink"), sections, pages)).toBe(
    "# everthink\n\nAbout everthink.\n\nMore.\n\n\n# Actions\n\nAbout Actions.\n\nMore.\n"
  );
});
