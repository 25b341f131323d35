import { expect, test } from "vitest";
import { BLOB_CHUNK_BYTES, BlobMissingError, Blobs } from "../../src/host/blobs.ts";
import { openFacets } from "../../src/host/facets.ts";
import { openSql } from "../../src/host/sql.ts";
import { env, inside, rawStub, uniqueName } from "./world.ts";

const FIVE_MEGABYTES = 5_000_000;

test("a blob of five megabytes is stored in chunks below the cell limit, read back whole and in parts, and deleted with its last owner", async () => {
  const stub = rawStub(env.Room, uniqueName());
  await inside(stub, (_room, state) => {
    const sql = openSql(state.storage);
    const blobs = new Blobs(sql);
    const value = new Uint8Array(FIVE_MEGABYTES).map((_, index) => (index * 31) % 251);
    const ref = blobs.put(value, "a");
    expect(blobs.put(value, "b")).toEqual(ref);
    const chunks = sql.all<{ size: number }>("SELECT length(bytes) AS size FROM cf_blob_chunks ORDER BY chunk");
    expect(chunks).toHaveLength(Math.ceil(FIVE_MEGABYTES / BLOB_CHUNK_BYTES));
    expect(Math.max(...chunks.map(({ size }) => size))).toBe(BLOB_CHUNK_BYTES);
    const whole = blobs.read(ref);
    expect(whole.byteLength).toBe(FIVE_MEGABYTES);
    expect(whole.every((byte, index) => byte === value[index])).toBe(true);
    const start = BLOB_CHUNK_BYTES - 2;
    expect([...blobs.slice(ref, start, 4)]).toEqual([...value.subarray(start, start + 4)]);
    blobs.release("a");
    expect(blobs.has(ref)).toBe(true);
    blobs.release("b");
    expect(sql.all("SELECT hash FROM cf_blob_chunks")).toEqual([]);
    expect(() => blobs.read(ref)).toThrow(BlobMissingError);
  });
});

test("a transaction that throws leaves nothing, also nested, and reports what it changed", async () => {
  const stub = rawStub(env.Room, uniqueName());
  await inside(stub, (_room, state) => {
    const sql = openSql(state.storage);
    sql.run("CREATE TABLE t (n INTEGER, b BLOB)");
    sql.transaction(() => {
      sql.run("INSERT INTO t (n) VALUES (1), (2)");
      expect(() =>
        sql.transaction(() => {
          sql.run("INSERT INTO t (n) VALUES (3)");
          throw new Error("back");
        })
      ).toThrow("back");
    });
    expect(sql.all("SELECT n FROM t ORDER BY n")).toEqual([{ n: 1 }, { n: 2 }]);
    expect(sql.run("UPDATE t SET b = ?", new Uint8Array([1, 2])).changed).toBe(2);
    expect(sql.one("SELECT b FROM t WHERE n = 1")).toEqual({ b: new Uint8Array([1, 2]) });
    expect(sql.run("DELETE FROM t WHERE n = 99").changed).toBe(0);
    expect(sql.one("SELECT n FROM t WHERE n = 99")).toBeUndefined();
  });
});

test("a transaction that user code opens around ours is followed to its end, whether it commits or not", async () => {
  const stub = rawStub(env.Room, uniqueName());
  await inside(stub, (_room, { storage }) => {
    const sql = openSql(storage);
    sql.run("CREATE TABLE u (n INTEGER)");
    const notified: string[] = [];
    const write = (n: number) =>
      sql.transaction(() => {
        sql.run("INSERT INTO u VALUES (?)", n);
        sql.afterTransaction({ committed: () => notified.push(`${n}`), undone: () => notified.push(`${n} undone`) });
      });
    storage.transactionSync(() => {
      write(1);
      expect(notified).toEqual([]);
    });
    const failing = () =>
      storage.transactionSync(() => {
        write(2);
        throw new Error("back");
      });
    expect(failing).toThrow("back");
    expect(notified).toEqual(["1", "2 undone"]);
    expect(sql.all("SELECT n FROM u")).toEqual([{ n: 1 }]);
  });
});

test("deleting a facet that never was is not an error, and an unknown class is named", async () => {
  const stub = rawStub(env.Room, uniqueName());
  await inside(stub, (_room, state) => {
    const facets = openFacets(state);
    expect(() => facets.delete("Member:never")).not.toThrow();
    expect(() => facets.delete(`Member:${"x".repeat(300)}`)).not.toThrow();
    expect(() => facets.get("Nobody:x", "Nobody", () => ({}))).toThrow(
      'The class "Nobody" was not found in worker exports.'
    );
  });
});
