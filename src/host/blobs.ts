// Values too large for one cell, stored once per content and kept exactly as long as they have an owner.
// A blob is addressed by the SHA-256 of its bytes and cut into chunks below the platform's cell limit. Every call is
// synchronous and is one transaction (or part of the caller's), so a crash leaves neither a half blob nor an orphan.
// What the bytes mean, and which client may see them, is the owner's business.
import { createHash } from "node:crypto";
import { decodeText, encodeText } from "../util/bytes.ts";
import { ThinkError } from "../util/errors.ts";
import { hostErrors } from "./errors.ts";
import type { Sql } from "./ports.ts";
import { TableSet, type TableDefinition } from "./table-set.ts";

/** Half the platform's 2 MB limit per cell, so that a row with its keys always fits. */
export const BLOB_CHUNK_BYTES = 1024 * 1024;
/** One value must fit in memory several times over; above it `put` refuses and stores nothing. */
export const MAX_BLOB_BYTES = 32 * 1024 * 1024;

/** Where a value is. Plain data: it can sit in a record or a message part. */
export interface BlobRef {
  /** SHA-256 of the bytes, 64 hexadecimal digits. */
  readonly hash: string;
  readonly sizeBytes: number;
}

export class BlobMissingError extends ThinkError {
  constructor(readonly hash: string) {
    super({
      code: "blob-missing",
      message: "A stored value is no longer there.",
      hint: `Blob ${hash} has no row: its last owner released it, or the reference comes from another object.`
    });
  }
}

export class BlobCorruptError extends ThinkError {
  constructor(
    readonly hash: string,
    readonly chunk: number,
    reason: string
  ) {
    super({
      code: "blob-corrupt",
      message: "A stored value is damaged and cannot be read.",
      hint: `Blob ${hash}, chunk ${chunk}: ${reason}.`
    });
  }
}

/** The content address of a value. */
export function sha256(value: Uint8Array | string): string {
  return createHash("sha256").update(value).digest("hex");
}

export const BLOB_TABLES: readonly TableDefinition[] = [
  // Bound: what owners hold, each value at most MAX_BLOB_BYTES. Deleted: with the last owner.
  {
    name: "cf_blobs",
    create: [
      `CREATE TABLE cf_blobs (
        hash TEXT PRIMARY KEY,
        size_bytes INTEGER NOT NULL
      ) WITHOUT ROWID`
    ]
  },
  // Owner, bound, deletion: as cf_blobs. The digest makes one bad chunk visible without reading its siblings.
  {
    name: "cf_blob_chunks",
    create: [
      `CREATE TABLE cf_blob_chunks (
        hash TEXT NOT NULL,
        chunk INTEGER NOT NULL,
        digest TEXT NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (hash, chunk)
      ) WITHOUT ROWID`
    ]
  },
  // Bound: one row per owner and value. Deleted: by `release`.
  {
    name: "cf_blob_owners",
    create: [
      `CREATE TABLE cf_blob_owners (
        owner TEXT NOT NULL,
        hash TEXT NOT NULL,
        PRIMARY KEY (owner, hash)
      ) WITHOUT ROWID`,
      // Whether a value has another owner is asked on every release.
      `CREATE INDEX cf_blob_owners_hash ON cf_blob_owners (hash)`
    ]
  }
];

export class Blobs {
  readonly #tables: TableSet;

  constructor(sql: Sql) {
    this.#tables = new TableSet(sql, BLOB_TABLES);
  }

  /** Stores the value, or finds it stored, and makes `owner` one of its owners. Text is stored as UTF-8. */
  put(value: Uint8Array | string, owner: string): BlobRef {
    const bytes = typeof value === "string" ? encodeText(value) : value;
    if (bytes.byteLength > MAX_BLOB_BYTES) throw hostErrors.BlobTooLargeError(bytes.byteLength, MAX_BLOB_BYTES);
    const ref = { hash: sha256(bytes), sizeBytes: bytes.byteLength };
    this.#tables.transaction(() => {
      if (this.#sizeOf(ref.hash) === undefined) this.#insert(ref, bytes);
      this.#own(ref.hash, owner);
    });
    return ref;
  }

  has(ref: BlobRef): boolean {
    return this.#sizeOf(ref.hash) !== undefined;
  }

  /** The whole value. Throws BlobMissingError or BlobCorruptError. */
  read(ref: BlobRef): Uint8Array {
    return this.slice(ref, 0, ref.sizeBytes);
  }

  readText(ref: BlobRef): string {
    return decodeText(this.read(ref));
  }

  /** At most `length` bytes from `offset`, fewer at the end. Reads only the chunks it touches. */
  slice(ref: BlobRef, offset: number, length: number): Uint8Array {
    const sizeBytes = this.#checkedSize(ref);
    const start = Math.min(Math.max(0, offset), sizeBytes);
    const end = Math.min(start + Math.max(0, length), sizeBytes);
    const result = new Uint8Array(end - start);
    for (let chunk = Math.floor(start / BLOB_CHUNK_BYTES); chunk * BLOB_CHUNK_BYTES < end; chunk++) {
      const chunkStart = chunk * BLOB_CHUNK_BYTES;
      const bytes = this.#chunk(ref, chunk);
      const part = bytes.subarray(Math.max(0, start - chunkStart), Math.min(bytes.byteLength, end - chunkStart));
      result.set(part, Math.max(0, chunkStart - start));
    }
    return result;
  }

  /** Chunk by chunk, one in memory at a time. A value released half way ends in BlobCorruptError. */
  *chunks(ref: BlobRef): Generator<Uint8Array, void, undefined> {
    const count = chunkCount(this.#checkedSize(ref));
    for (let chunk = 0; chunk < count; chunk++) yield this.#chunk(ref, chunk);
  }

  /** Gives up everything `owner` holds, or only `ref`. What has no owner any more is deleted at once. */
  release(owner: string, ref?: BlobRef): void {
    this.#tables.transaction(() => {
      const held = ref
        ? [{ hash: ref.hash }]
        : this.#tables.all<{ hash: string }>("SELECT hash FROM cf_blob_owners WHERE owner = ?", owner);
      for (const { hash } of held) {
        this.#tables.change("DELETE FROM cf_blob_owners WHERE owner = ? AND hash = ?", owner, hash);
        if (!this.#tables.one("SELECT 1 AS owned FROM cf_blob_owners WHERE hash = ? LIMIT 1", hash)) this.#delete(hash);
      }
    });
  }

  #sizeOf(hash: string): number | undefined {
    return this.#tables.one<{ size_bytes: number }>("SELECT size_bytes FROM cf_blobs WHERE hash = ?", hash)?.size_bytes;
  }

  #checkedSize(ref: BlobRef): number {
    const sizeBytes = this.#sizeOf(ref.hash);
    if (sizeBytes === undefined) throw new BlobMissingError(ref.hash);
    if (sizeBytes !== ref.sizeBytes)
      throw new BlobCorruptError(ref.hash, 0, `expected ${ref.sizeBytes} bytes, stored are ${sizeBytes}`);
    return sizeBytes;
  }

  #insert(ref: BlobRef, bytes: Uint8Array): void {
    this.#tables.run("INSERT INTO cf_blobs (hash, size_bytes) VALUES (?, ?)", ref.hash, ref.sizeBytes);
    for (let chunk = 0; chunk < chunkCount(ref.sizeBytes); chunk++) {
      const part = bytes.subarray(chunk * BLOB_CHUNK_BYTES, (chunk + 1) * BLOB_CHUNK_BYTES);
      this.#tables.run(
        "INSERT INTO cf_blob_chunks (hash, chunk, digest, bytes) VALUES (?, ?, ?, ?)",
        ref.hash,
        chunk,
        // A value of one chunk has its digest already.
        part.byteLength === bytes.byteLength ? ref.hash : sha256(part),
        part
      );
    }
  }

  #own(hash: string, owner: string): void {
    this.#tables.run("INSERT OR IGNORE INTO cf_blob_owners (owner, hash) VALUES (?, ?)", owner, hash);
  }

  #chunk(ref: BlobRef, chunk: number): Uint8Array {
    const row = this.#tables.one<{ digest: string; bytes: Uint8Array }>(
      "SELECT digest, bytes FROM cf_blob_chunks WHERE hash = ? AND chunk = ?",
      ref.hash,
      chunk
    );
    if (!row) throw new BlobCorruptError(ref.hash, chunk, "the chunk is missing");
    const expected = Math.min(BLOB_CHUNK_BYTES, ref.sizeBytes - chunk * BLOB_CHUNK_BYTES);
    if (!(row.bytes instanceof Uint8Array) || row.bytes.byteLength !== expected)
      throw new BlobCorruptError(ref.hash, chunk, "its length is wrong");
    if (sha256(row.bytes) !== row.digest) throw new BlobCorruptError(ref.hash, chunk, "its digest does not match");
    return row.bytes;
  }

  #delete(hash: string): void {
    this.#tables.change("DELETE FROM cf_blob_chunks WHERE hash = ?", hash);
    this.#tables.change("DELETE FROM cf_blobs WHERE hash = ?", hash);
  }
}

function chunkCount(sizeBytes: number): number {
  return Math.ceil(sizeBytes / BLOB_CHUNK_BYTES);
}
