// Which agents wait, found in files that a server has open: none is started, no byte is changed, and what has not changed is
// not read again.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, test, vi } from "vitest";
import { CHILDREN_TABLES } from "../../agent/tree/children.ts";
import { WORK_TABLES } from "../../work/work-table.ts";
import { developedAgents, LocalAgents } from "./waiting-agents.ts";

let folder: string;
let open: DatabaseSync[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "everthink-waiting-"));
  open = [];
  return () => {
    vi.restoreAllMocks();
    for (const database of open) database.close();
    rmSync(folder, { recursive: true, force: true });
  };
});

interface Stored {
  readonly name: string;
  readonly parentPath?: readonly { readonly className: string; readonly name: string }[];
  /** When each of its questions was asked. */
  readonly asked?: readonly number[];
  readonly children?: readonly { readonly className: string; readonly name: string }[];
  /** All that it wrote is still in its log, and it is in use. */
  readonly isInUse?: boolean;
  readonly isCondemned?: boolean;
}

/** An object's file as workerd keeps it. `id` is that of its root, with a number behind it for a child. */
function store(id: string, object: Stored): DatabaseSync {
  const [root = "", number] = id.split(".");
  const database = new DatabaseSync(join(folder, `${root.padEnd(64, "0")}${number ? `.${number}` : ""}.sqlite`));
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE cf_meta (id INTEGER, identity TEXT, condemned INTEGER)");
  for (const { create } of [...WORK_TABLES, ...CHILDREN_TABLES]) for (const sql of create) database.exec(sql);
  const identity = JSON.stringify({ name: object.name, parentPath: object.parentPath ?? [] });
  database.prepare("INSERT INTO cf_meta VALUES (1, ?, ?)").run(identity, object.isCondemned ? 1 : 0);
  for (const { className, name } of object.children ?? []) {
    database.prepare("INSERT INTO cf_children (class_name, name, created_at) VALUES (?, ?, 0)").run(className, name);
  }
  for (const at of object.asked ?? []) ask(database, at);
  if (object.isInUse) open.push(database);
  else database.close();
  return database;
}

function ask(database: DatabaseSync, at: number): void {
  database
    .prepare(
      `INSERT INTO cf_work (kind, key, payload, created_at)
       VALUES ('paused-action', ?, '{"state":"parked"}', ?)`
    )
    .run(`actpause_${at}`, at);
}

const agents = () => new LocalAgents([{ agent: "assistant", folders: () => [folder] }]);

test("agents that wait are listed by address, the longest wait first, and those that do not wait are left out", async () => {
  store("a", { name: "idle" });
  store("b", { name: "user/42", asked: [3_000, 2_000] });
  store("c", { name: "main", asked: [1_000] });
  store("d", { name: "gone", asked: [500], isCondemned: true });
  const { agents: listed, unread } = await agents().waiting();
  expect(listed.map(({ at, waiting }) => [at, waiting.map(({ askedAt }) => askedAt)])).toEqual([
    ["assistant/main", [1_000]],
    ["assistant/user%2F42", [2_000, 3_000]]
  ]);
  expect(unread).toBe(0);
});

test("a sub-agent is listed below its parents, by the class that its parent knows", async () => {
  const root = { className: "Assistant", name: "main" };
  const team = { className: "TeamLead", name: "a b" };
  store("a", { name: "main", children: [team, { className: "Reader", name: "x" }] });
  store("a.1", { name: "a b", parentPath: [root], children: [{ className: "Critic", name: "x" }] });
  store("a.2", { name: "x", parentPath: [root, team], asked: [1] });
  store("a.3", { name: "x", parentPath: [root], asked: [2] });
  // Its parent has removed it.
  store("a.4", { name: "removed", parentPath: [root], asked: [3] });
  const { agents: listed } = await agents().waiting();
  expect(listed.map(({ at }) => at)).toEqual([
    "assistant/main/sub/team-lead/a%20b/sub/critic/x",
    "assistant/main/sub/reader/x"
  ]);
});

test("a question of an object in use is found in its log, and so is that it was decided", async () => {
  const database = store("a", { name: "main", isInUse: true });
  const local = agents();
  expect((await local.waiting()).agents).toEqual([]);
  ask(database, 5);
  expect((await local.waiting()).agents).toMatchObject([{ at: "assistant/main", waiting: [{ id: "actpause_5" }] }]);
  database.exec("UPDATE cf_work SET settled_at = 1");
  expect((await local.waiting()).agents).toEqual([]);
});

function everything(): Record<string, string> {
  const hash = (name: string) =>
    createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex");
  return Object.fromEntries(readdirSync(folder).map((name) => [name, hash(name)]));
}

test("listing changes no byte of any file, makes none, and leaves no copy behind", async () => {
  store("a", { name: "one", asked: [1] });
  store("b", { name: "two", asked: [2], isInUse: true });
  const scratch = mkdtempSync(join(tmpdir(), "everthink-waiting-"));
  vi.stubEnv("TMPDIR", scratch);
  const before = everything();
  expect((await agents().waiting()).agents).toHaveLength(2);
  expect([everything(), readdirSync(scratch)]).toEqual([before, []]);
  vi.unstubAllEnvs();
  rmSync(scratch, { recursive: true });
});

/** Databases that are opened. */
function watchReads() {
  const sqlite = process.getBuiltinModule("node:sqlite");
  const reads = { count: 0 };
  vi.spyOn(process, "getBuiltinModule").mockImplementation((() => {
    reads.count += 1;
    return sqlite;
  }) as typeof process.getBuiltinModule);
  return reads;
}

test("an object that has not changed is not read again, and one that has is", async () => {
  for (const id of ["a", "b", "c"]) store(id, { name: id, asked: [1] });
  const local = agents();
  const reads = watchReads();
  await local.waiting();
  expect(reads.count).toBe(3);
  await local.waiting();
  expect(reads.count).toBe(3);
  store("d", { name: "d" });
  expect((await local.waiting()).agents).toHaveLength(3);
  expect(reads.count).toBe(4);
});

test("of more than 2,000 objects the rest is read for the next list, and it is said that there are more", async () => {
  store("f", { name: "f" });
  const name = (index: number) => join(folder, `${index.toString(16).padStart(64, "0")}.sqlite`);
  const [made = ""] = readdirSync(folder);
  for (let index = 0; index < 2_100; index += 1) copyFileSync(join(folder, made), name(index));
  const local = agents();
  const reads = watchReads();
  expect((await local.waiting()).unread).toBe(101);
  expect(reads.count).toBe(2_000);
  expect((await local.waiting()).unread).toBe(0);
  expect(reads.count).toBe(2_101);
});

test("damaged files, files of other programs and folders that do not exist wait for nothing", async () => {
  writeFileSync(join(folder, `${"e".repeat(64)}.sqlite`), "no database");
  mkdirSync(join(folder, "metadata"));
  const local = new LocalAgents([{ agent: "assistant", folders: () => [folder, join(folder, "none")] }]);
  expect(await local.waiting()).toEqual({ agents: [], unread: 0 });
});

test("the objects of a project under development are those of its agents' classes", async () => {
  const root = mkdtempSync(join(tmpdir(), "everthink-project-"));
  const objects = join(root, ".wrangler/state/v3/do");
  mkdirSync(join(objects, "my-app-Assistant"), { recursive: true });
  mkdirSync(join(objects, "my-app-Other"), { recursive: true });
  store("a", { name: "main", asked: [1] });
  const [file = ""] = readdirSync(folder);
  for (const of of ["Assistant", "Other"]) copyFileSync(join(folder, file), join(objects, `my-app-${of}`, file));
  const listed = await developedAgents(root, [{ id: "helper", className: "Assistant" }]).waiting();
  expect(listed.agents.map(({ at }) => at)).toEqual(["helper/main"]);
  rmSync(root, { recursive: true });
});
