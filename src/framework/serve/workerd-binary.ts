// Finds the workerd of the user's project: listed there, or brought along by wrangler. everthink does not depend on it,
// because on Cloudflare it is not needed. One that is too old is passed over, and named when there is no other: it would
// end with words about compatibility dates or unknown options.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { isObject, parseJson } from "../../util/json.ts";
import { serveErrors } from "./errors.ts";

/** Packages that bring the next one along, for package managers that do not put it at the top. */
const CHAINS = [["workerd"], ["miniflare", "workerd"], ["wrangler", "workerd"], ["wrangler", "miniflare", "workerd"]];

/** The lowest of the package's peer range. */
export const OLDEST_WORKERD = "1.20260918.0";

/** The path of the program, looked for from each of these folders in turn. */
export function findWorkerd(folders: readonly string[]): string {
  let old: string | undefined;
  for (const folder of folders) {
    for (const chain of CHAINS) {
      const found = followChain(join(folder, "package.json"), chain);
      if (found === undefined) continue;
      if (found.version === undefined || !isOlder(found.version, OLDEST_WORKERD)) return found.binary;
      old ??= found.version;
    }
  }
  throw old === undefined ? serveErrors.MissingWorkerdError() : serveErrors.OldWorkerdError(old, OLDEST_WORKERD);
}

function isOlder(version: string, than: string): boolean {
  const [left, right] = [version, than].map((text) => text.split(/[.+-]/).map(Number));
  for (const index of [0, 1, 2]) {
    const difference = (left?.[index] ?? 0) - (right?.[index] ?? 0);
    // What is no number is of a version that cannot be judged.
    if (difference !== 0) return difference < 0;
  }
  return false;
}

interface FoundWorkerd {
  readonly binary: string;
  /** Undefined when the package does not say. */
  readonly version: string | undefined;
}

function followChain(from: string, chain: readonly string[]): FoundWorkerd | undefined {
  let place = from;
  try {
    for (const name of chain) place = createRequire(place).resolve(name);
    // The package ships no types; its default export is the path of the binary that fits this machine.
    const loaded: unknown = createRequire(from)(place);
    const path = typeof loaded === "object" && loaded !== null && "default" in loaded ? loaded.default : undefined;
    return typeof path === "string" && existsSync(path) ? { binary: path, version: versionAt(place) } : undefined;
  } catch {
    return undefined; // Not installed that way; the next chain may be.
  }
}

/** Of the package that has this file. */
function versionAt(file: string): string | undefined {
  for (let folder = dirname(file); dirname(folder) !== folder; folder = dirname(folder)) {
    const manifest = join(folder, "package.json");
    if (!existsSync(manifest)) continue;
    const parsed = parseJson(readFileSync(manifest, "utf8"));
    const version: unknown = parsed.ok && isObject(parsed.value) ? parsed.value["version"] : undefined;
    return typeof version === "string" ? version : undefined;
  }
  return undefined;
}
