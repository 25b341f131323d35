import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { MemorySql } from "../../src/journal/memory-sql.test-support.ts";
import { createTestHost, reply, scriptedModel, text } from "../../src/testing/index.ts";
import { openSchema, tablesOf } from "../../src/host/migrations/schema.ts";
import { TABLES } from "../../src/host/migrations/tables.ts";
import type { Sql } from "../../src/host/ports.ts";
import { Tables } from "../../src/host/tables.ts";
import { Think } from "../../src/index.ts";

function open() {
  const storage = new MemorySql(new DatabaseSync(":memory:"));
  openSchema(storage);
  const tables = new Tables(storage);
  return { storage, rooms: tables.lenient, users: tables.exact };
}

const made = (storage: Sql) => [...tablesOf(storage)].filter((name) => name !== "cf_meta");
const insertState = (sql: Sql, json = "1") => sql.run("INSERT INTO cf_state (id, json) VALUES (1, ?)", json);

test("a new object has one table; the others come when something is written to them", () => {
  const { storage, rooms } = open();
  expect([...tablesOf(storage)]).toEqual(["cf_meta"]);
  insertState(rooms);
  expect(made(storage)).toEqual(["cf_state"]);
  expect(rooms.one("SELECT json FROM cf_state")).toEqual({ json: "1" });
});

test("a table comes with its indexes", () => {
  const { storage, rooms } = open();
  rooms.run("INSERT INTO cf_wakes (path, at) VALUES ('p', 1)");
  rooms.run("INSERT INTO cf_blob_owners (owner, hash) VALUES ('o', 'h')");
  const indexes = storage.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'index' AND sql NOT NULL");
  expect(indexes.map(({ name }) => name)).toEqual(["cf_blob_owners_hash"]);
});

describe("a table that is not there", () => {
  test.each([
    ["SELECT * FROM cf_queue"],
    ["SELECT MIN(not_before) AS at FROM cf_queue"],
    ["UPDATE cf_queue SET attempts = 1"],
    ["DELETE FROM cf_queue WHERE id = 'a'"],
    ["UPDATE cf_queue SET attempts = 1 RETURNING id"]
  ])("has nothing for a room, and stays away: %s", (query) => {
    const { storage, rooms } = open();
    expect(rooms.all(query)).toEqual([]);
    expect(rooms.one(query)).toBeUndefined();
    expect(rooms.run(query).changed).toBe(0);
    expect(made(storage)).toEqual([]);
  });

  test("is made for a statement that also names one that is there", () => {
    const { rooms } = open();
    insertState(rooms);
    const query = "SELECT json FROM cf_state LEFT JOIN cf_children ON class_name = json";
    expect(rooms.all(query)).toEqual([{ json: "1" }]);
  });

  test("is an empty table for users", () => {
    const { users } = open();
    expect(users.all("SELECT COUNT(*) AS count FROM assistant_messages")).toEqual([{ count: 0 }]);
  });
});

describe("a transaction that is undone", () => {
  test("takes the tables that were made in it, and they are made again", () => {
    const { storage, rooms } = open();
    const undone = () =>
      rooms.transaction(() => {
        insertState(rooms);
        throw new Error("undone");
      });
    expect(undone).toThrow("undone");
    expect(made(storage)).toEqual([]);
    expect(rooms.all("SELECT * FROM cf_state")).toEqual([]);
    insertState(rooms, "2");
    expect(rooms.one("SELECT json FROM cf_state")).toEqual({ json: "2" });
  });

  test("may be one that nobody here knows of", () => {
    const { storage, rooms } = open();
    const undone = () =>
      storage.transaction(() => {
        insertState(rooms);
        throw new Error("undone");
      });
    expect(undone).toThrow("undone");
    expect(rooms.all("SELECT * FROM cf_state")).toEqual([]);
    expect(undone).toThrow("undone");
    insertState(rooms, "2");
    expect(rooms.one("SELECT json FROM cf_state")).toEqual({ json: "2" });
  });
});

test("what is not ours passes as it is", () => {
  const { rooms } = open();
  rooms.run("CREATE TABLE cf_notes_of_mine (text TEXT)");
  rooms.run("INSERT INTO cf_notes_of_mine VALUES ('a')");
  expect(rooms.all("SELECT text FROM cf_notes_of_mine")).toEqual([{ text: "a" }]);
  expect(() => rooms.all("SELECT * FROM nowhere")).toThrow("no such table");
});

test("an object that was there before, or begins on another program's tables, has them all", () => {
  const storage = new MemorySql(new DatabaseSync(":memory:"));
  storage.run("CREATE TABLE left_by_another (id TEXT)");
  openSchema(storage);
  const tables = tablesOf(storage);
  expect([...TABLES.keys()].filter((table) => !tables.has(table))).toEqual([]);
});

describe("a conversation", () => {
  class Chat extends Think {
    override getModel() {
      return scriptedModel([reply(text("one"))]);
    }
  }
  const open = async () => {
    const host = createTestHost({ agents: { Chat } });
    return { host, chat: await host.get(Chat, "a") };
  };
  const tables = (host: Awaited<ReturnType<typeof open>>["host"]) =>
    host
      .sql<{ name: string }>(Chat, "a", "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
      .map(({ name }) => name)
      .filter((name) => !name.startsWith("_"));

  test("that uses nothing else has five tables after its first answer", async () => {
    const { host, chat } = await open();
    await chat.saveMessages([{ id: "u1", role: "user", parts: [{ type: "text", text: "Hi" }] }]);
    await host.idle();
    expect(tables(host)).toEqual(["assistant_messages", "cf_conversations", "cf_journal", "cf_meta", "cf_turns"]);
  });

  test("shows a test empty tables where there are none yet, and is as it was", async () => {
    const { host } = await open();
    const before = tables(host);
    expect(host.sql(Chat, "a", "SELECT COUNT(*) AS count FROM cf_schedules")).toEqual([{ count: 0 }]);
    expect(tables(host)).toEqual(before);
    host.sql(Chat, "a", "INSERT INTO cf_state (id, json) VALUES (1, '7')");
    expect(host.sql(Chat, "a", "SELECT json FROM cf_state")).toEqual([{ json: "7" }]);
  });
});
