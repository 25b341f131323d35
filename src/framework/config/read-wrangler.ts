// The user's Wrangler file: which one there is, and what it says. One that cannot be parsed is reported, not thrown.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { errorMessage } from "../../util/errors.ts";
import { parseJsonc } from "../serve/jsonc.ts";
import type { ThinkWorkerConfig } from "./worker-config.ts";

/** In the order in which they are looked for. */
export const WRANGLER_FILES: readonly string[] = ["wrangler.jsonc", "wrangler.json", "wrangler.toml"];

export interface WranglerConfigResult {
  /** Relative to the root; absent when there is no file. */
  readonly path?: string;
  readonly text?: string;
  readonly parsed?: ThinkWorkerConfig;
  readonly error?: string;
}

/**
 * Reads the first of wrangler.jsonc, wrangler.json and wrangler.toml in a folder.
 *
 * @example
 * const { path, parsed, error } = readWranglerConfig(process.cwd());
 */
export function readWranglerConfig(root: string): WranglerConfigResult {
  const path = WRANGLER_FILES.find((name) => existsSync(join(root, name)));
  if (path === undefined) return {};
  const text = readFileSync(join(root, path), "utf8");
  return { path, text, ...parseWranglerConfig(path, text) };
}

export function parseWranglerConfig(path: string, text: string): Pick<WranglerConfigResult, "parsed" | "error"> {
  try {
    const value: unknown = path.endsWith(".toml") ? parseToml(text) : parseJsonc(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return { error: "It holds no object." };
    // Fields that are used are checked where they are used.
    return { parsed: value as ThinkWorkerConfig };
  } catch (error) {
    return { error: errorMessage(error).split("\n")[0] ?? "" };
  }
}

/** Adds every file the configuration may be in to a watcher, also those that do not exist yet. */
export function watchWranglerConfigFiles(root: string, watcher: { add(paths: readonly string[]): unknown }): void {
  watcher.add(WRANGLER_FILES.map((name) => join(root, name)));
}
