// The bytes of files: inside of the entry's row, in chunk rows, or in R2. A content is addressed by its id and never
// changes, except that an append adds to its end: an older version is the same content, read to a smaller size.
import { FileError } from "../errors.ts";
import { type EntryRow, etagOf } from "./entries.ts";
import type { Operation } from "./operation.ts";
import { all, one, type SqlSteps } from "./sql.ts";
import { CHUNK_BYTES, INLINE_BYTES, type Tables } from "./tables.ts";

/** Bytes that a stream, or any other write, may bring. */
export const MAX_FILE_BYTES = 104_857_600;

/** Content that is ready to become a file's. */
export type StagedContent =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array; readonly size: number }
  /** Chunk rows that are there already: streamed in, or another file's. */
  | { readonly kind: "chunks"; readonly contentId: string; readonly size: number }
  | { readonly kind: "r2"; readonly key: string; readonly size: number };

export function stageBytes(bytes: Uint8Array): StagedContent {
  checkSize(bytes.byteLength);
  return { kind: "bytes", bytes, size: bytes.byteLength };
}

export function checkSize(sizeBytes: number): void {
  if (sizeBytes > MAX_FILE_BYTES)
    throw new FileError(
      "EFBIG",
      `a file has at most ${MAX_FILE_BYTES} bytes, this one would have ${sizeBytes} or more`
    );
}

/** The columns of an entry that say where its content is. */
export interface Placement {
  readonly backend: EntryRow["storage_backend"];
  readonly contentId: string;
  readonly key: string | null;
  readonly inline: Uint8Array | null;
}

/** Writes the part of a content that is not in the entry's row. */
export function* placeContent(operation: Operation, content: StagedContent): SqlSteps<Placement> {
  switch (content.kind) {
    case "r2":
      return { backend: "r2", contentId: crypto.randomUUID(), key: content.key, inline: null };
    case "chunks":
      // No longer without an owner.
      yield* all(`DELETE FROM ${operation.tables.garbage} WHERE key = ?`, garbageKeyOf(content.contentId));
      return { backend: "chunks", contentId: content.contentId, key: null, inline: null };
    case "bytes": {
      const contentId = crypto.randomUUID();
      if (content.size <= INLINE_BYTES) return { backend: "inline", contentId, key: null, inline: content.bytes };
      yield* insertChunks(operation, { contentId, first: 0, bytes: content.bytes });
      return { backend: "chunks", contentId, key: null, inline: null };
    }
  }
}

interface NewChunks {
  readonly contentId: string;
  /** Number of the first chunk; `bytes` begins with it. */
  readonly first: number;
  readonly bytes: Uint8Array;
}

export function* insertChunks({ tables }: Operation, { contentId, first, bytes }: NewChunks): SqlSteps<void> {
  for (let start = 0; start < bytes.byteLength; start += CHUNK_BYTES) {
    yield* all(
      `INSERT OR REPLACE INTO ${tables.chunks} (content_id, chunk, bytes) VALUES (?, ?, ?)`,
      contentId,
      first + start / CHUNK_BYTES,
      bytes.subarray(start, start + CHUNK_BYTES)
    );
  }
}

/** Reads the first `size` bytes of chunk rows. Throws EIO when some are missing. */
export function* readChunks({ tables }: Operation, contentId: string, size: number): SqlSteps<Uint8Array> {
  const result = new Uint8Array(size);
  let filled = 0;
  // A few rows at a time: the statement's result and the file would otherwise be in memory together.
  for (let chunk = 0; filled < size; chunk += CHUNKS_AT_ONCE) {
    const rows = yield* all<{ bytes: Uint8Array }>(
      `SELECT bytes FROM ${tables.chunks} WHERE content_id = ? AND chunk >= ? AND chunk < ? ORDER BY chunk`,
      contentId,
      chunk,
      chunk + CHUNKS_AT_ONCE
    );
    if (rows.length === 0) throw damageError();
    for (const { bytes } of rows) {
      const part = bytes.subarray(0, size - filled);
      result.set(part, filled);
      filled += part.byteLength;
    }
  }
  return result;
}

const CHUNKS_AT_ONCE = 16;

/** Reads one chunk, for streams; undefined past the end or when the content is gone. */
export function* readChunk({ tables }: Operation, contentId: string, chunk: number): SqlSteps<Uint8Array | undefined> {
  const row = yield* one<{ bytes: Uint8Array }>(
    `SELECT bytes FROM ${tables.chunks} WHERE content_id = ? AND chunk = ?`,
    contentId,
    chunk
  );
  return row?.bytes;
}

function damageError(): FileError {
  return new FileError(
    "EIO",
    "the content of a file is incomplete",
    "A chunk row is missing: the database was changed by other code."
  );
}

const FIND_INLINE = ({ entries }: Tables) => `SELECT content FROM ${entries} WHERE path = ?`;

export function* readInline({ tables }: Operation, row: EntryRow): SqlSteps<Uint8Array> {
  const found = yield* one<{ content: unknown }>(tables.text(FIND_INLINE), row.path);
  return decodeInline(row, found?.content);
}

/** Decodes inline content. The original stored text, and bytes as base64 text. */
export function decodeInline(row: Pick<EntryRow, "content_encoding">, content: unknown): Uint8Array {
  if (content instanceof Uint8Array) return content;
  const text = typeof content === "string" ? content : "";
  return row.content_encoding === "base64"
    ? Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
    : new TextEncoder().encode(text);
}

/** Deletes the chunks of contents that neither an entry nor a version refers to. */
export function* dropContents({ tables }: Operation, contentIds: Iterable<string>): SqlSteps<void> {
  for (const contentId of new Set(contentIds)) {
    const owner = yield* one(
      `SELECT 1 AS found FROM ${tables.entries} WHERE content_id = ? AND storage_backend = 'chunks'
      UNION ALL SELECT 1 FROM ${tables.versions} WHERE content_id = ? AND storage_backend = 'chunks' LIMIT 1`,
      contentId,
      contentId
    );
    if (!owner) yield* all(`DELETE FROM ${tables.chunks} WHERE content_id = ?`, contentId);
  }
}

/** Adds to the end of chunked content, in place where only this entry and older versions read it. */
export function* appendChunks(operation: Operation, row: EntryRow, bytes: Uint8Array): SqlSteps<string> {
  const contentId = yield* findAppendable(operation, row);
  const first = Math.floor(row.size / CHUNK_BYTES);
  const kept = row.size % CHUNK_BYTES;
  const last = kept === 0 ? undefined : yield* readChunk(operation, contentId, first);
  const joined = new Uint8Array(kept + bytes.byteLength);
  if (last) joined.set(last.subarray(0, kept));
  else if (kept > 0) throw damageError();
  joined.set(bytes, kept);
  yield* insertChunks(operation, { contentId, first, bytes: joined });
  return contentId;
}

function* findAppendable({ tables }: Operation, row: EntryRow): SqlSteps<string> {
  const contentId = row.content_id ?? "";
  const other = yield* one(
    `SELECT 1 AS found FROM ${tables.entries} WHERE content_id = ? AND storage_backend = 'chunks' AND path <> ?
    UNION ALL SELECT 1 FROM ${tables.versions} WHERE content_id = ? AND storage_backend = 'chunks' AND size > ? LIMIT 1`,
    contentId,
    row.path,
    contentId,
    row.size
  );
  if (!other) return contentId;
  const copy = crypto.randomUUID();
  yield* all(
    `INSERT INTO ${tables.chunks} (content_id, chunk, bytes) SELECT ?, chunk, bytes FROM ${tables.chunks}
    WHERE content_id = ? AND chunk <= ?`,
    copy,
    contentId,
    Math.floor(row.size / CHUNK_BYTES)
  );
  return copy;
}

/** The key of chunk rows without an owner, in the table of what has to be deleted. */
export function garbageKeyOf(contentId: string): string {
  return `content:${contentId}`;
}

/** Checks an entry. Throws ESTALE unless it is still as the caller saw it; null stands for "not there". */
export function checkExpected(row: EntryRow | undefined, expected: string | null | undefined): void {
  if (expected === undefined) return;
  const current =
    row === undefined ? null : row.type === "file" ? etagOf(row) : row.type === "symlink" ? linkTagOf(row) : row.type;
  if (current !== expected) throw new FileError("ESTALE", "it was changed by another writer in the meantime");
}

export function linkTagOf(row: Pick<EntryRow, "target">): string {
  return `link:${row.target ?? ""}`;
}
