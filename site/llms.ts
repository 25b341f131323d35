// What coding agents read: an index of the documentation, and all of it in one file (llmstxt.org). Pure.
import type { MarkdownPage } from "./markdown-page.ts";
import type { Section } from "./navigation.ts";

/** One line per page, by section. Paths are those of the package's folder docs/. */
export function llmsIndex(
  readme: MarkdownPage,
  sections: readonly Section[],
  pages: ReadonlyMap<string, MarkdownPage>
): string {
  const lines = sections.flatMap(({ label, pages: paths }) => [
    "",
    `## ${label}`,
    "",
    ...paths.map((path) => {
      const page = pages.get(path);
      return `- [${page?.title}](docs/${path}.md): ${page?.description}`;
    })
  ]);
  return [`# ${readme.title}`, "", `> ${readme.description}`, ...lines, ""].join("\n");
}

export function llmsFull(
  readme: MarkdownPage,
  sections: readonly Section[],
  pages: ReadonlyMap<string, MarkdownPage>
): string {
  const all = sections.flatMap(({ pages: paths }) => paths.flatMap((path) => pages.get(path) ?? []));
  return [readme, ...all].map(({ title, body }) => `# ${title}\n\n${body.trim()}\n`).join("\n\n");
}
