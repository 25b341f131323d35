// Finds the workerd of the user's project: listed there, or brought along by wrangler. everthink does not depend on it,
// because on Cloudflare it is not needed.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { MissingWorkerdError } from "./errors.ts";

/** Packages that bring the next one along, for package managers that do not put it at the top. */
const CHAINS = [["workerd"], ["miniflare", "workerd"], ["wrangler", "workerd"], ["wrangler", "miniflare", "workerd"]];

/** The path of the program, looked for from each of these folders in turn. */
export function findWorkerd(folders: readonly string[]): string {
  for (const folder of folders) {
    for (const chain of CHAINS) {
      const binary = followChain(join(folder, "package.json"), chain);
      if (binary !== undefined) return binary;
    }
  }
  throw new MissingWorkerdError();
}

function followChain(from: string, chain: readonly string[]): string | undefined {
  let place = from;
  try {
    for (const name of chain) place = createRequire(place).resolve(name);
    // The package ships no types; its default export is the path of the binary that fits this machine.
    const loaded: unknown = createRequire(from)(place);
    const path = typeof loaded === "object" && loaded !== null && "default" in loaded ? loaded.default : undefined;
    return typeof path === "string" && existsSync(path) ? path : undefined;
  } catch {
    return undefined; // Not installed that way; the next chain may be.
  }
}
