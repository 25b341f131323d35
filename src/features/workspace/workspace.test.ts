import { expect, test, vi } from "vitest";
import { subscribe as subscribeChannel, unsubscribe } from "node:diagnostics_channel";
import { FileError } from "./errors.ts";
import { MAX_FILE_BYTES } from "./store/contents.ts";
import type { WorkspaceChangeEvent } from "./store/operation.ts";
import type { SqlBackend } from "./store/sql.ts";
import { Workspace } from "./workspace.ts";
import { bytesOf, openWorkspace, patternedBytes, streamOf, TestDatabase } from "./workspace.test-support.ts";

const MB = 1_000_000;

test("text and bytes come back as they were written", async () => {
  const { files } = openWorkspace();
  const text = "line\n\u{1F600} \uFEFF end\0";
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  await files.writeFile("/a.txt", text);
  await files.writeFileBytes("/a.bin", bytes);
  expect(await files.readFile("/a.txt")).toBe(text);
  expect(await files.readFileBytes("/a.bin")).toEqual(bytes);
  await files.writeFileBytes("/a.txt", bytes);
  expect(await files.readFileBytes("/a.txt")).toEqual(bytes);
  await expect(files.writeFileBytes("/a.bin", "text" as never)).rejects.toThrow(TypeError);
});

test("before the first write there are no tables, and everything reads as empty", async () => {
  const { files, database } = openWorkspace();
  expect(await files.readFile("/x")).toBeNull();
  expect(await files.readFileStream("/x")).toBeNull();
  expect(await files.readDir("/")).toEqual([]);
  expect(await files.glob("**/*")).toEqual([]);
  expect(await files.history("/x")).toEqual([]);
  expect(await files.stat("/")).toMatchObject({ type: "directory", path: "/" });
  expect(await files.getWorkspaceInfo()).toEqual({ fileCount: 0, directoryCount: 1, totalBytes: 0, r2FileCount: 0 });
  expect(database.sqlite.prepare("SELECT name FROM sqlite_master").all()).toEqual([]);
});

test("a missing file reads as null, a directory is EISDIR", async () => {
  const { files } = openWorkspace();
  await files.mkdir("/dir");
  expect(await files.readFile("/none")).toBeNull();
  expect(await files.readFileBytes("/dir/none")).toBeNull();
  for (const path of ["/dir", "/"]) {
    await expect(files.readFile(path)).rejects.toMatchObject({
      code: "EISDIR",
      message: expect.stringMatching(/^EISDIR:/)
    });
    await expect(files.writeFile(path, "x")).rejects.toMatchObject({ code: "EISDIR" });
    await expect(files.appendFile(path, "x")).rejects.toMatchObject({ code: "EISDIR" });
  }
  await files.writeFile("/dir/still-usable", "x");
  expect(await files.readDir("/dir")).toHaveLength(1);
});

test("all spellings of a path reach one entry", async () => {
  const { files } = openWorkspace();
  await files.writeFile("a//b/../b/./c.txt/", "x");
  for (const path of ["/a/b/c.txt", "a/b/c.txt", "/../a/b/c.txt", "/a/x/../b/c.txt"])
    expect(await files.readFile(path)).toBe("x");
  expect((await files.stat("a/b/c.txt"))?.path).toBe("/a/b/c.txt");
});

test("parents are made once under concurrent writes, and reported once, before the file", async () => {
  const events: WorkspaceChangeEvent[] = [];
  const { files } = openWorkspace({ onChange: (event) => events.push(event) });
  await Promise.all([files.writeFile("/a/b/1", "x"), files.writeFile("/a/b/2", "x"), files.writeFile("/a/b/1", "y")]);
  expect(events.map(({ type, path, entryType }) => `${type} ${entryType} ${path}`)).toEqual([
    "create directory /a",
    "create directory /a/b",
    "create file /a/b/1",
    "create file /a/b/2",
    "update file /a/b/1"
  ]);
});

test("events follow the table, and a listener that throws fails nothing", async () => {
  const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const events: string[] = [];
  const { files } = openWorkspace({
    onChange: ({ type, path, entryType }) => {
      events.push(`${type} ${entryType} ${path}`);
      throw new Error("listener");
    }
  });
  await files.mkdir("/d");
  await files.writeFile("/d/f", "1");
  await files.appendFile("/d/f", "2");
  await files.symlink("/d/f", "/link");
  await files.cp("/d", "/e", { recursive: true });
  await files.mv("/d/f", "/g");
  await files.rm("/e", { recursive: true });
  await files.deleteFile("/link");
  expect(events).toEqual([
    "create directory /d",
    "create file /d/f",
    "update file /d/f",
    "create symlink /link",
    "create directory /e",
    "create file /e/f",
    "delete file /d/f",
    "create file /g",
    "delete file /e/f",
    "delete directory /e",
    "delete symlink /link"
  ]);
  expect(await files.readFile("/g")).toBe("12");
  expect(error).toHaveBeenCalledTimes(events.length);
  error.mockRestore();
});

test("observers are notified on agents:workspace", async () => {
  const seen: unknown[] = [];
  const listen = (message: unknown) => void seen.push(message);
  subscribeChannel("agents:workspace", listen);
  const { files } = openWorkspace({ name: () => "bob" });
  await files.writeFile("/f", "12345");
  await files.appendFile("/f", "6");
  await files.readFile("/f");
  await files.mv("/f", "/g");
  unsubscribe("agents:workspace", listen);
  await files.rm("/g");
  expect(seen).toMatchObject([
    {
      type: "workspace:write",
      name: "bob",
      payload: { path: "/f", size: 5, storage: "inline", update: false, namespace: "default" }
    },
    { type: "workspace:write", payload: { path: "/f", size: 6, update: true } },
    { type: "workspace:read", payload: { path: "/f", storage: "inline" } },
    { type: "workspace:mv", payload: { src: "/f", dest: "/g" } }
  ]);
});

test("a 20 MB file is written and read back without a bucket, whole and as a stream", async () => {
  const { files } = openWorkspace();
  const bytes = patternedBytes(20 * MB);
  await files.writeFileBytes("/big.bin", bytes);
  expect(Buffer.compare((await files.readFileBytes("/big.bin"))!, bytes)).toBe(0);
  expect(Buffer.compare(await bytesOf((await files.readFileStream("/big.bin"))!), bytes)).toBe(0);
});

test("a stream is stored part by part, and one past the limit is cancelled and leaves nothing", async () => {
  const { files, database } = openWorkspace();
  const bytes = patternedBytes(3 * MB);
  const pieces = Array.from({ length: 300 }, (_, index) => bytes.subarray(index * 10_000, (index + 1) * 10_000));
  await files.writeFileStream("/streamed", streamOf(pieces));
  expect(Buffer.compare((await files.readFileBytes("/streamed"))!, bytes)).toBe(0);
  expect(database.count("cf_workspace_default__garbage")).toBe(0);

  const rows = database.count("cf_workspace_default__chunks");
  let isCancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(4 * MB)),
    cancel: () => void (isCancelled = true)
  });
  await expect(files.writeFileStream("/endless", endless)).rejects.toMatchObject({ code: "EFBIG" });
  expect(isCancelled).toBe(true);
  expect(await files.exists("/endless")).toBe(false);
  expect(database.count("cf_workspace_default__chunks")).toBe(rows);
  expect(MAX_FILE_BYTES).toBe(104_857_600);
});

test("a file that grows while it is read gives what it was; one that is replaced ends the stream", async () => {
  const { files } = openWorkspace();
  const before = "x".repeat(600_000);
  await files.writeFile("/log", before);
  const reader = (await files.readFileStream("/log"))!;
  await files.appendFile("/log", "more");
  expect(new TextDecoder().decode(await bytesOf(reader))).toBe(before);

  const second = (await files.readFileStream("/log"))!.getReader();
  await second.read();
  for (let round = 0; round < 30; round += 1) await files.writeFile("/log", `${round}`);
  await expect(
    second
      .read()
      .then(() => second.read())
      .then(() => second.read())
  ).rejects.toMatchObject({ code: "ESTALE" });
});

test("a log grows by appends far past one row, rewriting only its end", async () => {
  const { files, database } = openWorkspace();
  const line = `${"log ".repeat(10_000)}\n`;
  for (let count = 0; count < 100; count += 1) await files.appendFile("/log.txt", line);
  expect((await files.stat("/log.txt"))?.size).toBe(line.length * 100);
  expect(await files.readFile("/log.txt")).toBe(line.repeat(100));
  // The versions of an appended file share its content.
  expect(database.count("cf_workspace_default__chunks")).toBe(Math.ceil((line.length * 100) / (256 * 1024)));
  const [newest] = await files.history("/log.txt");
  expect(new TextDecoder().decode(await files.readVersion("/log.txt", newest!.version))).toBe(line.repeat(99));
});

test("appending to a copy, or to a restored version, leaves the other one alone", async () => {
  const { files } = openWorkspace();
  const text = "y".repeat(300_000);
  await files.writeFile("/a", text);
  await files.cp("/a", "/b");
  await files.appendFile("/b", "of b");
  await files.appendFile("/a", "of a");
  expect(await files.readFile("/a")).toBe(`${text}of a`);
  expect(await files.readFile("/b")).toBe(`${text}of b`);
  await files.rm("/a");
  expect(await files.readFile("/b")).toBe(`${text}of b`);
});

test("the type comes from the name, stays when an overwrite states none, and is the caller's when stated", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/a.json", "{}");
  await files.writeFile("/plain", "x");
  await files.writeFileBytes("/raw", new Uint8Array(3));
  await files.writeFile("/page", "<p>", "text/html");
  await files.writeFileBytes("/page", new Uint8Array(3));
  await files.appendFile("/page", "x");
  const typeOf = async (path: string) => (await files.stat(path))?.mimeType;
  expect(await Promise.all(["/a.json", "/plain", "/raw", "/page"].map(typeOf))).toEqual([
    "application/json",
    "text/plain",
    "application/octet-stream",
    "text/html"
  ]);
  await files.writeFile("/raw", "text");
  expect(await typeOf("/raw")).toBe("text/plain");
  await files.writeFile("/page", "x", "text/css");
  expect(await typeOf("/page")).toBe("text/css");
});

test("diff: empty for equal files, hunks for others, ENOENT and EFBIG", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/a", "1\n2\n");
  await files.writeFile("/b", "1\n3\n");
  await files.writeFile("/long", "\n".repeat(10_001));
  expect(await files.diff("/a", "/a")).toBe("");
  expect(await files.diff("/a", "/b")).toBe("--- /a\n+++ /b\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n");
  expect(await files.diffContent("/a", "1\n2\n")).toBe("");
  await expect(files.diff("/a", "/none")).rejects.toMatchObject({ code: "ENOENT" });
  await expect(files.diff("/a", "/long")).rejects.toMatchObject({ code: "EFBIG" });
});

test("a namespace is a tree of its own, and a bad one is refused", async () => {
  const { files, database } = openWorkspace();
  const other = new Workspace({ sql: database.sql, namespace: "other" });
  await files.writeFile("/f", "1");
  expect(await other.exists("/f")).toBe(false);
  expect(() => new Workspace({ sql: database.sql, namespace: "a; DROP TABLE x" })).toThrow(
    expect.objectContaining({ code: "workspace-setup" })
  );
});

test("a second workspace on the same files must agree about where large files go", () => {
  const database = new TestDatabase();
  const first = new Workspace({ sql: database.sql, inlineThreshold: 100 });
  expect(() => new Workspace({ sql: database.sql, inlineThreshold: 100, onChange: () => undefined })).not.toThrow();
  expect(() => new Workspace({ sql: database.sql, inlineThreshold: 200, r2Prefix: "p" })).toThrow(
    /r2Prefix was not set and is p; inlineThreshold was 100 and is 200/
  );
  expect(first).toBeInstanceOf(Workspace);
});

test("an operation that fails half way has changed nothing, and reported nothing", async () => {
  const events: unknown[] = [];
  const { files, database } = openWorkspace({ onChange: (event) => events.push(event) });
  await files.writeFile("/a/b", "old");
  events.length = 0;
  // Of the new file after its directories, of the old one after its version.
  const isLast = (query: string) =>
    query.startsWith("UPDATE cf_workspace_default ") ||
    (query.startsWith("INSERT INTO cf_workspace_default ") && query.includes("storage_backend"));
  database.failure = (query) => (isLast(query) ? new Error("disk full") : undefined);
  await expect(files.writeFile("/new/dir/file", "x")).rejects.toThrow("disk full");
  await expect(files.writeFile("/a/b", "new")).rejects.toThrow("disk full");
  database.failure = () => undefined;
  expect(events).toEqual([]);
  expect(await files.exists("/new")).toBe(false);
  expect(await files.readFile("/a/b")).toBe("old");
  expect(await files.history("/a/b")).toEqual([]);
});

test("a transaction of user code that is rolled back takes the first write and its tables with it", async () => {
  const { files, database } = openWorkspace();
  let write: Promise<void> | undefined;
  expect(() =>
    database.sql.transaction(() => {
      write = files.writeFile("/f", "x");
      throw new Error("undone");
    })
  ).toThrow("undone");
  await write;
  expect(await files.exists("/f")).toBe(false);
  await files.writeFile("/f", "y");
  expect(await files.readFile("/f")).toBe("y");
});

test("a database that answers later, and one behind exec, hold the same files", async () => {
  const { database } = openWorkspace();
  const later: SqlBackend = {
    query: async <T>(sql: string, ...params: never[]) => database.sql.all(sql, ...params) as T[],
    run: async (sql, ...params) => void database.sql.all(sql, ...params)
  };
  const files = new Workspace({ sql: later });
  await Promise.all([files.writeFile("/a/1", "one"), files.writeFile("/a/2", "two")]);
  await files.appendFile("/a/1", "!");
  const storage = { exec: (sql: string, ...params: never[]) => ({ toArray: () => database.sql.all(sql, ...params) }) };
  expect(await new Workspace({ sql: storage }).readFile("/a/1")).toBe("one!");
  const d1 = {
    prepare: (sql: string) => ({
      bind: (...params: never[]) => ({ all: async () => ({ results: database.sql.all(sql, ...params) }) })
    })
  };
  expect((await new Workspace({ sql: d1 }).readDir("/a")).map(({ name }) => name)).toEqual(["1", "2"]);
  expect(() => new Workspace({ sql: {} as never })).toThrow(expect.objectContaining({ code: "workspace-setup" }));
});

test.each<[change: string, make: (other: Workspace) => Promise<void>, readsAs: string | null, writesAs: string]>([
  ["deleted", (other) => other.rm("/d/f"), null, "mine"],
  ["deleted with its directory", (other) => other.rm("/d", { recursive: true }), null, "mine"],
  ["made large", (other) => other.writeFile("/d/f", "l".repeat(20_000)), "l".repeat(20_000), "mine"],
  ["made a link", (other) => other.rm("/d/f").then(() => other.symlink("/target", "/d/f")), "of the target", "mine"],
  ["moved away and replaced", (other) => other.mv("/d/f", "/g").then(() => other.writeFile("/d/f", "n")), "n", "mine"],
  ["made a directory", (other) => other.rm("/d/f").then(() => other.mkdir("/d/f")), "EISDIR", "EISDIR"],
  [
    "put below a file",
    (other) => other.rm("/d", { recursive: true }).then(() => other.writeFile("/d", "")),
    null,
    "ENOTDIR"
  ]
])("a file that another workspace on the database has %s is not taken for what it was", async (...row) => {
  const [, change, readsAs, writesAs] = row;
  const { files, database } = openWorkspace();
  const storage = { exec: (sql: string, ...params: never[]) => ({ toArray: () => database.sql.all(sql, ...params) }) };
  await files.writeFile("/target", "of the target");
  await files.writeFile("/d/f", "before");
  await files.readFile("/d/f");
  await change(new Workspace({ sql: storage }));
  const orCode = (error: unknown) => (error instanceof FileError ? error.code : error);
  expect(await files.readFile("/d/f").catch(orCode)).toBe(readsAs);
  const written = await files.writeFile("/d/f", "mine").catch(orCode);
  expect(written ?? (await files.readFile("/d/f"))).toBe(writesAs);
  const { chunks } = database.sql.one<{ chunks: number }>(
    `SELECT COUNT(*) AS chunks FROM cf_workspace_default__chunks WHERE content_id NOT IN
      (SELECT content_id FROM cf_workspace_default__versions)`
  ) ?? { chunks: -1 };
  expect(chunks).toBe(0);
});

test("a table that the original wrote is read as it is and written on", async () => {
  const { files, database } = openWorkspace();
  database.sqlite
    .exec(`CREATE TABLE cf_workspace_default (path TEXT PRIMARY KEY, parent_path TEXT NOT NULL, name TEXT NOT NULL,
    type TEXT NOT NULL, mime_type TEXT NOT NULL DEFAULT 'text/plain', size INTEGER NOT NULL DEFAULT 0,
    storage_backend TEXT NOT NULL DEFAULT 'inline', r2_key TEXT, target TEXT, content_encoding TEXT NOT NULL DEFAULT 'utf8',
    content TEXT, created_at INTEGER NOT NULL, modified_at INTEGER NOT NULL);
    INSERT INTO cf_workspace_default VALUES ('/', '', '', 'directory', 'x', 0, 'inline', NULL, NULL, 'utf8', NULL, 1700000000, 1700000000);
    INSERT INTO cf_workspace_default VALUES ('/d', '/', 'd', 'directory', 'x', 0, 'inline', NULL, NULL, 'utf8', NULL, 1700000000, 1700000000);
    INSERT INTO cf_workspace_default VALUES ('/d/t', '/d', 't', 'file', 'text/plain', 5, 'inline', NULL, NULL, 'utf8', 'héllo', 1700000000, 1700000001);
    INSERT INTO cf_workspace_default VALUES ('/d/b', '/d', 'b', 'file', 'image/png', 3, 'inline', NULL, NULL, 'base64', 'AAH/', 1700000000, 1700000001);`);
  expect(await files.readFile("/d/t")).toBe("héllo");
  expect(await files.readFileBytes("/d/b")).toEqual(Uint8Array.of(0, 1, 255));
  expect((await files.stat("/d/t"))?.updatedAt).toBe(1_700_000_001_000);
  expect((await files.readDir("/")).map(({ path }) => path)).toEqual(["/d"]);
  await files.writeFile("/d/b", "new");
  expect(await files.readFile("/d/b")).toBe("new");
  const [version] = await files.history("/d/b");
  expect(await files.readVersion("/d/b", version!.version)).toEqual(Uint8Array.of(0, 1, 255));
  expect(await files.getWorkspaceInfo()).toMatchObject({ fileCount: 2, directoryCount: 2 });
});

test("failures are FileErrors with a code and a message that starts with it", async () => {
  const { files } = openWorkspace();
  const failure = await files.rm("/none").catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(FileError);
  expect(failure).toMatchObject({ code: "ENOENT", message: "ENOENT: no such file or directory: /none" });
});
