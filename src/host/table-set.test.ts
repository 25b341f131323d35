import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { memoryStorage } from "./memory-storage.test-support.ts";
import type { Sql } from "./ports.ts";
import { openSchema, tablesOf } from "./schema.ts";
import { openSql } from "./sql.ts";
import { TableSet, type TableDefinition } from "./table-set.ts";

const NOTES: readonly TableDefinition[] = [
  { name: "cf_notes", create: ["CREATE TABLE cf_notes (id INTEGER PRIMARY KEY, text TEXT)"] },
  {
    name: "cf_tags",
    create: ["CREATE TABLE cf_tags (note INTEGER, tag TEXT)", "CREATE INDEX cf_tags_note ON cf_tags (note)"]
  }
];
/** What a next release makes of them. */
const NEXT_NOTES: readonly TableDefinition[] = [
  {
    name: "cf_notes",
    create: ["CREATE TABLE cf_notes (id INTEGER PRIMARY KEY, text TEXT, at INTEGER)"],
    migrations: [(sql) => void sql.run("ALTER TABLE cf_notes ADD COLUMN at INTEGER")]
  },
  ...NOTES.slice(1)
];

function open(database = new DatabaseSync(":memory:"), tables = NOTES) {
  const storage = memoryStorage(database);
  const sql = openSql(storage);
  openSchema(sql);
  return { database, storage, sql, notes: new TableSet(sql, tables) };
}

const made = (sql: Sql) => [...tablesOf(sql)].filter((name) => name !== "cf_meta");
const failing = (work: () => void) => () => {
  work();
  throw new Error("undone");
};

describe("tables that are not made yet", () => {
  test("have nothing to read, change or delete, and stay away", () => {
    const { sql, notes } = open();
    expect(notes.exists).toBe(false);
    expect(notes.all("SELECT * FROM cf_notes")).toEqual([]);
    expect(notes.one<{ count: number }>("SELECT COUNT(*) AS count FROM cf_notes")?.count ?? 0).toBe(0);
    expect(notes.change("UPDATE cf_notes SET text = 'b'").changed).toBe(0);
    expect(notes.change("DELETE FROM cf_notes").changed).toBe(0);
    expect(made(sql)).toEqual([]);
  });

  test.each([
    "INSERT INTO cf_notes VALUES (1, 'a')",
    "WITH given AS (SELECT 1, 'a') INSERT INTO cf_notes SELECT * FROM given",
    "-- why it is kept\nINSERT INTO cf_notes VALUES (1, 'a')",
    "/* why */ REPLACE INTO cf_notes VALUES (1, 'a')"
  ])("are made, with their indexes, by a statement that may add rows: %s", (query) => {
    const { sql, notes } = open();
    expect(notes.run(query).changed).toBe(1);
    expect(notes.all("SELECT text FROM cf_notes")).toEqual([{ text: "a" }]);
    expect(made(sql)).toEqual(["cf_notes", "cf_tags"]);
    expect(sql.one("SELECT name FROM sqlite_master WHERE type = 'index'")).toEqual({ name: "cf_tags_note" });
  });

  test("are not made by a text that contains their name", () => {
    const { sql } = open();
    sql.run("CREATE TABLE mine (text TEXT)");
    sql.run("INSERT INTO mine VALUES ('cf_notes'), ('INSERT INTO cf_tags')");
    expect(sql.all("SELECT text FROM mine WHERE text = 'cf_notes'")).toHaveLength(1);
    expect(made(sql)).toEqual(["mine"]);
  });
});

describe("a transaction that is undone takes the tables with it that were made in it, and they are made again", () => {
  test.each([
    ["one of ours", ({ sql }: ReturnType<typeof open>, work: () => void) => sql.transaction(work)],
    ["one of user code", ({ storage }: ReturnType<typeof open>, work: () => void) => storage.transactionSync(work)],
    [
      "one inside of another that goes on",
      ({ sql, storage }: ReturnType<typeof open>, work: () => void) => {
        let thrown: unknown;
        storage.transactionSync(() => {
          try {
            sql.transaction(work);
          } catch (error) {
            thrown = error;
          }
        });
        throw thrown;
      }
    ]
  ])("%s", (_whose, undo) => {
    const opened = open();
    const { sql, notes } = opened;
    for (let round = 0; round < 2; round++) {
      const write = failing(() => notes.run("INSERT INTO cf_notes VALUES (1, 'lost')"));
      expect(() => undo(opened, write)).toThrow("undone");
      expect(made(sql)).toEqual([]);
      expect(notes.all("SELECT * FROM cf_notes")).toEqual([]);
    }
    notes.run("INSERT INTO cf_notes VALUES (1, 'kept')");
    expect(notes.one("SELECT text FROM cf_notes")).toEqual({ text: "kept" });
  });

  test("one of user code that awaits, by a throw or by rollback()", async () => {
    const { storage, sql, notes } = open();
    const write = () => void notes.run("INSERT INTO cf_notes VALUES (1, 'lost')");
    await expect(
      storage.transaction(async () => {
        await Promise.resolve();
        failing(write)();
      })
    ).rejects.toThrow("undone");
    expect(notes.all("SELECT * FROM cf_notes")).toEqual([]);
    await storage.transaction(async (transaction) => {
      write();
      await Promise.resolve();
      transaction.rollback();
    });
    expect([made(sql), notes.exists]).toEqual([[], false]);
    await storage.transaction(async () => write());
    expect(notes.all("SELECT text FROM cf_notes")).toEqual([{ text: "lost" }]);
  });
});

describe("a plain ALTER TABLE in the next release", () => {
  test("changes the table where it exists, once", () => {
    const { database, notes } = open();
    notes.run("INSERT INTO cf_notes VALUES (1, 'old')");
    for (let start = 0; start < 3; start++) {
      const next = open(database, NEXT_NOTES);
      next.notes.change("UPDATE cf_notes SET at = COALESCE(at, 0) + 1");
      expect(next.notes.one("SELECT text, at FROM cf_notes")).toEqual({ text: "old", at: start + 1 });
    }
  });

  test("does no harm where the table was never made, now or when it is made later", () => {
    const { database } = open();
    const next = open(database, NEXT_NOTES);
    expect(next.notes.all("SELECT at FROM cf_notes")).toEqual([]);
    next.notes.run("INSERT INTO cf_notes VALUES (1, 'new', 5)");
    const later = open(database, NEXT_NOTES);
    expect(later.notes.one("SELECT text, at FROM cf_notes")).toEqual({ text: "new", at: 5 });
  });

  test("runs again if it was undone with the transaction around it", () => {
    const { database, notes } = open();
    notes.run("INSERT INTO cf_notes VALUES (1, 'old')");
    const next = open(database, NEXT_NOTES);
    const use = failing(() => next.notes.change("UPDATE cf_notes SET at = 1"));
    expect(() => next.storage.transactionSync(use)).toThrow("undone");
    expect(next.notes.one("SELECT at FROM cf_notes")).toEqual({ at: null });
  });
});

test("a set of which only some tables exist gets the others", () => {
  const { database, sql } = open();
  sql.run("CREATE TABLE cf_notes (id INTEGER PRIMARY KEY, text TEXT)");
  sql.run("INSERT INTO cf_notes VALUES (1, 'a')");
  const { notes } = open(database);
  expect(notes.all("SELECT text FROM cf_notes LEFT JOIN cf_tags ON note = id")).toEqual([{ text: "a" }]);
});
