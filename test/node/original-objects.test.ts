// Which objects are the original's, and what is refused where no part carries it. Taking them over: takeover.test.ts.
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { Agent } from "../../src/agent-class/index.ts";
import { openSchema, tablesOf } from "../../src/host/schema.ts";
import { MemorySql } from "../../src/journal/memory-sql.test-support.ts";
import { createTestHost } from "../../src/testing/index.ts";
import { load, openHost } from "../takeover/kit.ts";

class Plain extends Agent {}

const THINK_TABLES = ["think_config", "cf_think_submissions", "cf_agents_session_messages", "assistant_messages"];

test.each(THINK_TABLES)("a plain agent refuses an object with rows in %s, and leaves it as it was", async (table) => {
  const host = createTestHost({ agents: { Plain } });
  for (const name of ["cf_agents_state", table, "my_table"])
    host.sql(Plain, "a", `CREATE TABLE ${name} (id TEXT, state)`);
  host.sql(Plain, "a", `INSERT INTO ${table} VALUES ('kept', 1)`);
  const tables = () => host.sql(Plain, "a", "SELECT name, sql FROM sqlite_master ORDER BY name");
  const before = tables();
  for (let visit = 0; visit < 2; visit++) {
    await expect(host.get(Plain, "a")).rejects.toThrow(`cannot be taken over: ${table} (1 row).`);
  }
  expect(tables()).toEqual(before);
  expect(host.alarm(Plain, "a")).toBeNull();
});

test("messages of the chat package, which has no counterpart, are refused by name", async () => {
  const host = openHost();
  load(host, "layout-a", "Assistant.cut");
  const { Assistant } = await import("../takeover/kit.ts");
  host.sql(Assistant, "cut", "CREATE TABLE cf_ai_chat_agent_messages (id TEXT)");
  host.sql(Assistant, "cut", "INSERT INTO cf_ai_chat_agent_messages VALUES ('m')");
  await expect(host.get(Assistant, "cut")).rejects.toThrow("cf_ai_chat_agent_messages (1 row)");
});

test("an object with empty tables of the original is taken over", () => {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  sql.run("CREATE TABLE cf_agents_state (id TEXT, state TEXT)");
  expect(openSchema(sql).takenOver).toMatchObject({ kinds: [], lost: [] });
  expect(() => sql.all("SELECT * FROM cf_agents_state")).toThrow("taken over by everthink");
});

test("tables of the user, and of an object that is ours, are no reason to take over or refuse", () => {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  sql.run("CREATE TABLE agents_of_mine (id INTEGER)");
  expect(openSchema(sql).takenOver).toBeUndefined();
  sql.run("CREATE TABLE cf_agents_state (id INTEGER)");
  expect(openSchema(sql).takenOver).toBeUndefined();
  expect(tablesOf(sql)).toContain("cf_meta");
});
