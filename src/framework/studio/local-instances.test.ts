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

interface Said {
  readonly at: string;
  readonly role: "user" | "assistant";
  readonly text: string;
}

/** As workerd keeps it: open, in WAL mode. */
function agentObject(
  id: string,
  name: string,
  { isInLog = false, at = 1_000, said = [] as readonly Said[] } = {}
): string {
  const file = join(folder, `${id.padEnd(64, "0")}.sqlite`);
  const database = new DatabaseSync(file);
  open.push(database);
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE cf_meta (id INTEGER, identity TEXT)");
  const insert = database.prepare("INSERT INTO cf_meta VALUES (1, ?)");
  insert.run(JSON.stringify({ name, parentPath: [] }));
  if (said.length > 0) say(database, said);
  if (!isInLog) database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  for (const part of [file, `${file}-wal`]) utimesSync(part, at, at);
  return file;
}

function say(database: DatabaseSync, said: readonly Said[]): void {
  database.exec(`CREATE TABLE cf_conversations (id TEXT PRIMARY KEY, leaf TEXT);
    CREATE TABLE assistant_messages (session_id TEXT, id TEXT, role TEXT, sequence INTEGER, created_at TEXT, content TEXT)`);
  const insert = database.prepare("INSERT INTO assistant_messages VALUES ('', ?, ?, ?, ?, ?)");
  for (const [index, { at, role, text }] of said.entries()) {
    const parts = [{ type: "step-start" }, { type: "text", text }];
    insert.run(`m${index}`, role, index, at, JSON.stringify({ id: `m${index}`, role, parts }));
  }
  database.prepare("INSERT INTO cf_conversations VALUES ('', ?)").run(`m${said.length - 1}`);
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

test("the one that was spoken in last comes first, whichever file was written to last, with its first question and last words", async () => {
  const talk = (at: string): Said[] => [
    { at: "2026-11-01T10:00:00.000Z", role: "user", text: `How  long is it\nto ${at}?` },
    { at, role: "assistant", text: "An hour. ".repeat(100) }
  ];
  agentObject("a", "quiet", { at: 9_000 });
  agentObject("b", "older", { at: 8_000, said: talk("2026-11-02T10:00:00.000Z") });
  agentObject("c", "newer", { at: 1_000, said: talk("2026-11-03T10:00:00.000Z"), isInLog: true });
  const names = new InstanceNames();
  const { instances } = await names.in([folder]);
  expect(instances.map(({ name }) => name)).toEqual(["newer", "older", "quiet"]);
  expect(instances[0]).toMatchObject({
    spokenAt: Date.UTC(2026, 10, 3, 10),
    title: "How long is it to 2026-11-03T10:00:00.000Z?",
    words: expect.stringMatching(/^An hour\. .{100,151}$/)
  });
  expect(instances[2]).toMatchObject({ spokenAt: null, title: null, words: null });
});

test("what was said since is read when the file has changed, and a message that cannot be read takes nothing else away", async () => {
  const file = agentObject("a", "main", { said: [{ at: "2026-11-01T10:00:00.000Z", role: "user", text: "One" }] });
  const names = new InstanceNames();
  expect((await names.in([folder])).instances[0]).toMatchObject({ words: "One", title: "One" });
  const database = open[0]!;
  database.exec("UPDATE assistant_messages SET content = '{not json', created_at = '2026-11-05T10:00:00.000Z'");
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  utimesSync(file, 5_000, 5_000);
  const [later] = (await names.in([folder])).instances;
  expect(later).toMatchObject({ name: "main", spokenAt: Date.UTC(2026, 10, 5, 10), title: null, words: null });
});
