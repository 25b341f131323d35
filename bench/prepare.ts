// Makes sure there is something to measure: everthink built from the sources as they are, the opponents installed if
// they take part, and every contender bundled.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isOutdated } from "../tools/newest-change.ts";
import { Arena } from "./arena.ts";
import { bundleContender } from "./bundle.ts";
import type { Contender } from "./contenders.ts";

const repository = join(import.meta.dirname, "..");
const opponents = join(import.meta.dirname, "opponents");

export function buildIfNeeded(): void {
  if (!isOutdated(join(repository, "dist", "index.js"), [join(repository, "src")])) return;
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
