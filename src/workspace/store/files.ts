// Reading and writing single files. Each function is one operation: it checks first and then writes, so that what it
// refuses has changed nothing.
import { isDirectory } from "../errors.ts";
import { checkedLength, nameOf, parentOf, ROOT } from "../paths.ts";
import { DEFAULT_BYTES_TYPE, DEFAULT_TEXT_TYPE, typeOfName } from "../../util/media-type.ts";
import {
  appendChunks,
  checkExpected,
  checkSize,
  dropContents,
  inlineBytes,
  placeContent,
  type Placement,
  readChunks,
  stageBytes,
  type StagedContent
} from "./contents.ts";
import {
  type ContentRow,
  type EntryRow,
  findWithContent,
  locate,
  locateForWrite,
  makeParents,
  type EntryPlace
} from "./entries.ts";
import type { Operation } from "./operation.ts";
import { all, one, type SqlSteps } from "./sql.ts";
import { INLINE_BYTES } from "./tables.ts";
import { keepVersion } from "./versions.ts";

/** A file as it was found: its bytes, or where they are. */
export type FoundFile =
  | { readonly row: ContentRow; readonly bytes: Uint8Array }
  /** In R2: to be fetched by the caller. */
  | { readonly row: ContentRow; readonly key: string };

/** Follows links. Undefined when there is nothing; throws EISDIR. */
export function* readFile(operation: Operation, path: string): SqlSteps<FoundFile | undefined> {
  let row = yield* findWithContent(operation, path);
  if (row?.type !== "file") {
    const place = yield* locate(operation, path, true);
    if (place.isRoot || place.row?.type === "directory") throw isDirectory(path);
    row = place.row && (yield* findWithContent(operation, place.path));
  }
  if (!row) return undefined;
  operation.tables.see(row.path);
  switch (row.storage_backend) {
    case "r2":
      return { row, key: row.r2_key ?? "" };
    case "chunks":
      return { row, bytes: yield* readChunks(operation, row.content_id ?? "", row.size) };
    case "inline":
      return { row, bytes: inlineBytes(row, row.content) };
  }
}

/** The entry of a file, without its content. Follows links. Throws EISDIR. */
export function* findFile(operation: Operation, path: string): SqlSteps<EntryRow | undefined> {
  const place = yield* locate(operation, path, true);
  if (place.isRoot || place.row?.type === "directory") throw isDirectory(path);
  return place.row;
}

export interface FileWrite {
  readonly path: string;
  readonly content: StagedContent;
  /** Undefined: the type it has, or the one its name stands for, or one for `isText`. */
  readonly mimeType: string | undefined;
  readonly isText: boolean;
  /** The entry must still be this one; null: must not be there. */
  readonly expected?: string | null;
}

export interface Written {
  readonly path: string;
  readonly size: number;
  readonly storage: EntryRow["storage_backend"];
  readonly isUpdate: boolean;
}

/** Creates or overwrites; makes the directories above. Follows links. */
export function* writeFile(operation: Operation, write: FileWrite): SqlSteps<Written> {
  if (!operation.tables.areKnown) yield* operation.tables.make();
  const made = operation.tables.hasSeen(write.path) ? undefined : yield* createFile(operation, write);
  operation.tables.see(write.path);
  if (made) return made;
  const place = yield* locateForWrite(operation, write.path);
  checkExpected(place.row, write.expected);
  const mimeType = typeFor(write, place.path, place.row?.mime_type);
  if (!place.row && place.hasParent !== true) yield* makeParents(operation, place);
  if (place.row) yield* retire(operation, place.row, write.content);
  const placement = yield* placeContent(operation, write.content);
  yield* putEntry(operation, { place, placement, mimeType, size: write.content.size });
  if (place.row) yield* dropRetired(operation, place.row);
  operation.tell({ type: place.row ? "update" : "create", path: place.path, entryType: "file" });
  return { path: place.path, size: write.content.size, storage: placement.backend, isUpdate: place.row !== undefined };
}

/** By one statement where it can be: a small file that is new, in a directory that is there. */
function* createFile(operation: Operation, write: FileWrite): SqlSteps<Written | undefined> {
  const { path, content } = write;
  if (content.kind !== "bytes" || content.size > INLINE_BYTES || path === ROOT || typeof write.expected === "string")
    return undefined;
  checkedLength(path);
  const { tables, now } = operation;
  const parent = parentOf(path);
  const made = yield* one(
    `INSERT INTO ${tables.entries} (path, parent_path, name, type, mime_type, size, content_encoding, created_at,
      modified_at, content_id, turn_id, content)
    SELECT ?, ?, ?, 'file', ?, ?, 'bytes', ?, ?, ?, ?, ?
    WHERE ? = '/' OR EXISTS (SELECT 1 FROM ${tables.entries} WHERE path = ? AND type = 'directory')
    ON CONFLICT (path) DO NOTHING RETURNING 1 AS made`,
    path,
    parent,
    nameOf(path),
    typeFor(write, path),
    content.size,
    now,
    now,
    crypto.randomUUID(),
    operation.turnId ?? null,
    content.bytes,
    parent,
    parent
  );
  if (!made) return undefined;
  operation.tell({ type: "create", path, entryType: "file" });
  return { path, size: content.size, storage: "inline", isUpdate: false };
}

function typeFor(write: FileWrite, path: string, stored?: string | null): string {
  if (write.mimeType !== undefined) return write.mimeType;
  const fallback = write.isText ? DEFAULT_TEXT_TYPE : DEFAULT_BYTES_TYPE;
  // A type that only says how the old content came is no reason to keep it.
  if (stored && stored !== DEFAULT_BYTES_TYPE) return stored;
  return typeOfName(path) ?? fallback;
}

/** What the entry held goes into the history; an object in R2 has to go. */
function* retire(operation: Operation, row: EntryRow, next: StagedContent): SqlSteps<void> {
  const isSame = next.kind === "chunks" && next.contentId === row.content_id;
  if (!isSame) yield* keepVersion(operation, row, { change: "update" });
  if (row.storage_backend === "r2" && row.r2_key !== null) yield* discardObject(operation, row.r2_key);
}

/** Chunks that the history did not keep. */
function* dropRetired(operation: Operation, row: EntryRow): SqlSteps<void> {
  if (row.storage_backend === "chunks") yield* dropContents(operation, [row.content_id ?? ""]);
}

/** The key is remembered until the object is deleted: a crash in between leaves no orphan for ever. */
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

/** Undefined: the file is in R2, where nothing can be added; the caller writes it anew. */
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
    const found = yield* findWithContent(operation, place.path);
    const bytes = joined(inlineBytes(row, found?.content), write.bytes);
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
  operation.tell({ type: "update", path: place.path, entryType: "file" });
  return { path: place.path, size, storage: "chunks", isUpdate: true };
}

export function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const result = new Uint8Array(first.byteLength + second.byteLength);
  result.set(first);
  result.set(second, first.byteLength);
  return result;
}
