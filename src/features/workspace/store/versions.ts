// The history of files: what a path held before each change, and which turn made and ended it. Bounded by number and by
// bytes; the oldest version goes first. Content in R2, and content over 16 MB, has no history.
import { FileError } from "../errors.ts";
import { rangeBelow } from "../paths.ts";
import { dropContents, decodeInline, readChunks } from "./contents.ts";
import { type EntryRow, IS_INLINE_FILE } from "./entries.ts";
import type { Operation } from "./operation.ts";
import { all, one, type SqlSteps } from "./sql.ts";
import type { Tables } from "./tables.ts";

export const MAX_VERSIONS_PER_FILE = 20;
export const MAX_HISTORY_BYTES = 64 * 1024 * 1024;
/** The most bytes of one version: one that took more would push out the history of all other files. */
export const MAX_VERSION_BYTES = 16 * 1024 * 1024;
/** Bytes that are counted for the row itself, so that empty files have a bound too. */
const ROW_BYTES = 512;
/** Versions removed by one statement when the history is full. */
const SWEEP_ROWS = 100;

/** What a path held before a change. */
export interface FileVersion {
  /** Counts up over the whole workspace. */
  readonly version: number;
  readonly path: string;
  readonly size: number;
  readonly mimeType: string;
  /** When this content was written, in milliseconds. */
  readonly modifiedAt: number;
  /** The turn that wrote it. */
  readonly turnId?: string;
  /** What ended this version. */
  readonly change: VersionChange;
  readonly replacedAt: number;
  /** The turn that ended it. */
  readonly replacedByTurnId?: string;
}

export type VersionChange = "update" | "delete";

interface VersionRow {
  readonly version: number;
  readonly path: string;
  readonly mime_type: string | null;
  readonly size: number;
  readonly storage_backend: "inline" | "chunks";
  readonly content_encoding: EntryRow["content_encoding"];
  readonly content_id: string | null;
  readonly modified_at: number;
  readonly turn_id: string | null;
  readonly change: VersionChange;
  readonly replaced_at: number;
  readonly replaced_turn_id: string | null;
  readonly held: number;
}

const COPIED = "path, mime_type, size, storage_backend, content_encoding, content_id, modified_at, turn_id, content";
const SHOWN =
  "version, path, mime_type, size, storage_backend, content_encoding, content_id, modified_at, turn_id, change, replaced_at, replaced_turn_id, held";

/** The size of a version that was just added, for the limits. */
export interface KeptVersion {
  readonly held: number;
  /** Versions of the same file, this one among them. */
  readonly kept: number;
}

/** Writes the statement that keeps a version: the `change` and the `held` bytes are given, or follow from the entry. */
const insertVersion = ({ versions, entries }: Tables, { change, held }: { change: string; held: string }) =>
  `INSERT INTO ${versions} (${COPIED}, replaced_at, replaced_turn_id, change, held)
  SELECT ${COPIED}, ?, ?, ${change}, ${held} FROM ${entries}`;

const KEEP = (tables: Tables) =>
  `${insertVersion(tables, { change: "?", held: "?" })} WHERE path = ? RETURNING held,
  (SELECT COUNT(*) FROM ${tables.versions} AS others WHERE others.path = ${tables.versions}.path) AS kept`;

const KEEP_INLINE = (tables: Tables) =>
  `${insertVersion(tables, { change: "'update'", held: `size + ${ROW_BYTES}` })} WHERE path = ? AND ${IS_INLINE_FILE}`;

/** Columns for the statement that updates the entry after `keepInline`: RETURNING on an insert takes twice as long. */
export const keptInline = ({ versions, entries }: Tables) =>
  `(SELECT held FROM ${versions} ORDER BY version DESC LIMIT 1) AS held,
  (SELECT COUNT(*) FROM ${versions} WHERE ${versions}.path = ${entries}.path) AS kept`;

const KEEP_BELOW = (tables: Tables) =>
  `${insertVersion(tables, { change: "'delete'", held: `size + ${ROW_BYTES}` })}
  WHERE path > ? AND path < ? AND type = 'file' AND storage_backend <> 'r2' AND size <= ${MAX_VERSION_BYTES}`;

/** Keeps what an entry holds now. `isShared`: its content goes on as the entry's and takes no further space. */
export function* keepVersion(
  operation: Operation,
  row: EntryRow,
  options: { readonly change: VersionChange; readonly isShared?: boolean }
): SqlSteps<void> {
  if (!isKept(row)) return;
  const { tables, now, turnId } = operation;
  const held = ROW_BYTES + (options.isShared === true ? 0 : row.size);
  const added = yield* one<KeptVersion>(tables.text(KEEP), now, turnId ?? null, options.change, held, row.path);
  if (added) yield* keepLimits(operation, row.path, added);
}

/** Keeps a file that is part of its row and about to be updated; does nothing where there is none. See `keptInline`. */
export function* keepInline({ tables, now, turnId }: Operation, path: string): SqlSteps<void> {
  yield* all(tables.text(KEEP_INLINE), now, turnId ?? null, path);
}

/** Keeps every file below a directory that is about to be deleted. The caller drops their contents afterwards. */
export function* keepVersionsBelow(operation: Operation, directory: string): SqlSteps<void> {
  const { tables, now, turnId } = operation;
  const { from, to } = rangeBelow(directory);
  yield* all(tables.text(KEEP_BELOW), now, turnId ?? null, from, to);
  // Many rows at once: summed up anew.
  tables.heldBytes = undefined;
  yield* trimBelow(operation, directory);
  yield* trimAll(operation);
}

function isKept(row: EntryRow): boolean {
  return row.type === "file" && row.storage_backend !== "r2" && row.size <= MAX_VERSION_BYTES;
}

/** Applies the limits after a version was added. */
export function* keepLimits(operation: Operation, path: string, { held, kept }: KeptVersion): SqlSteps<void> {
  const { tables } = operation;
  // A sum that is taken now has the new row already.
  if (tables.heldBytes === undefined) yield* tables.held();
  else tables.heldBytes += held;
  if (kept > MAX_VERSIONS_PER_FILE) yield* trimFile(operation, path);
  if ((tables.heldBytes ?? 0) > MAX_HISTORY_BYTES) yield* trimAll(operation);
}

type RemovedVersion = Pick<VersionRow, "held" | "storage_backend" | "content_id">;
const REMOVED = "held, storage_backend, content_id";

const TRIM_FILE = ({ versions }: Tables) =>
  `DELETE FROM ${versions} WHERE path = ? AND version <= (SELECT version FROM ${versions} WHERE path = ?
    ORDER BY version DESC LIMIT 1 OFFSET ${MAX_VERSIONS_PER_FILE}) RETURNING ${REMOVED}`;

function* trimFile(operation: Operation, path: string): SqlSteps<void> {
  yield* forget(operation, yield* all<RemovedVersion>(operation.tables.text(TRIM_FILE), path, path));
}

/** Removes versions beyond the limit of each file at a path and below it. */
function* trimBelow(operation: Operation, path: string): SqlSteps<void> {
  const { versions } = operation.tables;
  const { from, to } = rangeBelow(path);
  const removed = yield* all<RemovedVersion>(
    `DELETE FROM ${versions} WHERE (path = ? OR (path > ? AND path < ?)) AND (SELECT COUNT(*) FROM ${versions} AS newer
      WHERE newer.path = ${versions}.path AND newer.version > ${versions}.version) >= ${MAX_VERSIONS_PER_FILE}
    RETURNING ${REMOVED}`,
    path,
    from,
    to
  );
  yield* forget(operation, removed);
}

function* trimAll(operation: Operation): SqlSteps<void> {
  const { tables } = operation;
  while ((yield* tables.held()) > MAX_HISTORY_BYTES) {
    const oldest = yield* all<Pick<VersionRow, "version" | "held">>(
      `SELECT version, held FROM ${tables.versions} ORDER BY version LIMIT ${SWEEP_ROWS}`
    );
    if (oldest.length === 0) return;
    let excess = (yield* tables.held()) - MAX_HISTORY_BYTES;
    const doomed = oldest.filter(({ held }) => {
      const goes = excess > 0;
      excess -= held;
      return goes;
    });
    const removed = yield* all<RemovedVersion>(
      `DELETE FROM ${tables.versions} WHERE version IN (SELECT value FROM json_each(?)) RETURNING ${REMOVED}`,
      JSON.stringify(doomed.map(({ version }) => version))
    );
    yield* forget(operation, removed);
  }
}

/** Frees what removed versions held. */
function* forget(operation: Operation, removed: readonly RemovedVersion[]): SqlSteps<void> {
  const { tables } = operation;
  if (tables.heldBytes !== undefined) tables.heldBytes -= removed.reduce((sum, { held }) => sum + held, 0);
  const chunked = removed.filter((row) => row.storage_backend === "chunks");
  if (chunked.length > 0)
    yield* dropContents(
      operation,
      chunked.map((row) => row.content_id ?? "")
    );
}

/** Lists the versions of a path, the newest first. */
export function* listVersions(operation: Operation, path: string): SqlSteps<FileVersion[]> {
  const { tables } = operation;
  if (!(yield* tables.exist())) return [];
  const rows = yield* all<VersionRow>(
    `SELECT ${SHOWN} FROM ${tables.versions} WHERE path = ? ORDER BY version DESC`,
    path
  );
  return rows.map((row) => ({
    version: row.version,
    path: row.path,
    size: row.size,
    mimeType: row.mime_type ?? "",
    modifiedAt: row.modified_at,
    turnId: row.turn_id ?? undefined,
    change: row.change,
    replacedAt: row.replaced_at,
    replacedByTurnId: row.replaced_turn_id ?? undefined
  }));
}

/** Reads a version's content and type. Throws ENOENT when it is not kept. */
export function* readVersion(
  operation: Operation,
  path: string,
  version: number
): SqlSteps<{ readonly bytes: Uint8Array; readonly mimeType: string | null }> {
  const { tables } = operation;
  const exists = yield* tables.exist();
  const row = exists
    ? yield* one<VersionRow & { content: unknown }>(
        `SELECT ${SHOWN}, content FROM ${tables.versions} WHERE version = ? AND path = ?`,
        version,
        path
      )
    : undefined;
  if (!row) throw new FileError("ENOENT", `no version ${version} of ${path} is kept`);
  const bytes =
    row.storage_backend === "chunks"
      ? yield* readChunks(operation, row.content_id ?? "", row.size)
      : decodeInline(row, row.content);
  return { bytes, mimeType: row.mime_type };
}

/** Moves the history of a file, or of all files of a directory, to its new path. */
export function* moveVersions(operation: Operation, from: string, to: string): SqlSteps<void> {
  const below = rangeBelow(from);
  yield* all(
    `UPDATE ${operation.tables.versions} SET path = ? || substr(path, length(?) + 1)
    WHERE path = ? OR (path > ? AND path < ?)`,
    to,
    from,
    from,
    below.from,
    below.to
  );
  // There may be versions of files that were at the new paths before.
  yield* trimBelow(operation, to);
}
