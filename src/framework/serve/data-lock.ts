// One data folder belongs to one running instance. The lock is the kernel's (flock), held on a descriptor that workerd
// inherits: it ends when the supervisor *and* its workerd are gone, however they ended, and not before. So a stale lock
// cannot exist, and a workerd that outlives its supervisor for a moment still keeps others out. The lock file itself is
// never removed: a second instance could otherwise lock a file that is no longer there.
import { spawn } from "node:child_process";
import { chmodSync, closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { serveErrors, type DataFolderOwner } from "./errors.ts";

/** Inside the data folder: the lock, and what this instance runs. Not part of the data. */
export const OWN_FOLDER = ".everthink";

/** How long a lock is waited for: the workerd of a killed supervisor is killed within this time. */
const WAIT_MS = 2_000;
const RETRY_MS = 100;

/** Node cannot lock files. Each of these locks descriptor 3, which it shares with us, and exits with 1 when it is taken. */
const LOCKERS: readonly (readonly [string, ...string[]])[] = [
  ["flock", "-n", "3"],
  ["perl", "-e", 'use Fcntl ":flock"; open(my $f, ">&=", 3) or exit 2; flock($f, LOCK_EX | LOCK_NB) or exit 1;']
];

export interface DataLock {
  /** A process that inherits it holds the lock too. */
  descriptor: number;
  release(): void;
}

/** Makes the folder when it does not exist. */
export async function lockDataFolder(folder: string, waitMs = WAIT_MS): Promise<DataLock> {
  const file = join(folder, OWN_FOLDER, "lock");
  const descriptor = openLockFile(folder, file);
  try {
    for (let waited = 0; !(await tryLock(folder, descriptor)); waited += RETRY_MS) {
      if (waited >= waitMs) throw serveErrors.DataFolderInUseError(folder, readOwner(file));
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    ftruncateSync(descriptor);
    writeSync(descriptor, JSON.stringify({ pid: process.pid, since: new Date().toISOString() }));
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  return { descriptor, release: () => closeSync(descriptor) };
}

function openLockFile(folder: string, file: string): number {
  try {
    makePrivateFolder(folder);
    makePrivateFolder(join(folder, OWN_FOLDER));
    // For appending: nothing of the owner's is overwritten by a process that only asks.
    return openSync(file, "a", 0o600);
  } catch (error) {
    throw serveErrors.DataFolderError(folder, reasonOf(error, folder));
  }
}

/** Conversations are for no other user of the machine. One that is shared on purpose belongs to another user, and stays as it is. */
export function makePrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(folder);
  if (uid === process.getuid?.() && (mode & 0o077) !== 0) chmodSync(folder, 0o700);
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of the path is a file",
  ENOENT: "it does not exist and cannot be made"
};

function reasonOf(error: unknown, folder: string): string {
  const { code = "", message } = error as NodeJS.ErrnoException; // Thrown by node:fs.
  if (code === "EEXIST" && !statSync(folder).isDirectory()) return "it is a file";
  return REASONS[code] ?? message;
}

async function tryLock(folder: string, descriptor: number): Promise<boolean> {
  for (const [program, ...args] of LOCKERS) {
    const code = await exitCode(program, args, descriptor);
    if (code === 0) return true;
    if (code === 1) return false;
    // Missing, or it cannot lock here: the next one may.
  }
  throw serveErrors.DataFolderError(
    folder,
    "it cannot be locked (this needs flock or perl, and a disk that knows locks)"
  );
}

function exitCode(program: string, args: readonly string[], descriptor: number): Promise<number | null> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ["ignore", "ignore", "ignore", descriptor] });
    child.once("error", () => resolve(null));
    child.once("close", (code) => resolve(code));
  });
}

/** For the message only: whether it is locked is the kernel's knowledge. */
function readOwner(file: string): DataFolderOwner {
  try {
    const { pid, since } = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
    return {
      pid: typeof pid === "number" ? pid : undefined,
      since: typeof since === "string" ? since : undefined
    };
  } catch {
    return {}; // It has just been locked and not been written yet.
  }
}
