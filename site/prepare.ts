// Makes the pages of the site from README.md and docs/, and llms.txt and llms-full.txt for coding agents, before Astro builds.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ENTRY_POINTS } from "../tools/entry-points.ts";
import { llmsFull, llmsIndex } from "./llms.ts";
import { readPage, siteLinks, withFrontMatter, type LinkTargets } from "./markdown-page.ts";
import { SECTIONS } from "./navigation.ts";
import { buildPlayground } from "./playground/build.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const content = join(root, "site/src/content/docs");
const publicFolder = join(root, "site/public");

const read = (path: string) => readFileSync(join(root, path), "utf8");
const paths = SECTIONS.flatMap(({ pages }) => pages);
const { repository } = JSON.parse(read("package.json")) as { repository?: { url?: string } };
const targets: LinkTargets = {
  pages: new Set(paths),
  repository: repository?.url === undefined ? undefined : `${repository.url.replace(/^git\+|\.git$/g, "")}/blob/main`
};

const reference = join(root, "site/reference");

for (const folder of [content, publicFolder, reference]) rmSync(folder, { recursive: true, force: true });
mkdirSync(publicFolder, { recursive: true });

const pages = new Map(paths.map((path) => [path, readPage(read(`docs/${path}.md`))]));
for (const [path, page] of pages) writePage(path, withFrontMatter(page, siteLinks(page.body, path, targets)));
const readme = readPage(read("README.md"));
writePage("index", withFrontMatter(readme, siteLinks(readme.body, "../README", targets)));

for (const name of readdirSync(join(root, "docs"))) {
  if (/\.(?:png|svg)$/.test(name)) cpSync(join(root, "docs", name), join(publicFolder, name));
}
cpSync(join(root, "examples/assistant/public/icon.svg"), join(publicFolder, "favicon.svg"));
writeFileSync(join(publicFolder, "llms.txt"), llmsIndex(readme, SECTIONS, pages));
writeFileSync(join(publicFolder, "llms-full.txt"), llmsFull(readme, SECTIONS, pages));

// The playground is a page of the site alone: it needs its scripts.
cpSync(join(root, "site/playground/page.md"), join(content, "playground.md"));
await buildPlayground(join(publicFolder, "playground"));

// What the reference is made of has the names of the subpaths. A capability of `everthink/core` is one value: docs/core.md
// lists them.
for (const [name, path] of Object.entries(ENTRY_POINTS)) {
  if (name.startsWith("core/")) continue;
  const file = join(reference, name === "index" ? "everthink.ts" : `everthink/${name}.ts`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `export * from "${root}${path}";\n`);
}

function writePage(path: string, text: string): void {
  const file = join(content, `${path}.md`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
