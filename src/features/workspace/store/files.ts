// How single files are read and written. Each function is one operation: it checks first and then writes, so that what it
// refuses has changed nothing.
import { directoryError } from "../errors.ts";
import { checkLength, nameOf, parentOf, ROOT } from "../paths.ts";
import { DEFAULT_BYTES_TYPE, DEFAULT_TEXT_TYPE, typeOfName } from "../../../util/media-type.ts";
import {
  appendChunks,
  checkExpected,
  checkSize,
  dropContents,
  decodeInline,
  placeContent,
  type Placement,
  readChunks,
  readInline,
  stageBytes,
  type StagedContent
} from "./contents.ts";
import {
  type EntryRow,
  findSmall,
  IS_INLINE_FILE,
  locate,
  locateForWrite,
  makeParents,
  type EntryPlace
} from "./entries.ts";
import type { Operation } from "./operation.ts";
import { all, one, type SqlSteps } from "./sql.ts";
import { INLINE_BYTES, type Tables } from "./tables.ts";
import { keepInline, keepLimits, keptInline, keepVersion, type KeptVersion } from "./versions.ts";

/** A file as it was found: its bytes, or where they are. */
export type FoundFile = { readonly path: string; readonly storage: EntryRow["storage_backend"] } & (
  | { readonly bytes: Uint8Array }
  /** The content is in R2: the caller fetches it. */
  | { readonly key: string }
);

/** Reads a file, and follows links. Undefined when there is nothing. Throws EISDIR. */
export function* readFile(operation: Operation, path: string): SqlSteps<FoundFile | undefined> {
  const small = yield* findSmall(operation, path);
  if (small) {
    operation.tables.see(path);
    return { path, storage: "inline", bytes: decodeInline({ content_encoding: "bytes" }, small.content) };
  }
  const row = yield* findFile(operation, path);
  if (!row) return undefined;
  const found = { path: row.path, storage: row.storage_backend };
  switch (row.storage_backend) {
    case "r2":
      return { ...found, key: row.r2_key ?? "" };
    case "chunks":
      return { ...found, bytes: yield* readChunks(operation, row.content_id ?? "", row.size) };
    case "inline":
      return { ...found, bytes: yield* readInline(operation, row) };
  }
}

/** Finds the entry of a file, without its content, and follows links. Throws EISDIR. */
export function* findFile(operation: Operation, path: string): SqlSteps<EntryRow | undefined> {
  const place = yield* locate(operation, path, true);
  if (place.isRoot || place.row?.type === "directory") throw directoryError(path);
  return place.row;
}

export interface FileWrite {
  readonly path: string;
  readonly content: StagedContent;
  /** The media type. Undefined: the type that the file has, or the one that its name stands for, or one for `isText`. */
  readonly mimeType: string | undefined;
  readonly isText: boolean;
  /** The tag that the entry must still have; null: it must not be there. */
  readonly expected?: string | null | undefined;
}

export interface Written {
  readonly path: string;
  readonly size: number;
  readonly storage: EntryRow["storage_backend"];
  readonly isUpdate: boolean;
}

/** Creates or overwrites a file, and makes the directories above it. Follows links. */
export function* writeFile(operation: Operation, write: FileWrite): SqlSteps<Written> {
  const { tables } = operation;
  if (!tables.areKnown) yield* tables.make();
  if (isSmall(write)) {
    const written = yield* tables.hasSeen(write.path) ? replaceSmall(operation, write) : createSmall(operation, write);
    if (written) return written;
  }
  const { content } = write;
  const place = yield* locateForWrite(operation, write.path);
  checkExpected(place.row, write.expected);
  const mimeType = chooseType(write, place.path, place.row?.mime_type);
  if (!place.row && place.hasParent !== true) yield* makeParents(operation, place);
  if (place.row) yield* retire(operation, place.row, content);
  const placement = yield* placeContent(operation, content);
  yield* putEntry(operation, { place, placement, mimeType, size: content.size });
  if (place.row) yield* dropRetired(operation, place.row);
  tables.see(place.path);
  operation.note({ type: place.row ? "update" : "create", path: place.path, entryType: "file" });
  return { path: place.path, size: content.size, storage: placement.backend, isUpdate: place.row !== undefined };
}

/** A file that becomes part of its row. */
interface SmallWrite extends FileWrite {
  readonly content: StagedContent & { readonly kind: "bytes" };
}

function isSmall(write: FileWrite): write is SmallWrite {
  return write.content.kind === "bytes" && write.content.size <= INLINE_BYTES && write.expected === undefined;
}

/** The statement inserts nothing where the path is taken, or the directory is not there: its path may not be null. */
const createIn = ({ entries }: Tables, parent: string) =>
  `INSERT OR IGNORE INTO ${entries} (path, parent_path, name, type, mime_type, size, content_encoding, created_at,
    modified_at, content_id, turn_id, content)
  VALUES (?, ${parent}, ?, 'file', ?, ?, 'bytes', ?, ?, ?, ?, ?) RETURNING 1 AS made`;
const CREATE_IN_ROOT = (tables: Tables) => createIn(tables, "?");
const CREATE_IN_DIRECTORY = (tables: Tables) =>
  createIn(tables, `(SELECT path FROM ${tables.entries} WHERE path = ? AND type = 'directory')`);

/** Writes by one statement where it can: a file that is new, in a directory that is there. */
function* createSmall(operation: Operation, write: SmallWrite): SqlSteps<Written | undefined> {
  const { path, content } = write;
  if (path === ROOT) return undefined;
  checkLength(path);
  const { tables, now } = operation;
  const parent = parentOf(path);
  const made = yield* one(
    tables.text(parent === ROOT ? CREATE_IN_ROOT : CREATE_IN_DIRECTORY),
    path,
    parent,
    nameOf(path),
    chooseType(write, path),
    content.size,
    now,
    now,
    crypto.randomUUID(),
    operation.turnId ?? null,
    content.bytes
  );
  if (!made) return undefined;
  tables.see(path);
  operation.note({ type: "create", path, entryType: "file" });
  return { path, size: content.size, storage: "inline", isUpdate: false };
}

/** The statement keeps the type unless one is stated; one that only says how the old content came is not kept. */
const REPLACE = (tables: Tables) =>
  `UPDATE ${tables.entries} SET mime_type = CASE WHEN ? OR coalesce(mime_type, '') IN ('', '${DEFAULT_BYTES_TYPE}')
    THEN ? ELSE mime_type END, size = ?, content_encoding = 'bytes', modified_at = ?, content_id = ?, turn_id = ?,
    content = ? WHERE path = ? AND ${IS_INLINE_FILE} RETURNING ${keptInline(tables)}`;

/** Writes by two statements where it can: a file that is there, and part of its row too. */
function* replaceSmall(operation: Operation, write: SmallWrite): SqlSteps<Written | undefined> {
  const { path, content, mimeType } = write;
  yield* keepInline(operation, path);
  const kept = yield* one<KeptVersion>(
    operation.tables.text(REPLACE),
    mimeType === undefined ? 0 : 1,
    chooseType(write, path),
    content.size,
    operation.now,
    crypto.randomUUID(),
    operation.turnId ?? null,
    content.bytes,
    path
  );
  if (!kept) return undefined;
  yield* keepLimits(operation, path, kept);
  operation.note({ type: "update", path, entryType: "file" });
  return { path, size: content.size, storage: "inline", isUpdate: true };
}

function chooseType(write: FileWrite, path: string, stored?: string | null): string {
  if (write.mimeType !== undefined) return write.mimeType;
  const fallback = write.isText ? DEFAULT_TEXT_TYPE : DEFAULT_BYTES_TYPE;
  // A type that only says how the old content came is no reason to keep it.
  if (stored && stored !== DEFAULT_BYTES_TYPE) return stored;
  return typeOfName(path) ?? fallback;
}

/** Puts what the entry held into the history, and marks an object in R2 for deletion. */
function* retire(operation: Operation, row: EntryRow, next: StagedContent): SqlSteps<void> {
  const isSame = next.kind === "chunks" && next.contentId === row.content_id;
  if (!isSame) yield* keepVersion(operation, row, { change: "update" });
  if (row.storage_backend === "r2" && row.r2_key !== null) yield* discardObject(operation, row.r2_key);
}

/** Deletes chunks that the history did not keep. */
function* dropRetired(operation: Operation, row: EntryRow): SqlSteps<void> {
  if (row.storage_backend === "chunks") yield* dropContents(operation, [row.content_id ?? ""]);
}

/** Notes an object for deletion. Its key is stored until the object is deleted: a crash in between leaves no orphan. */
export function* discardObject(operation: Operation, key: string): SqlSteps<void> {
  operation.objects.push(key);
  yield* all(`INSERT OR REPLACE INTO ${operation.tables.garbage} (key, since) VALUES (?, ?)`, key, operation.now);
}

interface NewContent {
  readonly place: EntryPlace;
  readonly placement: Placement;
  readonly mimeType: string;
  readonly size: number;
}

function* putEntry(operation: Operation, { place, placement, mimeType, size }: NewContent): SqlSteps<void> {
  const { tables, now } = operation;
  const { backend, key, contentId, inline } = placement;
  if (key !== null) yield* all(`DELETE FROM ${tables.garbage} WHERE key = ?`, key);
  const turnId = operation.turnId ?? null;
  if (place.row) {
    yield* all(
      `UPDATE ${tables.entries} SET mime_type = ?, size = ?, storage_backend = ?, r2_key = ?, content_encoding = 'bytes',
        modified_at = ?, content_id = ?, turn_id = ?, content = ? WHERE path = ?`,
      mimeType,
      size,
      backend,
      key,
      now,
      contentId,
      turnId,
      inline,
      place.path
    );
    return;
  }
  yield* all(
    `INSERT INTO ${tables.entries} (path, parent_path, name, type, mime_type, size, storage_backend, r2_key,
      content_encoding, created_at, modified_at, content_id, turn_id, content)
    VALUES (?, ?, ?, 'file', ?, ?, ?, ?, 'bytes', ?, ?, ?, ?, ?)`,
    place.path,
    parentOf(place.path),
    nameOf(place.path),
    mimeType,
    size,
    backend,
    key,
    now,
    now,
    contentId,
    turnId,
    inline
  );
}

/** Adds to the end of a file. Undefined: the file is in R2, where nothing can be added; the caller writes it anew. */
export function* appendFile(
  operation: Operation,
  write: Omit<FileWrite, "content"> & { readonly bytes: Uint8Array }
): SqlSteps<Written | undefined> {
  yield* operation.tables.make();
  const place = yield* locateForWrite(operation, write.path);
  const { row } = place;
  if (!row) return yield* writeFile(operation, { ...write, content: stageBytes(write.bytes) });
  if (row.storage_backend === "r2") return undefined;
  const size = row.size + write.bytes.byteLength;
  checkSize(size);
  if (write.bytes.byteLength === 0) return { path: place.path, size, storage: row.storage_backend, isUpdate: true };
  if (row.storage_backend === "inline") {
    operation.tables.see(place.path);
    const bytes = joinBytes(yield* readInline(operation, row), write.bytes);
    return yield* writeFile(operation, {
      ...write,
      path: place.path,
      content: stageBytes(bytes),
      mimeType: row.mime_type ?? undefined
    });
  }
  yield* keepVersion(operation, row, { change: "update", isShared: true });
  const contentId = yield* appendChunks(operation, row, write.bytes);
  yield* all(
    `UPDATE ${operation.tables.entries} SET size = ?, modified_at = ?, turn_id = ?, content_id = ? WHERE path = ?`,
    size,
    operation.now,
    operation.turnId ?? null,
    contentId,
    place.path
  );
  operation.note({ type: "update", path: place.path, entryType: "file" });
  return { path: place.path, size, storage: "chunks", isUpdate: true };
}

export function joinBytes(first: Uint8Array, second: Uint8Array): Uint8Array {
  const result = new Uint8Array(first.byteLength + second.byteLength);
  result.set(first);
  result.set(second, first.byteLength);
  return result;
}
