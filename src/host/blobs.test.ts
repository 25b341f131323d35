import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import {
  BLOB_CHUNK_BYTES,
  BLOB_TABLES,
  BlobCorruptError,
  BlobMissingError,
  Blobs,
  MAX_BLOB_BYTES,
  sha256
} from "./blobs.ts";
import { memoryStorage } from "./memory-storage.test-support.ts";
import type { Sql } from "./ports.ts";
import { openSchema } from "./schema.ts";
import { openSql } from "./sql.ts";
import { TableSet } from "./table-set.ts";

let sql: Sql;
let blobs: Blobs;
/** The write at which the next statement fails, counted down to zero. */
let writesUntilFailure = Infinity;

beforeEach(() => {
  writesUntilFailure = Infinity;
  sql = openMemory();
  blobs = new Blobs(sql);
});

describe("storing", () => {
  it("gives back exactly the bytes that were put, over chunk boundaries", () => {
    for (const size of [0, 1, BLOB_CHUNK_BYTES - 1, BLOB_CHUNK_BYTES, BLOB_CHUNK_BYTES + 1, 2 * BLOB_CHUNK_BYTES + 7]) {
      const bytes = pattern(size);
      const ref = blobs.put(bytes, `size ${size}`);
      expect(ref).toEqual({ hash: sha256(bytes), sizeBytes: size });
      expect(Buffer.compare(blobs.read(ref), bytes)).toBe(0);
    }
  });

  it("keeps text as UTF-8", () => {
    const ref = blobs.put("grüße 👋", "me");
    expect(ref.sizeBytes).toBe(12);
    expect(blobs.readText(ref)).toBe("grüße 👋");
    expect(blobs.readText(blobs.put("\uFEFFmarked", "me"))).toBe("\uFEFFmarked");
  });

  it("stores no cell above the chunk limit", () => {
    blobs.put(pattern(3 * BLOB_CHUNK_BYTES + 1), "me");
    expect(sql.one("SELECT max(length(bytes)) AS largest, count(*) AS chunks FROM cf_blob_chunks")).toEqual({
      largest: BLOB_CHUNK_BYTES,
      chunks: 4
    });
  });

  it("stores equal content once", () => {
    expect(blobs.put("same", "a")).toEqual(blobs.put("same", "b"));
    expect(count("cf_blobs")).toBe(1);
    expect(count("cf_blob_chunks")).toBe(1);
  });

  it("refuses a value above the limit and stores nothing", () => {
    expect(() => blobs.put(new Uint8Array(MAX_BLOB_BYTES + 1), "me")).toThrow(
      expect.objectContaining({ code: "blob-too-large" })
    );
    expect(count("cf_blobs")).toBe(0);
  });
});

describe("reading parts", () => {
  it("a slice is the same slice of the whole", () => {
    const bytes = pattern(2 * BLOB_CHUNK_BYTES + 100);
    const ref = blobs.put(bytes, "me");
    const offset = fc.integer({ min: 0, max: bytes.byteLength + 10 });
    fc.assert(
      fc.property(offset, offset, (start, length) => {
        expect(Buffer.compare(blobs.slice(ref, start, length), bytes.subarray(start, start + length))).toBe(0);
      }),
      { numRuns: 40 }
    );
  });

  it("iteration by chunk joins to the whole", () => {
    const bytes = pattern(2 * BLOB_CHUNK_BYTES + 5);
    const parts = [...blobs.chunks(blobs.put(bytes, "me"))];
    expect(parts).toHaveLength(3);
    expect(Buffer.compare(Buffer.concat(parts), bytes)).toBe(0);
  });
});

describe("owning", () => {
  it("a blob lives until its last owner lets go", () => {
    const ref = blobs.put("shared", "a");
    blobs.put("shared", "b");
    blobs.release("a");
    expect(blobs.readText(ref)).toBe("shared");
    blobs.release("b");
    expect(blobs.has(ref)).toBe(false);
    expect(count("cf_blob_chunks") + count("cf_blob_owners")).toBe(0);
  });

  it("one owner can give up one of its blobs", () => {
    const [first, second] = [blobs.put("first", "a"), blobs.put("second", "a")];
    blobs.release("a", first);
    expect(blobs.has(first)).toBe(false);
    expect(blobs.has(second)).toBe(true);
  });

  it("releasing what one does not own takes it from no owner", () => {
    const ref = blobs.put("mine", "a");
    blobs.release("stranger");
    blobs.release("stranger", ref);
    expect(blobs.has(ref)).toBe(true);
  });

  it("exists exactly while it has an owner, under any sequence of puts and releases", () => {
    const step = fc.record({
      put: fc.boolean(),
      owner: fc.constantFrom("a", "b", "c"),
      value: fc.constantFrom("x", "y")
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const held = new Set<string>();
        for (const { put, owner, value } of steps) {
          if (put) {
            blobs.put(value, owner);
            held.add(owner + value);
          } else {
            blobs.release(owner);
            for (const key of held) if (key.startsWith(owner)) held.delete(key);
          }
        }
        for (const value of ["x", "y"]) {
          expect(blobs.has({ hash: sha256(value), sizeBytes: 1 })).toBe([...held].some((key) => key.endsWith(value)));
        }
        for (const owner of ["a", "b", "c"]) blobs.release(owner);
        expect(count("cf_blobs") + count("cf_blob_chunks") + count("cf_blob_owners")).toBe(0);
      })
    );
  });
});

describe("damage", () => {
  it("a missing value and a missing chunk are told apart", () => {
    const ref = blobs.put(pattern(BLOB_CHUNK_BYTES + 1), "me");
    sql.run("DELETE FROM cf_blob_chunks WHERE chunk = 1");
    expect(() => blobs.read(ref)).toThrow(BlobCorruptError);
    expect(blobs.slice(ref, 0, 10)).toHaveLength(10);
    expect(() => blobs.read({ hash: sha256("never"), sizeBytes: 5 })).toThrow(BlobMissingError);
  });

  it("a changed byte and a shortened chunk are noticed", () => {
    const ref = blobs.put("hello", "me");
    sql.run("UPDATE cf_blob_chunks SET bytes = ?", new TextEncoder().encode("hellO"));
    expect(() => blobs.read(ref)).toThrow(/damaged/);
    sql.run("UPDATE cf_blob_chunks SET bytes = ?", new TextEncoder().encode("hell"));
    expect(() => blobs.read(ref)).toThrow(BlobCorruptError);
  });

  it("a reference with the wrong size is refused", () => {
    const ref = blobs.put("hello", "me");
    expect(() => blobs.read({ ...ref, sizeBytes: 4 })).toThrow(BlobCorruptError);
  });
});

it("a failure at any write of put or release leaves everything as it was", () => {
  const bytes = pattern(2 * BLOB_CHUNK_BYTES);
  for (let write = 1; write <= 4; write++) {
    writesUntilFailure = write;
    expect(() => blobs.put(bytes, "me")).toThrow("power cut");
    expect(count("cf_blobs") + count("cf_blob_chunks") + count("cf_blob_owners")).toBe(0);
  }
  writesUntilFailure = Infinity;
  const ref = blobs.put(bytes, "me");
  for (let write = 1; write <= 3; write++) {
    writesUntilFailure = write;
    expect(() => blobs.release("me")).toThrow("power cut");
    writesUntilFailure = Infinity;
    expect(Buffer.compare(blobs.read(ref), bytes)).toBe(0);
  }
});

function pattern(size: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, index) => (index * 31 + (index >> 10)) & 255);
}

function count(table: string): number {
  return new TableSet(sql, BLOB_TABLES).all(`SELECT 1 FROM ${table}`).length;
}

function openMemory(): Sql {
  const opened = openSql(
    memoryStorage(new DatabaseSync(":memory:"), (query) => {
      if (/^(INSERT|UPDATE|DELETE|CREATE)/.test(query) && --writesUntilFailure === 0) throw new Error("power cut");
    })
  );
  openSchema(opened);
  return opened;
}
