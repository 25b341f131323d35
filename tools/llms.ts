// Writes llms.txt and llms-full.txt, which the package has beside docs/ for coding agents.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { llmsFull, llmsIndex } from "../site/llms.ts";
import { readPage } from "../site/markdown-page.ts";
import { SECTIONS } from "../site/navigation.ts";

const root = join(import.meta.dirname, "..");
const page = (path: string) => readPage(readFileSync(join(root, path), "utf8"));
const readme = page("README.md");
const pages = new Map(SECTIONS.flatMap((section) => section.pages).map((path) => [path, page(`docs/${path}.md`)]));

writeFileSync(join(root, "llms.txt"), llmsIndex(readme, SECTIONS, pages));
writeFileSync(join(root, "llms-full.txt"), llmsFull(readme, SECTIONS, pages));
