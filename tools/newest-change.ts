// Whether a build is older than what it was made of. Compares times of change only: a fresh clone has no build, and a
// build that is made anew for nothing costs seconds, never correctness.
import { type Dirent, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Made, not written: their changes say nothing. */
const MADE_FOLDERS = new Set(["node_modules", "dist", ".wrangler"]);

/** True when `output` does not exist or something in `inputs` (files and folders) changed after it. */
export function isOutdated(output: string, inputs: readonly string[]): boolean {
  if (!existsSync(output)) return true;
  const madeAt = statSync(output).mtimeMs;
  return inputs.some((input) => newestChange(input) > madeAt);
}

function newestChange(path: string): number {
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  // A folder's own time changes when something in it is removed.
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => isSource(entry))
    .reduce((newest, { name }) => Math.max(newest, newestChange(join(path, name))), mtimeMs);
}

function isSource(entry: Dirent): boolean {
  return !MADE_FOLDERS.has(entry.name) && !entry.name.startsWith(".");
}
