// Removes a folder that a dying process may still write to. `rmSync` with `maxRetries` does not do that: it tries again to
// remove a folder that got a new file, but never empties it again, and fails after ten seconds.
import { rmSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

const ATTEMPTS = 200;
const PAUSE_MS = 50;

export async function removeFolder(path: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return rmSync(path, { recursive: true, force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOTEMPTY" || attempt === ATTEMPTS) throw error; // Thrown by node:fs.
      await delay(PAUSE_MS);
    }
  }
}
