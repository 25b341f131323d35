// How directories and links are made, how entries are deleted and moved, and how many are looked at at once.
import { FileError, directoryError, missingError, notDirectoryError, PatternError } from "../errors.ts";
import { compileGlob } from "../match/glob.ts";
import {
  checkCharacters,
  checkLength,
  isWithin,
  resolveLink,
  MAX_PATH_CHARS,
  nameOf,
  parentOf,
  rangeBelow,
  ROOT
} from "../paths.ts";
import { dropContents } from "./contents.ts";
import {
  COLUMNS,
  LISTED_COLUMNS,
  type EntryRow,
  type FileInfo,
  findEntry,
  hasChildren,
  toFileInfo,
  insertDirectory,
  insertEntry,
  locate,
  makeParents,
  MAX_NEW_PARENTS,
  type EntryPlace
} from "./entries.ts";
import { discardObject } from "./files.ts";
import { MAX_EVENTS, type Operation } from "./operation.ts";
import { all, one, type SqlSteps } from "./sql.ts";
import { keepVersion, keepVersionsBelow, moveVersions } from "./versions.ts";

/** Matches of one glob. */
export const MAX_GLOB_MATCHES = 100_000;
const GLOB_PAGE = 2_000;

export function* makeDirectory(operation: Operation, path: string, recursive: boolean): SqlSteps<void> {
  if (path === ROOT) return;
  yield* operation.tables.make();
  const place = yield* locate(operation, path, recursive);
  if (place.isRoot) return;
  if (place.row) {
    if (recursive && place.row.type === "directory") return;
    throw new FileError("EEXIST", `${path} exists already`);
  }
  if (place.isBelowFile) throw notDirectoryError(parentOf(path));
  const parent = parentOf(place.path);
  if (!recursive && parent !== ROOT && !(yield* findEntry(operation, parent))) throw missingError(parentOf(path));
  if (place.path.split("/").length - 1 > MAX_NEW_PARENTS)
    throw new FileError("ELOOP", `more than ${MAX_NEW_PARENTS} levels: ${path.slice(0, 80)}…`);
  yield* makeParents(operation, place);
  yield* insertDirectory(operation, place.path);
}

export interface NewLink {
  readonly path: string;
  readonly target: string;
}

export function* makeLink(operation: Operation, { path, target }: NewLink): SqlSteps<void> {
  if (typeof target !== "string" || target.trim() === "") throw new FileError("EINVAL", "a link needs a target");
  if (target.length > MAX_PATH_CHARS)
    throw new FileError("ENAMETOOLONG", `a target has at most ${MAX_PATH_CHARS} characters`);
  checkCharacters(target);
  if (path === ROOT) throw new FileError("EPERM", "the root cannot be a link");
  resolveLink(path, target);
  yield* operation.tables.make();
  const place = yield* locate(operation, path, false);
  if (place.row || place.isRoot) throw new FileError("EEXIST", `${path} exists already`);
  if (place.isBelowFile) throw notDirectoryError(parentOf(path));
  yield* makeParents(operation, place);
  yield* insertEntry(operation, { path: place.path, type: "symlink", target });
}

export interface RemoveOptions {
  readonly recursive?: boolean;
  readonly force?: boolean;
}

/** Removes an entry; of a link, the link itself. True when there was something. */
export function* remove(operation: Operation, path: string, options: RemoveOptions): SqlSteps<boolean> {
  if (path === ROOT) throw new FileError("EPERM", "the root cannot be removed");
  const { row } = yield* locate(operation, path, false);
  if (!row) {
    if (options.force === true) return false;
    throw missingError(path);
  }
  if (row.type === "directory") {
    if (yield* hasChildren(operation, row.path)) {
      if (options.recursive !== true) throw new FileError("ENOTEMPTY", `${path} is not empty`);
      yield* removeBelow(operation, row.path);
    }
  }
  yield* removeRow(operation, row);
  return true;
}

function* removeRow(operation: Operation, row: EntryRow): SqlSteps<void> {
  const { tables } = operation;
  yield* keepVersion(operation, row, { change: "delete" });
  if (row.storage_backend === "r2" && row.r2_key !== null) yield* discardObject(operation, row.r2_key);
  yield* all(`DELETE FROM ${tables.entries} WHERE path = ?`, row.path);
  if (row.storage_backend === "chunks") yield* dropContents(operation, [row.content_id ?? ""]);
  operation.note({ type: "delete", path: row.path, entryType: row.type });
}

function* removeBelow(operation: Operation, directory: string): SqlSteps<void> {
  const { tables } = operation;
  const { from, to } = rangeBelow(directory);
  const below = `FROM ${tables.entries} WHERE path > ? AND path < ?`;
  const announced = yield* all<EntryRow>(
    `SELECT ${COLUMNS} ${below} AND type <> 'directory' ORDER BY path DESC LIMIT ${MAX_EVENTS - 1}`,
    from,
    to
  );
  const elsewhere = yield* all<EntryRow>(`SELECT ${COLUMNS} ${below} AND storage_backend <> 'inline'`, from, to);
  yield* keepVersionsBelow(operation, directory);
  for (const { r2_key: key } of elsewhere) if (key !== null) yield* discardObject(operation, key);
  yield* all(`DELETE ${below}`, from, to);
  const chunked = elsewhere.filter((row) => row.storage_backend === "chunks");
  yield* dropContents(
    operation,
    chunked.map((row) => row.content_id ?? "")
  );
  const deepestFirst = announced.toSorted((a, b) => b.path.split("/").length - a.path.split("/").length);
  for (const row of deepestFirst) operation.note({ type: "delete", path: row.path, entryType: row.type });
}

export interface Move {
  readonly from: string;
  readonly to: string;
  readonly recursive: boolean;
}

/** Renames the entry and everything below it at once; contents stay where they are. */
export function* move(operation: Operation, { from, to, recursive }: Move): SqlSteps<void> {
  const source = yield* locate(operation, from, false);
  const { row } = source;
  if (source.isRoot) throw new FileError("EPERM", "the root cannot be moved");
  if (!row) throw missingError(from);
  if (row.type === "directory" && !recursive) throw directoryError(from);
  const target = yield* locate(operation, to, false);
  if (target.path === row.path) return;
  if (row.type === "directory" && isWithin(row.path, target.path))
    throw new FileError("EINVAL", `cannot move ${from} into itself`);
  yield* checkMovedLengths(operation, row.path, target.path);
  yield* clearTarget(operation, row, target);
  yield* makeParents(operation, target);
  yield* rename(operation, row.path, target.path);
  yield* moveVersions(operation, row.path, target.path);
  operation.note({ type: "delete", path: row.path, entryType: row.type });
  operation.note({ type: "create", path: target.path, entryType: row.type });
}

/** Removes what is at the destination, as far as POSIX allows it. */
function* clearTarget(operation: Operation, row: EntryRow, target: EntryPlace): SqlSteps<void> {
  if (target.isBelowFile) throw notDirectoryError(parentOf(target.path));
  const there = target.row;
  if (target.isRoot || (there?.type === "directory" && row.type !== "directory")) throw directoryError(target.path);
  if (!there) return;
  if (row.type === "directory" && there.type !== "directory") throw notDirectoryError(target.path);
  if (there.type === "directory" && (yield* hasChildren(operation, there.path)))
    throw new FileError("ENOTEMPTY", `${target.path} is not empty`);
  yield* removeRow(operation, there);
}

function* checkMovedLengths({ tables }: Operation, from: string, to: string): SqlSteps<void> {
  checkLength(to);
  if (to.length <= from.length) return;
  const below = rangeBelow(from);
  const longest = yield* one<{ path: string }>(
    `SELECT path FROM ${tables.entries} WHERE path > ? AND path < ? ORDER BY length(path) DESC LIMIT 1`,
    below.from,
    below.to
  );
  if (longest) checkLength(to + longest.path.slice(from.length));
}

function* rename({ tables }: Operation, from: string, to: string): SqlSteps<void> {
  const below = rangeBelow(from);
  yield* all(
    `UPDATE ${tables.entries} SET path = ? || substr(path, length(?) + 1), parent_path = ? || substr(parent_path, length(?) + 1)
    WHERE path > ? AND path < ?`,
    to,
    from,
    to,
    from,
    below.from,
    below.to
  );
  yield* all(
    `UPDATE ${tables.entries} SET path = ?, parent_path = ?, name = ? WHERE path = ?`,
    to,
    parentOf(to),
    nameOf(to),
    from
  );
}

export interface Page {
  readonly limit: number;
  readonly offset: number;
  /** Whether ENOENT or ENOTDIR is thrown where nothing would be listed. */
  readonly strict: boolean;
}

/** Lists a directory: directories, then files, then links, each by name. Follows a linked directory. */
export function* listDirectory(operation: Operation, path: string, page: Page): SqlSteps<FileInfo[]> {
  const { tables } = operation;
  const place = yield* locate(operation, path, true);
  if (!place.isRoot && place.row?.type !== "directory") {
    if (!page.strict) return [];
    throw place.row ? notDirectoryError(path) : missingError(path);
  }
  if (!(yield* tables.exist())) return [];
  const rows = yield* all<EntryRow>(
    `SELECT ${LISTED_COLUMNS} FROM ${tables.entries} WHERE parent_path = ? AND path <> '/' ORDER BY type, name LIMIT ? OFFSET ?`,
    place.path,
    page.limit,
    page.offset
  );
  return rows.map(toFileInfo);
}

export function* countChildren(operation: Operation, path: string): SqlSteps<number> {
  const { tables } = operation;
  const place = yield* locate(operation, path, true);
  if (!(yield* tables.exist())) return 0;
  const row = yield* one<{ count: number }>(
    `SELECT COUNT(*) AS count FROM ${tables.entries} WHERE parent_path = ? AND path <> '/'`,
    place.path
  );
  return row?.count ?? 0;
}

/** Finds entries of every type whose path matches, by path, and never the root. */
export function* findByGlob(operation: Operation, pattern: string): SqlSteps<FileInfo[]> {
  const glob = compileGlob(pattern);
  const { tables } = operation;
  if (!(yield* tables.exist())) return [];
  if (glob.path !== undefined) {
    const row = glob.path === ROOT ? undefined : yield* findEntry(operation, glob.path);
    return row ? [toFileInfo(row)] : [];
  }
  const range = rangeBelow(glob.directory);
  const matches: FileInfo[] = [];
  const { suffix } = glob;
  let after = range.from;
  while (true) {
    const rows = yield* all<EntryRow>(
      `SELECT ${LISTED_COLUMNS} FROM ${tables.entries} WHERE path > ? AND path < ? AND substr(path, ?) = ?
      ORDER BY path LIMIT ${GLOB_PAGE}`,
      after,
      range.to,
      // SQLite counts characters, of which some are two units of a text.
      suffix === "" ? MAX_PATH_CHARS + 1 : -Array.from(suffix).length,
      suffix
    );
    for (const row of rows) if (glob.matches(row.path)) matches.push(toFileInfo(row));
    if (matches.length > MAX_GLOB_MATCHES)
      throw new PatternError(`More than ${MAX_GLOB_MATCHES} entries match; narrow the pattern.`);
    const last = rows.at(-1);
    if (!last || rows.length < GLOB_PAGE) return matches;
    after = last.path;
  }
}

export interface WorkspaceInfo {
  readonly fileCount: number;
  readonly directoryCount: number;
  readonly totalBytes: number;
  readonly r2FileCount: number;
}

export function* countEntries({ tables }: Operation): SqlSteps<WorkspaceInfo> {
  const empty = { fileCount: 0, directoryCount: 1, totalBytes: 0, r2FileCount: 0 };
  if (!(yield* tables.exist())) return empty;
  const row = yield* one<Record<keyof WorkspaceInfo, number | null>>(
    `SELECT SUM(type = 'file') AS fileCount, SUM(type = 'directory') AS directoryCount, SUM(size) AS totalBytes,
      SUM(storage_backend = 'r2') AS r2FileCount FROM ${tables.entries} WHERE path <> '/'`
  );
  return {
    fileCount: row?.fileCount ?? 0,
    directoryCount: (row?.directoryCount ?? 0) + 1,
    totalBytes: row?.totalBytes ?? 0,
    r2FileCount: row?.r2FileCount ?? 0
  };
}

/** Lists the entry at a path and everything below it, parents before children. */
export function* listEntries({ tables }: Operation, path: string): SqlSteps<EntryRow[]> {
  const { from, to } = rangeBelow(path);
  return yield* all<EntryRow>(
    `SELECT ${COLUMNS} FROM ${tables.entries} WHERE path = ? OR (path > ? AND path < ?) ORDER BY path`,
    path,
    from,
    to
  );
}
