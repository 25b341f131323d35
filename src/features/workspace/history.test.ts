import { expect, test } from "vitest";
import { MAX_HISTORY_BYTES, MAX_VERSION_BYTES, MAX_VERSIONS_PER_FILE } from "./store/versions.ts";
import { openStore } from "./shared-store.ts";
import { openWorkspace, patternedBytes } from "./workspace.test-support.ts";
import { DEFAULT_INLINE_THRESHOLD, type Workspace } from "./workspace.ts";

const MB = 1024 * 1024;
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

async function versionTexts(files: Workspace, path: string): Promise<string[]> {
  const versions = await files.history(path);
  return await Promise.all(versions.map(async ({ version }) => text(await files.readVersion(path, version))));
}

test("each write keeps what was there, with the turn that made it and the one that ended it", async () => {
  const { files } = openWorkspace();
  await files.inTurn("turn-1").writeFile("/f", "one");
  await files.inTurn("turn-2").writeFile("/f", "two");
  await files.appendFile("/f", " more");
  await files.inTurn("turn-3").rm("/f");
  expect(await versionTexts(files, "/f")).toEqual(["two more", "two", "one"]);
  expect(await files.history("/f")).toMatchObject([
    { change: "delete", replacedByTurnId: "turn-3" },
    { change: "update", turnId: "turn-2", size: 3 },
    { change: "update", turnId: "turn-1", replacedByTurnId: "turn-2", mimeType: "text/plain" }
  ]);
});

test("a version is restored, also of a deleted file, and the restore can be undone", async () => {
  const { files } = openWorkspace();
  const large = text(patternedBytes(400_000).map((byte) => 65 + (byte % 26)));
  await files.writeFile("/d/f", large, "text/x-mine");
  await files.rm("/d", { recursive: true });
  const [deleted] = await files.history("/d/f");
  await files.restore("/d/f", deleted!.version);
  expect(await files.readFile("/d/f")).toBe(large);
  expect((await files.stat("/d/f"))?.mimeType).toBe("text/x-mine");
  await files.writeFile("/d/f", "short");
  const [previous] = await files.history("/d/f");
  await files.restore("/d/f", previous!.version);
  expect(await files.readFile("/d/f")).toBe(large);
  expect((await versionTexts(files, "/d/f"))[0]).toBe("short");
  await expect(files.readVersion("/d/f", 999)).rejects.toMatchObject({ code: "ENOENT" });
  await expect(files.restore("/other", previous!.version)).rejects.toMatchObject({ code: "ENOENT" });
});

test("the history follows a file that is moved, and keeps what it replaced", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/dir/a", "1");
  await files.writeFile("/dir/a", "2");
  await files.writeFile("/b", "replaced");
  await files.mv("/dir/a", "/b");
  expect((await versionTexts(files, "/b")).sort()).toEqual(["1", "replaced"]);
  expect(await files.history("/dir/a")).toEqual([]);
});

test("a file keeps 20 versions, the oldest goes first", async () => {
  const { files, database } = openWorkspace();
  for (let index = 0; index <= 30; index += 1) await files.writeFile("/f", `${index}`);
  expect(await versionTexts(files, "/f")).toEqual(
    Array.from({ length: MAX_VERSIONS_PER_FILE }, (_, index) => `${29 - index}`)
  );
  for (let index = 0; index <= 30; index += 1) await files.writeFileBytes("/large", patternedBytes(300_000, index));
  // 20 versions and the file itself, two rows each.
  expect(database.count("cf_workspace_default__chunks")).toBe(21 * 2);
});

test("a file keeps 20 versions also when its directory is deleted, or another file takes its place", async () => {
  const { files, database } = openWorkspace();
  for (let index = 0; index < 25; index += 1) {
    await files.writeFile("/d/e/f", `${index}`);
    await files.writeFileBytes("/d/large", patternedBytes(20_000, index));
    await files.rm("/d", { recursive: true });
  }
  const newest = Array.from({ length: MAX_VERSIONS_PER_FILE }, (_, index) => `${24 - index}`);
  expect(await versionTexts(files, "/d/e/f")).toEqual(newest);
  expect(await files.history("/d/large")).toHaveLength(MAX_VERSIONS_PER_FILE);
  expect(database.count("cf_workspace_default__chunks")).toBe(MAX_VERSIONS_PER_FILE);

  await files.writeFile("/d/e/f", "replaced");
  for (let index = 0; index <= 15; index += 1) await files.writeFile("/other", `other ${index}`);
  await files.mv("/other", "/d/e/f");
  const merged = await versionTexts(files, "/d/e/f");
  expect(merged).toHaveLength(MAX_VERSIONS_PER_FILE);
  expect(merged.slice(0, 3)).toEqual(["replaced", "other 14", "other 13"]);
});

test("all versions together take 64 MB, the oldest of any file goes first, and no content is left behind", async () => {
  const { files, database } = openWorkspace();
  await files.writeFile("/first", "old");
  await files.writeFile("/first", "new");
  for (let index = 0; index < 12; index += 1)
    await files.writeFileBytes(`/f${index % 3}`, patternedBytes(8 * MB, index));
  expect(await files.history("/first")).toEqual([]);
  const held = database.sqlite.prepare("SELECT SUM(held) AS held FROM cf_workspace_default__versions").get();
  expect(Number(held?.["held"])).toBeLessThanOrEqual(MAX_HISTORY_BYTES);
  for (const path of ["/f0", "/f1", "/f2"]) await files.rm(path);
  const contents = database.sqlite
    .prepare(
      `SELECT COUNT(DISTINCT content_id) AS orphans FROM cf_workspace_default__chunks
      WHERE content_id NOT IN (SELECT content_id FROM cf_workspace_default__versions)`
    )
    .get();
  expect(contents?.["orphans"]).toBe(0);
});

test("the running total of what the history holds is the sum of its rows after any operation", async () => {
  const { files, database } = openWorkspace();
  const settings = { r2: undefined, r2Prefix: undefined, inlineThreshold: DEFAULT_INLINE_THRESHOLD };
  const { tables } = openStore(database.sql, "default", settings);
  const large = patternedBytes(20_000);
  const operations: (() => Promise<unknown>)[] = [
    () => files.writeFile("/a", "small"),
    () => files.writeFile("/a", "another small one"),
    () => files.writeFileBytes("/a", large),
    () => files.appendFile("/a", "shared"),
    () => files.writeFile("/a", "small again"),
    () => files.appendFile("/a", "!"),
    () => files.writeFileBytes("/a", large),
    () => files.writeFile("/d/b", "1"),
    () => files.writeFile("/d/b", "22"),
    () => files.mv("/a", "/d/b"),
    () => files.rm("/d", { recursive: true })
  ];
  for (let round = 0; round < 5; round += 1)
    for (const operate of operations) {
      await operate();
      const known = tables.heldBytes;
      const sum = database.sql.one<{ held: number }>("SELECT SUM(held) AS held FROM cf_workspace_default__versions");
      if (known !== undefined) expect(known).toBe(sum?.held ?? 0);
    }
  expect(tables.heldBytes).toBeGreaterThan(0);
});

test("content over 16 MB has no history and leaves nothing behind", async () => {
  const { files, database } = openWorkspace();
  await files.writeFileBytes("/huge", patternedBytes(MAX_VERSION_BYTES + 1));
  await files.writeFile("/huge", "small");
  expect(await files.history("/huge")).toEqual([]);
  expect(database.count("cf_workspace_default__chunks")).toBe(0);
});

test("a link's history is its target's", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/target", "1");
  await files.symlink("/target", "/link");
  await files.writeFile("/link", "2");
  expect(await versionTexts(files, "/link")).toEqual(["1"]);
});
