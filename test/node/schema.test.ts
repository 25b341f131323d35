// Every schema that was ever released opens, and the work that was in flight in it finishes. A fixture is the text of a
// database as that version wrote it; `UPDATE_FIXTURES=1 npx vitest run --project node test/node/schema.test.ts` writes
// the one of the current version, to be committed with the migration that made it.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Agent, type FiberRecoveryContext } from "../../src/agent-class/index.ts";
import { SCHEMA_VERSION } from "../../src/host/schema.ts";
import type { AgentEvent } from "../../src/observe/index.ts";
import { createTestHost, type TestHost } from "../../src/testing/index.ts";
import { ALL_TABLES, MOVED_TABLES } from "../../src/testing/stored-tables.ts";

const FOLDER = new URL("../fixtures/schema/", import.meta.url);
const START = Date.UTC(2026, 10, 1);
/** Our tables among those of the user and the platform. */
const OURS = ["cf", "assistant", "think"].map((prefix) => `name LIKE '${prefix}\\_%' ESCAPE '\\'`).join(" OR ");
/** Tables that SQLite makes itself for a full-text index. */
const NO_SHADOW = "name NOT LIKE '%\\_fts\\_%' ESCAPE '\\'";
const events: AgentEvent[] = [];
/** While a fixture is made, queue items stay in flight. */
let isHanging = false;

class Keeper extends Agent<object, { note: string }> {
  override initialState = { note: "" };
  override observability = { emit: (event: AgentEvent) => void events.push(event) };

  async begin() {
    this.setState({ note: "kept" });
    await this.schedule(3600, "record", "one-shot");
    await this.schedule("0 12 * * *", "record", "cron");
    await this.scheduleEvery(600, "record", "interval");
    await this.queue("work", "queued");
    await this.startFiber("work", () => new Promise(() => undefined), { idempotencyKey: "work" });
    void this.runFiber("loose", async (fiber) => {
      fiber.stash({ page: 3 });
      await new Promise(() => undefined);
    });
    await (await this.subAgent(Helper, "child")).begin();
  }

  async work(what: string) {
    if (isHanging) await new Promise(() => undefined);
    this.record(what);
  }

  record(what: string) {
    this.sql`CREATE TABLE IF NOT EXISTS done (what TEXT PRIMARY KEY)`;
    this.sql`INSERT OR IGNORE INTO done VALUES (${what})`;
  }

  override onFiberRecovered({ name, snapshot, status }: FiberRecoveryContext) {
    this.record(`${name}:${JSON.stringify(snapshot)}:${status ?? "unmanaged"}`);
  }

  report() {
    const done = this.sql<{ what: string }>`SELECT what FROM done ORDER BY what`.map(({ what }) => what);
    return { state: this.state, done, children: this.listSubAgents().map(({ name }) => name) };
  }

  override onError() {}
}

class Helper extends Agent<object> {
  async begin() {
    await this.schedule(60, "rest");
  }
  rest() {}
}

type Host = TestHost<{ Keeper: DurableObjectNamespace<Keeper> }>;
const open = (seed = 1): Host => {
  events.length = 0;
  return createTestHost({ agents: { Keeper }, exports: [Helper], now: START, seed });
};

function dump(host: Host): string {
  const tables = host.sql<{ name: string; sql: string }>(
    Keeper,
    "k",
    `SELECT name, sql FROM sqlite_master WHERE (${OURS}) AND sql IS NOT NULL AND ${NO_SHADOW} ORDER BY type DESC, name`
  );
  const rows = tables.flatMap(({ name, sql }) => {
    if (!sql.startsWith("CREATE TABLE")) return [];
    return host.sql(Keeper, "k", `SELECT * FROM ${name}`).map((row) => {
      const values = Object.values(row).map(literal).join(", ");
      return `INSERT INTO ${name} (${Object.keys(row).join(", ")}) VALUES (${values})`;
    });
  });
  return [...tables.map(({ sql }) => sql.replaceAll(/\s+/g, " ")), ...rows].join(";\n") + ";\n";
}

function literal(value: unknown): string {
  if (value === null) return "NULL";
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  if (value instanceof Uint8Array) return `X'${Buffer.from(value).toString("hex")}'`;
  return String(value);
}

function load(host: Host, text: string): void {
  for (const statement of text.split(/;\n/)) if (statement.trim()) host.sql(Keeper, "k", statement);
}

/** SQLite puts added columns into the text of a table with spaces of its own. */
const normalized = (sql: string) => sql.replaceAll(/\s*([\s(),])\s*/g, "$1");

/** Of the tables that exist: what made them, with their indexes. */
function schemaOf(host: Host): Record<string, string[]> {
  const query = `SELECT tbl_name AS name, sql FROM sqlite_master WHERE (${OURS}) AND sql IS NOT NULL AND ${NO_SHADOW}`;
  const found = Map.groupBy(host.sql<{ name: string; sql: string }>(Keeper, "k", query), ({ name }) => name);
  return Object.fromEntries([...found].map(([name, rows]) => [name, rows.map(({ sql }) => normalized(sql)).sort()]));
}

/** The same as their owners declare them. */
const DECLARED = Object.fromEntries(ALL_TABLES.map(({ name, create }) => [name, create.map(normalized).sort()]));

/** A table whose rows became items of a kind stays as it was until the kind is used. */
const isDeclared = (table: string) => table !== "cf_meta" && !MOVED_TABLES.some(({ name }) => name === table);

const current = new URL(`v${SCHEMA_VERSION}.sql`, FOLDER);
if (process.env["UPDATE_FIXTURES"]) {
  const host = open();
  isHanging = true;
  void (await host.get(Keeper, "k")).begin();
  await host.idle();
  host.kill();
  isHanging = false;
  writeFileSync(current, dump(host));
}

test("there is a fixture for the current version", () => {
  expect(existsSync(current)).toBe(true);
});

const fixtures = readdirSync(FOLDER).filter((name) => name.endsWith(".sql"));

const REPORT = {
  state: { note: "kept" },
  done: ["cron", "interval", 'loose:{"page":3}:unmanaged', "one-shot", "queued", "work:null:interrupted"],
  children: ["child"]
};

test.each(fixtures)("a database of %s opens and finishes the work that was in flight", async (name) => {
  const host = open();
  load(host, readFileSync(new URL(name, FOLDER), "utf8"));
  const keeper = await host.get(Keeper, "k");
  await host.advance(24 * 3600_000);
  expect(await keeper.report()).toEqual(REPORT);
  expect(host.sql(Keeper, "k", "SELECT version FROM cf_meta")).toEqual([{ version: SCHEMA_VERSION }]);
});

const WORK_IN: Record<string, string[]> = {
  cf_schedules: ["interval", "one-shot"],
  cf_queue: ["queued"],
  cf_work: ["interval", "one-shot", "queued"],
  cf_fibers: ['loose:{"page":3}:unmanaged', "work:null:interrupted"]
};

/** Objects make only the tables that they use: any of them may be missing in a database of any version. */
const absences = fixtures.flatMap((name) => {
  const tables = [...readFileSync(new URL(name, FOLDER), "utf8").matchAll(/^CREATE TABLE (\w+)/gm)];
  const others = tables.map(([, table = ""]) => table).filter((table) => table !== "cf_meta");
  return [...others.map((table) => ({ name, absent: [table] })), { name, absent: others }];
});

test.each(absences)(
  "a database of $name without $absent opens, and its tables become those of today",
  async (given) => {
    // Its ids are others than those in the fixtures.
    const host = open(2);
    load(host, readFileSync(new URL(given.name, FOLDER), "utf8"));
    for (const table of given.absent) host.sql(Keeper, "k", `DROP TABLE ${table}`);
    const keeper = await host.get(Keeper, "k");
    keeper.record("opened");
    await host.advance(3600_000);
    const { done } = await keeper.report();
    // What was in flight in the tables that are there is finished. The next time of "cron" has not come.
    const lost = given.absent.flatMap((table) => WORK_IN[table] ?? []);
    const expected = REPORT.done.filter((what) => what !== "cron" && !lost.includes(what));
    expect(done).toEqual([...expected, "opened"].sort());
    await keeper.begin();
    for (const [table, statements] of Object.entries(schemaOf(host))) {
      if (isDeclared(table)) expect(statements, table).toEqual(DECLARED[table]);
    }
    expect(host.sql(Keeper, "k", "SELECT version FROM cf_meta")).toEqual([{ version: SCHEMA_VERSION }]);
  }
);

test("a new object has one table, and each that it makes is as its owner declares it", async () => {
  const host = open();
  const keeper = await host.get(Keeper, "k");
  expect(Object.keys(schemaOf(host))).toEqual(["cf_meta"]);
  await keeper.begin();
  const { cf_meta: _, ...made } = schemaOf(host);
  expect(Object.keys(made).sort()).toEqual(["cf_children", "cf_fibers", "cf_state", "cf_work"]);
  for (const [table, statements] of Object.entries(made)) expect(statements, table).toEqual(DECLARED[table]);
});

test("every migration of a table raises the version of the schema: older builds refuse what they cannot work with", () => {
  const changed = ALL_TABLES.reduce((sum, table) => sum + (table.migrations?.length ?? 0), 0);
  const migrations = changed + MOVED_TABLES.length;
  // Change both numbers together, and write the fixture of the new version.
  expect({ version: SCHEMA_VERSION, migrations }).toEqual({ version: 8, migrations: 12 });
});

test("a database of a newer version is refused by name and left as it was", async () => {
  const host = open();
  await host.get(Keeper, "k");
  host.sql(Keeper, "k", "UPDATE cf_meta SET version = 999");
  await host.restart();
  await expect(host.get(Keeper, "k")).rejects.toThrow(
    "This object was written by a newer version and cannot be opened."
  );
  expect(host.sql(Keeper, "k", "SELECT version FROM cf_meta")).toEqual([{ version: 999 }]);
});

test("with any single row corrupt, the object boots, says so, and the other work goes on", async () => {
  const broken: [table: string, column: string, fixture?: string][] = [
    ["cf_state", "json"],
    // Where they were rows of tables of their own.
    ["cf_schedules", "payload", "v7.sql"],
    ["cf_schedules", "type", "v7.sql"],
    ["cf_queue", "payload", "v7.sql"],
    ["cf_work", "payload"],
    ["cf_fibers", "snapshot"],
    ["cf_meta", "identity"]
  ];
  for (const [table, column, fixture] of broken) {
    const host = open();
    load(host, readFileSync(fixture === undefined ? current : new URL(fixture, FOLDER), "utf8"));
    host.sql(Keeper, "k", `UPDATE ${table} SET ${column} = '{"' WHERE rowid = (SELECT MIN(rowid) FROM ${table})`);
    const keeper = await host.get(Keeper, "k");
    await host.advance(24 * 3600_000);
    const { done } = await keeper.report();
    // At most the one piece of work in that row is missing.
    expect(done.length, `${table}.${column}`).toBeGreaterThanOrEqual(5);
    expect(host.alarm(Keeper, "k"), `${table}.${column}`).not.toBeNull();
  }
});

test("every table is declared by one owner, which says what bounds it and what deletes from it", () => {
  const names = ALL_TABLES.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const folder = new URL("../../src/", import.meta.url);
  const declared: string[] = [];
  for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts") || file.includes("test")) continue;
    const text = readFileSync(new URL(file, folder), "utf8");
    for (const { 0: start, 1: name = "", index } of text.matchAll(/ {2}\{\n {4}name: "(\w+)",\n {4}create: \[/g)) {
      declared.push(name);
      const before = text.slice(0, index).trimEnd().split("\n").at(-1) ?? "";
      expect(before.trim(), `${file}: ${start}`).toMatch(/^\/\/ /);
    }
  }
  expect(declared.sort()).toEqual(names.sort());
});
