// `node tools/lint-layers.ts [repository]`: checks every source file under src/ against the rules of the repository
// (lint-rules.ts, lint-imports.ts) and the pages beside it against the one for pages, prints `file:line rule message`, and
// exits 1 when there is anything to print.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { lintPage, lintSource } from "./lint-rules.ts";

const root = process.argv[2] ?? join(import.meta.dirname, "..");
const isInstalled = (path: string) => path.includes("node_modules");
const PAGES = ["starters/**/*.tsx", "studio/**/*.tsx", "examples/**/page/**/*.{ts,tsx}", "test/**/*.tsx"];
const files = (pattern: string | string[]) =>
  globSync(pattern, { cwd: root, exclude: isInstalled })
    .map((path) => path.replaceAll("\\", "/"))
    .sort();
const paths = files("src/**/*.{ts,tsx}");

let found = 0;
for (const path of [...paths, ...files(PAGES)]) {
  const lint = path.startsWith("src/") ? lintSource : lintPage;
  for (const { line, rule, message } of lint(path, readFileSync(join(root, path), "utf8"))) {
    console.log(`${path}:${line} ${rule} ${message}`);
    found += 1;
  }
}

if (paths.length === 0) {
  console.error("Found no files under src/: the layer lint is looking in the wrong place.");
  process.exitCode = 1;
} else if (found > 0) {
  console.error(`${found} found in ${paths.length} files.`);
  process.exitCode = 1;
}
