// `node tools/lint-layers.ts [repository]`: checks every source file under src/ against the rules of the repository
// (lint-rules.ts, lint-imports.ts), prints `file:line rule message`, and exits 1 when there is anything to print.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { lintSource } from "./lint-rules.ts";

const root = process.argv[2] ?? join(import.meta.dirname, "..");
const paths = globSync("src/**/*.{ts,tsx}", { cwd: root }).map((path) => path.replaceAll("\\", "/"));
paths.sort();

let found = 0;
for (const path of paths) {
  for (const { line, rule, message } of lintSource(path, readFileSync(join(root, path), "utf8"))) {
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
