import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, test, vi } from "vitest";
import { InstanceNames } from "./local-instances.ts";

let folder: string;
const open: DatabaseSync[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "everthink-instances-"));
  return () => {
    for (const database of open.splice(0)) database.close();
    rmSync(folder, { recursive: true, force: true });
  };
});

/** As workerd keeps it: open, in WAL mode. */
function agentObject(id: string, name: string, { isInLog = false, at = 1_000 } = {}): string {
  const file = join(folder, `${id.padEnd(64, "0")}.sqlite`);
  const database = new DatabaseSync(file);
  open.push(database);
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE cf_meta (id INTEGER, identity TEXT)");
  const insert = database.prepare("INSERT INTO cf_meta VALUES (1, ?)");
  insert.run(JSON.stringify({ name, parentPath: [] }));
  if (!isInLog) database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  for (const part of [file, `${file}-wal`]) utimesSync(part, at, at);
  return file;
}

function everything(): Record<string, string> {
  const hash = (name: string) =>
    createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex");
  return Object.fromEntries(readdirSync(folder).map((name) => [name, hash(name)]));
}

test("objects that a server has open are listed by name, newest first, also when all of one is still in its log", async () => {
  agentObject("a", "user/42", { at: 1_000 });
  agentObject("b", "new one", { isInLog: true, at: 3_000 });
  agentObject("c", "main", { at: 2_000 });
  const { instances, isCut } = await new InstanceNames().in([folder]);
  expect(instances.map(({ name }) => name)).toEqual(["new one", "main", "user/42"]);
  expect(instances[0]).toMatchObject({ changedAt: 3_000_000, sizeBytes: expect.any(Number) });
  expect(isCut).toBe(false);
});

test("listing changes no byte of any file, makes none, and leaves no copy behind", async () => {
  agentObject("a", "one");
  agentObject("b", "two", { isInLog: true });
  const scratch = mkdtempSync(join(tmpdir(), "everthink-instances-"));
  vi.stubEnv("TMPDIR", scratch);
  const before = everything();
  expect((await new InstanceNames().in([folder])).instances).toHaveLength(2);
  expect([everything(), readdirSync(scratch)]).toEqual([before, []]);
  vi.unstubAllEnvs();
  rmSync(scratch, { recursive: true });
});

test("children, damaged files and objects of other classes are left out, and it is said that there are more", async () => {
  const child = join(folder, `${"d".repeat(64)}.1.sqlite`);
  writeFileSync(child, "not looked at");
  agentObject("a", "main");
  writeFileSync(join(folder, `${"e".repeat(64)}.sqlite`), "no database");
  mkdirSync(join(folder, "metadata"));
  expect(await new InstanceNames().in([folder])).toMatchObject({ instances: [{ name: "main" }], isCut: true });
  expect(await new InstanceNames().in([join(folder, "none")])).toEqual({ instances: [], isCut: false });
});
