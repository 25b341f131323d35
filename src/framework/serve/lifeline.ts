// Ties a child's life to ours. However this process ends, SIGKILL included, a small shell notices its pipe closing,
// kills the child's process group and removes its scratch directory, if it has one. An exit handler could not promise
// that.
import { spawn } from "node:child_process";

// `read` succeeds when we say goodbye properly, and fails when the pipe closes because we are gone.
const SCRIPT = 'read -r goodbye || { kill -s KILL -- "-$1"; [ -z "$2" ] || rm -rf -- "$2"; }';

export interface Lifeline {
  release(): void;
}

/** `groupId` must lead a process group of its own (spawn with `detached`). */
export function attachLifeline(groupId: number, scratchDirectory = ""): Lifeline {
  const watcher = spawn("/bin/sh", ["-c", SCRIPT, "lifeline", String(groupId), scratchDirectory], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true
  });
  watcher.unref();
  // The watcher may be gone before it reads the goodbye; then there is nothing left to tell it.
  watcher.stdin.on("error", () => undefined);
  watcher.on("error", (error) => console.warn(`No lifeline for process group ${groupId}: ${error.message}`));
  return {
    release() {
      watcher.stdin.end("goodbye\n");
    }
  };
}
