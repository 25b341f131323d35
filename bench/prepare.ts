// Makes sure there is something to measure: everthink built from the sources as they are, the opponents installed if
// they take part, and every contender bundled.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Arena } from "./arena.ts";
import { bundleContender } from "./bundle.ts";
import type { Contender } from "./contenders.ts";

const repository = join(import.meta.dirname, "..");
const opponents = join(import.meta.dirname, "opponents");

export function buildIfNeeded(): void {
  const built = join(repository, "dist", "index.js");
  const builtAt = existsSync(built) ? statSync(built).mtimeMs : 0;
  if (newest(join(repository, "src")) <= builtAt) return;
  console.error("Building everthink …");
  npm(["run", "build"], repository);
}

export function installIfNeeded(contenders: readonly Contender[]): void {
  if (!contenders.some(({ isOpponent }) => isOpponent) || existsSync(join(opponents, "node_modules"))) return;
  console.error("Installing the opponents …");
  npm(["ci"], opponents);
}

/** Bundles each contender into the folder and starts its main process. */
export async function openArenas(contenders: readonly Contender[], folder: string): Promise<Arena[]> {
  const arenas: Arena[] = [];
  for (const contender of contenders) {
    const workerFile = join(folder, `${contender.name}.js`);
    const arena = new Arena(contender, await bundleContender(contender, workerFile), workerFile);
    await arena.main.start();
    arenas.push(arena);
  }
  return arenas;
}

function npm(args: readonly string[], cwd: string): void {
  execFileSync("npm", args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
}

function newest(folder: string): number {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
  return Math.max(...entries.filter((entry) => entry.isFile()).map((entry) => changedAt(entry.parentPath, entry.name)));
}

function changedAt(folder: string, name: string): number {
  // Tests are not part of what is built.
  return name.includes(".test") ? 0 : statSync(join(folder, name)).mtimeMs;
}
