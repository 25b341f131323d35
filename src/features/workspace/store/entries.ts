// Rows of the file tree: how they are found, how links are followed, how directories are made. An entry's parent is always
// a directory that exists, so one found row proves all of its path.
import { FileError, directoryError, notDirectoryError } from "../errors.ts";
import { ancestorsOf, checkLength, resolveLink, nameOf, normalizePath, parentOf, rangeBelow, ROOT } from "../paths.ts";
import type { Operation } from "./operation.ts";
import { all, one, type SqlSteps } from "./sql.ts";
import type { Tables } from "./tables.ts";

export type EntryType = "file" | "directory" | "symlink";

/** Links that are followed for one path. */
export const MAX_HOPS = 40;
/** Directories made for one path. */
export const MAX_NEW_PARENTS = 100;

export interface EntryRow {
  readonly path: string;
  readonly name: string;
  readonly type: EntryType;
  readonly mime_type: string | null;
  readonly size: number;
  readonly storage_backend: "inline" | "chunks" | "r2";
  readonly r2_key: string | null;
  readonly target: string | null;
  readonly content_encoding: "bytes" | "utf8" | "base64";
  readonly content_id: string | null;
  readonly created_at: number;
  readonly modified_at: number;
  readonly turn_id: string | null;
}

/** The columns that callers are shown. */
type ListedRow = Pick<
  EntryRow,
  "path" | "type" | "mime_type" | "size" | "target" | "content_id" | "created_at" | "modified_at"
>;
export const LISTED_COLUMNS = "path, type, mime_type, size, target, content_id, created_at, modified_at";

/** All columns but the content. */
export const COLUMNS =
  "path, name, type, mime_type, size, storage_backend, r2_key, target, content_encoding, content_id, created_at, modified_at, turn_id";

/** An entry as callers see it. */
export interface FileInfo {
  readonly path: string;
  readonly name: string;
  readonly type: EntryType;
  readonly mimeType: string;
  readonly size: number;
  /** Both times are in milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The target of a link, as it was written. */
  readonly target?: string;
  /** Changes with every write of the content. */
  readonly etag?: string;
}

export type FileStat = FileInfo;

/** A smaller number is a time in seconds, as the original wrote it. */
const SECONDS_BEFORE = 100_000_000_000;

export function toFileInfo(row: ListedRow): FileInfo {
  // Thousands at a time: no object is made to be spread into another.
  const info: { -readonly [Name in keyof FileInfo]: FileInfo[Name] } = {
    path: row.path,
    name: nameOf(row.path),
    type: row.type,
    mimeType: row.mime_type ?? "",
    size: row.size,
    createdAt: toMs(row.created_at),
    updatedAt: toMs(row.modified_at)
  };
  if (row.type === "symlink") info.target = row.target ?? "";
  else if (row.type === "file") info.etag = etagOf(row);
  return info;
}

export function describeRoot(): FileInfo {
  return { path: ROOT, name: "", type: "directory", mimeType: "", size: 0, createdAt: 0, updatedAt: 0 };
}

/** The tag of a content: an append keeps the content's id and changes its size. Rows of the original have no id. */
export function etagOf(row: Pick<EntryRow, "content_id" | "modified_at" | "size">): string {
  return `${row.content_id ?? `${row.modified_at}`}-${row.size}`;
}

function toMs(time: number): number {
  return time < SECONDS_BEFORE ? time * 1_000 : time;
}

const FIND = ({ entries }: Tables) => `SELECT ${COLUMNS} FROM ${entries} WHERE path = ?`;

export function* findEntry({ tables }: Operation, path: string): SqlSteps<EntryRow | undefined> {
  if (!tables.areKnown && !(yield* tables.exist())) return undefined;
  return yield* one<EntryRow>(tables.text(FIND), path);
}

/** The condition for rows that have all of a file in them. */
export const IS_INLINE_FILE = "type = 'file' AND storage_backend = 'inline'";

const FIND_SMALL = ({ entries }: Tables) =>
  `SELECT content FROM ${entries} WHERE path = ? AND ${IS_INLINE_FILE} AND content_encoding = 'bytes'`;

/** Reads the content of a small file, by one statement and one column. Undefined where it is elsewhere, or there is none. */
export function* findSmall({ tables }: Operation, path: string): SqlSteps<{ readonly content: unknown } | undefined> {
  if (!tables.areKnown && !(yield* tables.exist())) return undefined;
  return yield* one<{ content: unknown }>(tables.text(FIND_SMALL), path);
}

export interface EntryPlace {
  /** The path without links in it, except a last one that was not followed. */
  readonly path: string;
  /** The entry that is there; undefined: there is nothing yet. */
  readonly row?: EntryRow;
  readonly isRoot: boolean;
  /** The missing path is below a file. */
  readonly isBelowFile: boolean;
  /** Nothing is there, and the directory above is. */
  readonly hasParent?: boolean;
}

/** Finds where a path leads. Links in the middle are always followed, the last one on request. Throws ELOOP. */
export function* locate(operation: Operation, path: string, followLast: boolean): SqlSteps<EntryPlace> {
  let current = path;
  for (let hops = 0; hops <= MAX_HOPS; hops += 1) {
    if (current === ROOT) return { path: ROOT, isRoot: true, isBelowFile: false };
    const row = yield* findEntry(operation, current);
    if (row && (row.type !== "symlink" || !followLast))
      return { path: current, row, isRoot: false, isBelowFile: false };
    if (row) {
      current = resolveLink(current, row.target ?? "");
      continue;
    }
    const above = yield* findNearestAncestor(operation, current);
    if (above?.type !== "symlink") {
      const hasParent = parentOf(current) === (above?.path ?? ROOT);
      return { path: current, isRoot: false, isBelowFile: above?.type === "file", hasParent };
    }
    current = normalizePath(`${resolveLink(above.path, above.target ?? "")}/${current.slice(above.path.length)}`);
  }
  throw new FileError("ELOOP", `more than ${MAX_HOPS} links: ${path}`);
}

function* findNearestAncestor({ tables }: Operation, path: string): SqlSteps<EntryRow | undefined> {
  if (!(yield* tables.exist())) return undefined;
  const parent = parentOf(path);
  if (parent === ROOT) return undefined;
  const nearest = yield* one<EntryRow>(tables.text(FIND), parent);
  if (nearest) return nearest;
  // One value for any depth: the platform binds at most 100.
  return yield* one<EntryRow>(
    `SELECT ${COLUMNS} FROM ${tables.entries} WHERE path IN (SELECT value FROM json_each(?))
    ORDER BY length(path) DESC LIMIT 1`,
    JSON.stringify(ancestorsOf(path))
  );
}

/** Finds where a file can be written: a missing path or a file. Throws EISDIR, ENOTDIR, ELOOP. */
export function* locateForWrite(operation: Operation, path: string): SqlSteps<EntryPlace> {
  const place = (yield* findNearPlace(operation, path)) ?? (yield* locate(operation, path, true));
  if (place.isRoot || place.row?.type === "directory") throw directoryError(path);
  if (place.isBelowFile) throw notDirectoryError(parentOf(path));
  return place;
}

const FIND_NEAR = ({ entries }: Tables) => `SELECT ${COLUMNS} FROM ${entries} WHERE path IN (?, ?)`;

/** Finds the common cases by one statement: a file that is there, or a new one in a directory that is. */
function* findNearPlace({ tables }: Operation, path: string): SqlSteps<EntryPlace | undefined> {
  const parent = parentOf(path);
  const found = yield* all<EntryRow>(tables.text(FIND_NEAR), path, parent);
  const row = found.find((each) => each.path === path);
  if (row) return row.type === "file" ? { path, row, isRoot: false, isBelowFile: false } : undefined;
  const hasParent = parent === ROOT || found[0]?.type === "directory";
  return hasParent && path !== ROOT ? { path, isRoot: false, isBelowFile: false, hasParent } : undefined;
}

/** Makes the directories above a path that are missing, the highest first. `place` proves that they can be made. */
export function* makeParents(operation: Operation, place: EntryPlace): SqlSteps<void> {
  if (place.row || place.hasParent === true) return;
  const paths = [...ancestorsOf(place.path)];
  const { tables } = operation;
  const existing = yield* all<{ path: string }>(
    `SELECT path FROM ${tables.entries} WHERE path IN (SELECT value FROM json_each(?))`,
    JSON.stringify(paths)
  );
  const known = new Set(existing.map((row) => row.path));
  const missing = paths.filter((path) => !known.has(path)).reverse();
  if (missing.length > MAX_NEW_PARENTS)
    throw new FileError("ELOOP", `more than ${MAX_NEW_PARENTS} new directories: ${place.path.slice(0, 80)}…`);
  for (const path of missing) yield* insertDirectory(operation, path);
}

export function* insertDirectory(operation: Operation, path: string): SqlSteps<void> {
  yield* insertEntry(operation, { path, type: "directory" });
}

export interface NewEntry {
  readonly path: string;
  readonly type: EntryType;
  readonly target?: string;
}

export function* insertEntry(operation: Operation, { path, type, target }: NewEntry): SqlSteps<void> {
  checkLength(path);
  const { tables, now } = operation;
  yield* all(
    `INSERT INTO ${tables.entries} (path, parent_path, name, type, target, created_at, modified_at, turn_id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    path,
    parentOf(path),
    nameOf(path),
    type,
    target ?? null,
    now,
    now,
    operation.turnId ?? null
  );
  operation.note({ type: "create", path, entryType: type });
}

/** Whether a directory has an entry. */
export function* hasChildren({ tables }: Operation, directory: string): SqlSteps<boolean> {
  const { from, to } = rangeBelow(directory);
  const child = yield* one(`SELECT 1 AS found FROM ${tables.entries} WHERE path > ? AND path < ? LIMIT 1`, from, to);
  return child !== undefined;
}
