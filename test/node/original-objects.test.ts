// Objects in the two layouts of the original (as its packages leave them) are refused before anything is written.
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { Agent } from "../../src/agent/index.ts";
import { OriginalObjectError } from "../../src/host/original-object.ts";
import { openSchema, tablesOf } from "../../src/host/schema.ts";
import { Think } from "../../src/index.ts";
import { MemorySql } from "../../src/journal/memory-sql.test-support.ts";
import { createTestHost } from "../../src/testing/index.ts";

class Plain extends Agent {}
class Chat extends Think {}

/** Names and a row each are what tells them; the columns are those that matter least. */
const LAYOUTS = {
  "an agent": ["cf_agents_state", "cf_agents_schedules", "cf_agents_queues"],
  "a newer agent": ["cf_agents_state", "cf_agents_jobs", "cf_agents_task_runs"],
  "a chat agent": ["cf_agents_state", "cf_ai_chat_agent_messages", "cf_ai_chat_stream_chunks"],
  "a Think": ["assistant_messages", "think_config", "cf_agents_context_blocks", "cf_think_action_ledger"],
  "a newer Think": ["cf_agents_session_messages", "think_config", "vfs_files", "cf_think_submissions"],
  "a Think without a configuration": ["assistant_messages", "cf_agents_state", "cf_agent_tool_runs"]
};

const cases = Object.entries(LAYOUTS).flatMap(([kind, tables]) =>
  [Plain, Chat].map((agent) => ({ kind, tables, agent, as: agent.name }))
);

test.each(cases)("$kind is refused by name as $as, and left as it was", async ({ tables, agent }) => {
  const host = createTestHost({ agents: { Plain, Chat } });
  for (const table of [...tables, "my_table"]) {
    host.sql(agent, "a", `CREATE TABLE ${table} (id TEXT)`);
    host.sql(agent, "a", `INSERT INTO ${table} VALUES ('kept')`);
  }
  const contents = () => [
    ...host.sql(agent, "a", "SELECT name, sql FROM sqlite_master ORDER BY name"),
    ...tables.flatMap((table) => host.sql(agent, "a", `SELECT * FROM ${table}`))
  ];
  const before = contents();
  const found = tables.filter((name) => /^(cf_agents_(?!context)|cf_agent_|cf_ai|cf_think|think)/.test(name));
  const words = new OriginalObjectError(found.map((name) => `${name} (1 row)`)).message;
  for (let visit = 0; visit < 2; visit++) await expect(host.get(agent, "a")).rejects.toThrow(words);
  expect(contents()).toEqual(before);
  expect(host.alarm(agent, "a")).toBeNull();
});

test("what was found is counted up to ten thousand rows", () => {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  sql.run("CREATE TABLE cf_agents_state (id INTEGER)");
  sql.run(`INSERT INTO cf_agents_state SELECT value FROM json_each(?)`, JSON.stringify(Array(12_000).fill(1)));
  sql.run("CREATE TABLE cf_agents_queues (id INTEGER)");
  expect(() => openSchema(sql)).toThrow("It holds cf_agents_state (10000 rows or more).");
});

test("an empty one is told by its tables", () => {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  sql.run("CREATE TABLE cf_agents_state (id INTEGER)");
  expect(() => openSchema(sql)).toThrow("It holds cf_agents_state (0 rows).");
});

test("tables of the user, and of an object that is ours, are no reason to refuse", () => {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  sql.run("CREATE TABLE agents_of_mine (id INTEGER)");
  openSchema(sql);
  sql.run("CREATE TABLE cf_agents_state (id INTEGER)");
  openSchema(sql);
  expect(tablesOf(sql)).toContain("cf_meta");
});
