import { expect, test, vi } from "vitest";
import {
  bytesOf,
  openWorkspace,
  patternedBytes,
  streamOf,
  TestBucket,
  TestDatabase
} from "./workspace.test-support.ts";
import { Workspace } from "./workspace.ts";

const HOUR_MS = 3_600_000;

function openWithBucket(inlineThreshold = 1_000) {
  const bucket = new TestBucket();
  return { bucket, ...openWorkspace({ r2: bucket, r2Prefix: "p", inlineThreshold }) };
}

test("a file of exactly the threshold lives in R2, one byte less in SQL", async () => {
  const { files, bucket } = openWithBucket();
  await files.writeFileBytes("/d/large", patternedBytes(1_000), "image/png");
  await files.writeFileBytes("/small", patternedBytes(999));
  expect([...bucket.objects.keys()]).toEqual([expect.stringMatching(/^p\/default\/d\/large#[\w-]+$/)]);
  expect([...bucket.objects.values()][0]?.contentType).toBe("image/png");
  expect(await files.readFileBytes("/d/large")).toEqual(patternedBytes(1_000));
  expect(await bytesOf((await files.readFileStream("/d/large"))!)).toEqual(patternedBytes(1_000));
  expect(await files.getWorkspaceInfo()).toMatchObject({ fileCount: 2, r2FileCount: 1, totalBytes: 1_999 });
});

test("shrinking a file moves it into SQL and removes the object; a recursive delete removes objects", async () => {
  const { files, bucket, database } = openWithBucket();
  await files.writeFileBytes("/d/a", patternedBytes(2_000));
  await files.writeFileBytes("/d/b", patternedBytes(2_000));
  await files.writeFile("/d/a", "small");
  expect(bucket.objects.size).toBe(1);
  expect(await files.readFile("/d/a")).toBe("small");
  await files.rm("/d", { recursive: true });
  expect(bucket.objects.size).toBe(0);
  expect(database.count("cf_workspace_default__garbage")).toBe(0);
});

test("overwriting never touches the old object before the new one counts", async () => {
  const { files, bucket, database } = openWithBucket();
  await files.writeFileBytes("/f", patternedBytes(2_000, 1));
  database.failure = (query) => (query.startsWith("UPDATE cf_workspace_default ") ? new Error("disk full") : undefined);
  await expect(files.writeFileBytes("/f", patternedBytes(2_000, 2))).rejects.toThrow("disk full");
  database.failure = () => undefined;
  expect(bucket.objects.size).toBe(1);
  expect(await files.readFileBytes("/f")).toEqual(patternedBytes(2_000, 1));
  expect(database.count("cf_workspace_default__garbage")).toBe(0);
});

test("an object that a crash left behind is deleted later", async () => {
  const bucket = new TestBucket();
  const database = new TestDatabase();
  let now = 1_000;
  const files = new Workspace({ sql: database.sql, r2: bucket, r2Prefix: "p", inlineThreshold: 10, now: () => now });
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  await files.writeFileBytes("/f", patternedBytes(20, 1));
  bucket.failure = (call) => (call === "delete" ? new Error("R2 is down") : undefined);
  await files.writeFileBytes("/f", patternedBytes(20, 2));
  bucket.failure = () => undefined;
  expect(bucket.objects.size).toBe(2);
  now += HOUR_MS + 1;
  await files.writeFileBytes("/g", patternedBytes(20, 3));
  expect(bucket.objects.size).toBe(2);
  expect(await files.readFileBytes("/f")).toEqual(patternedBytes(20, 2));
  expect(database.count("cf_workspace_default__garbage")).toBe(0);
  expect(warn).toHaveBeenCalledOnce();
  warn.mockRestore();
});

test.each(["bytes", "a stream"])("an object that was put when the process died is deleted later (%s)", async (how) => {
  const bucket = new TestBucket();
  const database = new TestDatabase();
  let now = 1_000;
  const open = () =>
    new Workspace({ sql: database.sql, r2: bucket, r2Prefix: "p", inlineThreshold: 10, now: () => now });
  const { promise: isPut, resolve: wasPut } = Promise.withResolvers<void>();
  const put = vi.spyOn(bucket, "put").mockImplementationOnce((key, value) => {
    bucket.objects.set(key, { bytes: value as Uint8Array, contentType: undefined });
    wasPut();
    // The process is gone: no answer ever comes, and nothing is written after it.
    return new Promise(() => undefined);
  });
  const bytes = patternedBytes(20);
  void (how === "bytes" ? open().writeFileBytes("/f", bytes) : open().writeFileStream("/f", streamOf([bytes])));
  await isPut;
  put.mockRestore();
  const later = open();
  expect([bucket.objects.size, await later.exists("/f")]).toEqual([1, false]);
  now += HOUR_MS + 1;
  await later.writeFileBytes("/g", patternedBytes(20, 2));
  expect([...bucket.objects.keys()]).toEqual([expect.stringMatching(/^p\/default\/g#/)]);
  expect(database.count("cf_workspace_default__garbage")).toBe(0);
});

test("a missing object is EIO with the path, not an empty file", async () => {
  const { files, bucket } = openWithBucket();
  await files.writeFileBytes("/f", patternedBytes(2_000));
  bucket.objects.clear();
  await expect(files.readFileBytes("/f")).rejects.toMatchObject({
    code: "EIO",
    message: expect.stringContaining("/f")
  });
  await expect(files.readFileStream("/f")).rejects.toMatchObject({ code: "EIO" });
});

test("without a prefix or a name a large write says what to set; without the bucket a read does", async () => {
  const bucket = new TestBucket();
  const database = new TestDatabase();
  const nameless = new Workspace({ sql: database.sql, r2: bucket, inlineThreshold: 10, namespace: "a" });
  await expect(nameless.writeFileBytes("/f", patternedBytes(20))).rejects.toMatchObject({
    hint: expect.stringMatching(/r2Prefix.*name/)
  });
  const named = new Workspace({ sql: database.sql, r2: bucket, inlineThreshold: 10, namespace: "b", name: () => "me" });
  await named.writeFileBytes("/f", patternedBytes(20));
  expect([...bucket.objects.keys()][0]).toMatch(/^me\/b\/f#/);
  const later = {
    query: async (sql: string) => database.sql.all(sql.replaceAll("\n", " ")),
    run: async () => undefined
  };
  const proxy = {
    ...later,
    query: async <T>(sql: string, ...values: never[]) => database.sql.all(sql, ...values) as T[]
  };
  await expect(new Workspace({ sql: proxy, namespace: "b" }).readFile("/f")).rejects.toThrow(/no bucket/);
});

test("appends cross into R2 and go on there; concurrent ones lose nothing", async () => {
  const { files, bucket } = openWithBucket(100);
  await files.appendFile("/log", "a".repeat(60));
  await files.appendFile("/log", "b".repeat(60));
  await Promise.all(["c", "d", "e"].map(async (letter) => await files.appendFile("/log", letter.repeat(10))));
  const text = await files.readFile("/log");
  expect(text).toHaveLength(150);
  for (const letter of ["c", "d", "e"]) expect(text).toContain(letter.repeat(10));
  expect(bucket.objects.size).toBe(1);
});

test("a stream goes to R2 in parts of 8 MiB once it has passed the threshold", async () => {
  const { files, bucket } = openWithBucket();
  const bytes = patternedBytes(20_000_000);
  const pieces = Array.from({ length: 20 }, (_, index) => bytes.subarray(index * 1_000_000, (index + 1) * 1_000_000));
  await files.writeFileStream("/big", streamOf(pieces));
  expect(bucket.uploads).toEqual([8 * 1024 * 1024, 8 * 1024 * 1024, 20_000_000 - 16 * 1024 * 1024]);
  expect(Buffer.compare((await files.readFileBytes("/big"))!, bytes)).toBe(0);
  await files.writeFileStream("/small", streamOf([patternedBytes(10)]));
  expect(bucket.objects.size).toBe(1);
});

test("a copy has an object of its own; a move keeps the object; destroying deletes all of them", async () => {
  const { files, bucket } = openWithBucket();
  await files.writeFileBytes("/d/f", patternedBytes(2_000));
  await files.cp("/d", "/e", { recursive: true });
  await files.mv("/d", "/moved");
  expect(bucket.objects.size).toBe(2);
  await files.rm("/moved", { recursive: true });
  expect(await files.readFileBytes("/e/f")).toEqual(patternedBytes(2_000));
  await files.deleteObjects();
  expect(bucket.objects.size).toBe(0);
});
