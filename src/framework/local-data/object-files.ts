// The files in which workerd keeps the objects of a class, read while a server has them open and without touching them: a
// file is read as it is, with no lock and no log beside it; one whose newest writes are still in its log is read from a copy.
import { constants, copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Children have a number: `<id>.1.sqlite`. */
const OBJECT = /^([0-9a-f]{64})(\.\d+)?\.sqlite$/;
/** Where Cloudflare's development servers keep objects, below the project: one folder per Worker and class. */
const OBJECTS_FOLDER = ".wrangler/state/v3/do";

export interface ObjectFile {
  readonly file: string;
  /** Of the object: its children have the same. */
  readonly id: string;
  readonly isChild: boolean;
  readonly changedAt: number;
  readonly sizeBytes: number;
  /** Its newest writes may be in its log: an object that is in use, or that was when its process died. */
  readonly hasLog: boolean;
  /** Another one after each write. */
  readonly stamp: string;
}

export type ObjectDatabase = Pick<DatabaseSync, "prepare">;

/** Of a class in a project under development. Read anew for each list: a folder appears with the first object of its class. */
export function developedFolders(root: string, className: string): string[] {
  const folder = join(root, OBJECTS_FOLDER);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.endsWith(`-${className}`)).map((name) => join(folder, name));
}

/** A folder that does not exist has none. */
export function objectFiles(folder: string): ObjectFile[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name): ObjectFile[] => {
    const [, id, child] = OBJECT.exec(name) ?? [];
    if (id === undefined) return [];
    const file = join(folder, name);
    const [stored, log] = [file, `${file}-wal`].map((one) => statSync(one, { throwIfNoEntry: false }));
    const parts = [stored, log].flatMap((one) => one ?? []);
    return [
      {
        ...{ file, id, isChild: child !== undefined, hasLog: (log?.size ?? 0) > 0 },
        sizeBytes: parts.reduce((sum, { size }) => sum + size, 0),
        changedAt: Math.max(0, ...parts.map(({ mtimeMs }) => Math.round(mtimeMs))),
        stamp: parts.map(({ mtimeMs, size }) => `${mtimeMs} ${size}`).join(" ")
      }
    ];
  });
}

/**
 * Undefined: the file is no database, or is being written just now. Read `as it is` nothing is locked, and no log is opened or
 * made: a server that has the file open does not notice.
 */
export function readObject<Value>(
  file: string,
  how: "as it is" | "with its log",
  read: (database: ObjectDatabase) => Value
): Value | undefined {
  const url = pathToFileURL(file);
  if (how === "as it is") url.searchParams.set("immutable", "1");
  // Loaded here: Node says at once that its SQLite may change, which a command has silenced by now.
  const sqlite = process.getBuiltinModule("node:sqlite");
  try {
    const database = new sqlite.DatabaseSync(url, { readOnly: how === "as it is" });
    try {
      return read(database);
    } finally {
      database.close();
    }
  } catch {
    // No database of ours, or one in the middle of a write.
    return undefined;
  }
}

/** With its newest writes, from a copy that is removed again. */
export function readCopyOfObject<Value>(file: string, read: (database: ObjectDatabase) => Value): Value | undefined {
  const scratch = mkdtempSync(join(tmpdir(), "everthink-object-"));
  try {
    const copy = join(scratch, "object.sqlite");
    for (const suffix of ["", "-wal"]) {
      // Where the file system can share the blocks of two files, nothing is copied.
      if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix, constants.COPYFILE_FICLONE);
    }
    return readObject(copy, "with its log", read);
  } catch {
    // The object was deleted meanwhile.
    return undefined;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
