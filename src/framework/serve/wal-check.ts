// Commits that were lost because a write-ahead log (`<object>.sqlite-wal`) was removed or damaged while the server was not
// running. SQLite itself cannot notice: it opens what is left and goes on. So this is asked before workerd opens anything,
// from what else is there: the log's index, its checksums, and the list of logs that the last run left behind.
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readAgentName } from "../local-data/agent-name.ts";
import { OWN_FOLDER } from "./data-lock.ts";
import { logProblem, readLog, readLogIndex, type LogIndex, type LogProblem } from "./wal-file.ts";

/** Relative to the data folder: one path per line, as `find` writes them. The lifeline writes it, too. */
export const LOG_LIST = `${OWN_FOLDER}/open-logs`;

const DATABASE_END = ".sqlite";
/** Larger logs are not read to the end: a start must not wait for it. */
const READ_LIMIT_BYTES = 64 * 1024 * 1024;
/** Objects named in the warning. */
const NAMED_OBJECTS = 5;

export interface LostCommits {
  /** The database, relative to the data folder. */
  file: string;
  problem: LogProblem;
}

/** Reads files only. To be called before workerd is started, by the holder of the lock. */
export function findLostCommits(dataFolder: string): LostCommits[] {
  const listed = readList(dataFolder);
  const budget = { leftBytes: READ_LIMIT_BYTES };
  return objectFolders(dataFolder).flatMap(({ folder, names }) => {
    const present = new Set(names);
    return names.flatMap((name): LostCommits[] => {
      if (!name.endsWith(DATABASE_END)) return [];
      const file = join(folder, name);
      const [hasLog, hasIndex] = [present.has(`${name}-wal`), present.has(`${name}-shm`)];
      const path = join(dataFolder, file);
      if (!hasLog && !hasIndex) {
        const isLost = listed.files.has(file) && !isWrittenSince(path, listed.atMs);
        return isLost ? [{ file, problem: "missing" }] : [];
      }
      const index = hasIndex ? readLogIndex(readFileSync(`${path}-shm`)) : undefined;
      const problem = problemOf({ log: hasLog ? `${path}-wal` : undefined, index, budget });
      return problem ? [{ file, problem }] : [];
    });
  });
}

interface LogQuestion {
  log: string | undefined;
  index: LogIndex | undefined;
  budget: { leftBytes: number };
}

function problemOf({ log, index, budget }: LogQuestion): LogProblem | undefined {
  const sizeBytes = log === undefined ? 0 : statSync(log).size;
  // An empty one was opened and not written yet, or was emptied.
  if (log === undefined || sizeBytes === 0) return logProblem(null, index);
  budget.leftBytes -= sizeBytes;
  return budget.leftBytes < 0 ? undefined : logProblem(readLog(readFileSync(log)), index);
}

/** Remembers which logs are needed for the next start. To be called when workerd has ended. */
export function listOpenLogs(dataFolder: string): void {
  const files = objectFolders(dataFolder).flatMap(({ folder, names }) =>
    names.filter((name) => name.endsWith(`${DATABASE_END}-wal`)).map((name) => join(folder, name))
  );
  const lines = files.filter((file) => statSync(join(dataFolder, file)).size > 0).map((file) => `./${file}\n`);
  writeFileSync(join(dataFolder, LOG_LIST), lines.join(""));
}

/** The list is of the last run: it says nothing once workerd runs again. */
export function forgetOpenLogs(dataFolder: string): void {
  rmSync(join(dataFolder, LOG_LIST), { force: true });
}

/** What to tell the operator; undefined when nothing was lost. Names the agents whose names are in what is left. */
export function lostCommitsWarning(dataFolder: string, lost: readonly LostCommits[]): string | undefined {
  if (lost.length === 0) return undefined;
  const named = lost.slice(0, NAMED_OBJECTS).map(({ file, problem }) => {
    const name = readAgentName(join(dataFolder, file));
    return `${file}-wal${name === undefined ? "" : ` of the agent ${JSON.stringify(name)}`} is ${problem}`;
  });
  const more = lost.length > NAMED_OBJECTS ? `, and ${lost.length - NAMED_OBJECTS} more` : "";
  return (
    `Data may be lost: ${named.join(", ")}${more}. These files hold what was written last; the objects go on with what ` +
    `is left. To get it back, stop now and restore the file or a backup. After a restored backup this is expected.`
  );
}

/** Another program, `sqlite3` for one, has put the log into the database and taken it away, as SQLite does at the end. */
function isWrittenSince(database: string, atMs: number): boolean {
  return statSync(database).mtimeMs > atMs;
}

/** Databases, and when their logs were listed. */
function readList(dataFolder: string): { files: ReadonlySet<string>; atMs: number } {
  const file = join(dataFolder, LOG_LIST);
  if (!existsSync(file)) return { files: new Set(), atMs: 0 };
  const lines = readFileSync(file, "utf8").split("\n");
  const files = lines.filter((line) => line !== "").map((line) => line.replace(/^\.\//, "").replace(/-wal$/, ""));
  return { files: new Set(files), atMs: statSync(file).mtimeMs };
}

/** One per class. */
function objectFolders(dataFolder: string): { folder: string; names: string[] }[] {
  return readdirSync(dataFolder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== OWN_FOLDER)
    .map(({ name }) => ({ folder: name, names: readdirSync(join(dataFolder, name)) }));
}
