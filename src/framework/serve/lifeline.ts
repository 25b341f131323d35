// Ties a child's life to ours. However this process ends, SIGKILL included, a small shell notices its pipe closing,
// kills the child's process group, removes its scratch directory, if it has one, and lists the write-ahead logs it left in
// its data folder, if it has one (see wal-check.ts). An exit handler could not promise that.
import { spawn } from "node:child_process";
import { LOG_LIST } from "./wal-check.ts";

// `read` succeeds when we say goodbye properly, and fails when the pipe closes because we are gone.
const SCRIPT = `read -r goodbye || {
  kill -s KILL -- "-$1"
  [ -z "$2" ] || rm -rf -- "$2"
  [ -z "$3" ] || { cd -- "$3" && find . -name "*.sqlite-wal" -size +0c >"$4"; }
}`;

export interface Lifeline {
  release(): void;
}

export interface LifelineOptions {
  scratchDirectory?: string;
  dataFolder?: string;
  /** Kept open until the watcher is done: a lock on the data folder lasts until the list is written. */
  heldDescriptor?: number;
}

/** `groupId` must lead a process group of its own (spawn with `detached`). */
export function attachLifeline(groupId: number, options: LifelineOptions = {}): Lifeline {
  const { scratchDirectory = "", dataFolder = "", heldDescriptor } = options;
  const args = ["-c", SCRIPT, "lifeline", String(groupId), scratchDirectory, dataFolder, LOG_LIST];
  const watcher = spawn("/bin/sh", args, {
    stdio: ["pipe", "ignore", "ignore", heldDescriptor ?? "ignore"],
    detached: true
  });
  watcher.unref();
  // The watcher may be gone before it reads the goodbye; then there is nothing left to tell it.
  watcher.stdin?.on("error", () => undefined);
  watcher.on("error", (error) => console.warn(`No lifeline for process group ${groupId}: ${error.message}`));
  return {
    release() {
      watcher.stdin?.end("goodbye\n");
    }
  };
}
