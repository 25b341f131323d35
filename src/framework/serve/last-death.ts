// When the last workerd ended that its own work had stopped: one small file in the data folder. The supervisor may end with
// workerd, as when the system stops a whole unit that has no memory left, and the next one must not repeat that work.
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "../../util/errors.ts";
import { isObject, parseJson } from "../../util/json.ts";
import { OWN_FOLDER } from "./data-lock.ts";
import type { Log } from "./log.ts";

const FILE = `${OWN_FOLDER}/last-death`;

/** Undefined: there was none, or the file cannot be read. Never later than now: the clock may have been wrong. */
export function readLastDeath(dataFolder: string, nowMs: number): number | undefined {
  try {
    const parsed = parseJson(readFileSync(join(dataFolder, FILE), "utf8"));
    const atMs = parsed.ok && isObject(parsed.value) ? parsed.value["atMs"] : undefined;
    return typeof atMs === "number" && Number.isFinite(atMs) ? Math.min(atMs, nowMs) : undefined;
  } catch {
    // No workerd of this folder has died by its own work yet.
    return undefined;
  }
}

/** Replaces the one before. A failure is logged: workerd is started again all the same. */
export function keepLastDeath(dataFolder: string, atMs: number, log: Log): void {
  const file = join(dataFolder, FILE);
  try {
    writeFileSync(`${file}.new`, JSON.stringify({ atMs }), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch (error) {
    log.warn(`The time of this death could not be kept for a later server: ${errorMessage(error)}.`);
  }
}
