// Rows and tables of the original that are in no known form: refused in words with the object left as it was, and where the
// class gives their kind up, left out whole. What is carried: takeover.test.ts.
import { afterEach, describe, expect, test } from "vitest";
import type { TestHost } from "../../src/testing/index.ts";
import { Assistant, call, Counter, LAYOUTS, load, openHost, type Layout } from "../takeover/kit.ts";

interface Report {
  kinds: { kind: string; found: number; carried: number; left: number }[];
  lost: { kind: string; what: string; rows: number }[];
}

function opened(layout: Layout, file: string, ...statements: string[]): TestHost {
  const host = openHost();
  load(host, layout, file);
  const [, name = ""] = file.split(".");
  for (const statement of statements) host.sql(Assistant, name, statement);
  return host;
}

const report = (host: TestHost, name: string) => call<Report>(host, ["assistant", name, "getTakeoverReport"]);
const rows = (host: TestHost, table: string) => host.sql(Assistant, "full", `SELECT * FROM ${table}`);

function tables(host: TestHost): unknown {
  return host.sql(Assistant, "full", "SELECT name, sql FROM sqlite_master ORDER BY name");
}

afterEach(() => void delete Assistant.options);

const SUBMISSION = "UPDATE cf_think_submissions SET status = 'paused' WHERE status = 'pending'";
const RUN = `INSERT INTO cf_agent_tool_runs (run_id, agent_type, status, display_order, started_at)
  VALUES ('odd', 'Researcher', 'paused', 0, 1)`;
const SERVER = `INSERT INTO cf_agents_mcp_servers (id, name, server_url, callback_url) VALUES ('own', 'own', 'rpc:own', '')`;
const UNREADABLE = "UPDATE cf_think_action_pending_approvals SET input_json = '{'";

describe.each(LAYOUTS)("a kind that the class gives up, in %s", (layout) => {
  test.each([
    ["submissions", SUBMISSION, "submissions with an unknown status", "SELECT 1 FROM cf_submissions LIMIT -1 OFFSET 2"],
    [
      "agent-tool-runs",
      RUN,
      "runs of agent tools with an unknown status",
      "SELECT 1 FROM cf_child_runs WHERE run_id = 'odd'"
    ],
    ["mcp-servers", SERVER, 'MCP server "own" at rpc:own', "SELECT 1 FROM cf_mcp_servers WHERE id = 'own'"],
    [
      "approvals",
      UNREADABLE,
      "approvals whose input cannot be read",
      "SELECT 1 FROM cf_work WHERE kind = 'paused-action'"
    ]
  ])(
    "%s: what cannot be carried is refused, and never carried as something else",
    async (kind, change, what, found) => {
      const host = opened(layout, "Assistant.full", change);
      const before = tables(host);
      await expect(host.get(Assistant, "full")).rejects.toThrow(what);
      expect(tables(host)).toEqual(before);
      Assistant.options = { allowLossyTakeover: [kind] };
      const { lost, kinds } = await report(host, "full");
      expect(lost).toEqual([{ kind, what: expect.stringContaining(what), rows: 1 }]);
      expect(kinds.find((one) => one.kind === kind)?.left).toBe(1);
      expect(host.sql(Assistant, "full", found)).toEqual([]);
    }
  );

  test("its tables stay, and the original still refuses the object", async () => {
    const host = opened(layout, "Assistant.full", SUBMISSION);
    Assistant.options = { allowLossyTakeover: ["submissions"] };
    await report(host, "full");
    expect(rows(host, "cf_think_submissions")).toHaveLength(3);
    expect(() => rows(host, "cf_agents_state")).toThrow("taken over by everthink");
  });

  test("settings of an older version, which had a table of its own for them, are carried; those of a session are refused", async () => {
    const older = [
      "CREATE TABLE IF NOT EXISTS assistant_config (session_id TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL)",
      "INSERT INTO assistant_config (session_id, key, value) SELECT '', key, value FROM think_config",
      "DROP TABLE think_config"
    ];
    const host = opened(layout, "Assistant.full", ...older);
    expect((await report(host, "full")).kinds.find(({ kind }) => kind === "config")).toMatchObject({
      found: 1,
      carried: 1
    });
    expect(rows(host, "think_config")).toHaveLength(1);
    const session = "INSERT INTO assistant_config (session_id, key, value) VALUES ('s', '_think_config', '{}')";
    await expect(opened(layout, "Assistant.full", ...older, session).get(Assistant, "full")).rejects.toThrow(
      "settings of sessions (1 row)"
    );
  });

  test("a column that is missing is refused in words, and the object stays the original's", async () => {
    const host = opened(
      layout,
      "Assistant.full",
      "ALTER TABLE cf_think_submissions RENAME COLUMN messages_json TO body"
    );
    const before = tables(host);
    await expect(host.get(Assistant, "full")).rejects.toThrow(
      /submissions in a form that is not known \(.*no such column: messages_json.*\) \(3 rows\)/
    );
    expect(tables(host)).toEqual(before);
  });

  test("a form that only carrying finds is refused as a whole, or given up as a whole", async () => {
    const host = opened(
      layout,
      "Assistant.full",
      "ALTER TABLE cf_agents_sub_agents RENAME COLUMN created_at TO made_at"
    );
    const before = tables(host);
    await expect(host.get(Assistant, "full")).rejects.toThrow(
      /children in a form that is not known \(.*no such column: created_at.*\) \(2 rows\)/
    );
    expect(tables(host)).toEqual(before);
    Assistant.options = { allowLossyTakeover: ["children"] };
    const { lost, kinds } = await report(host, "full");
    expect(lost).toEqual([{ kind: "children", what: expect.stringContaining("not known"), rows: 2 }]);
    expect(kinds.some(({ kind }) => kind === "children")).toBe(false);
    expect(rows(host, "cf_agents_sub_agents")).toHaveLength(2);
  });
});

const JOB = "INSERT INTO cf_agents_jobs (id, capability, fn, time, payload) VALUES";
const OWNER = `'[{"className":"Assistant","name":"full"},{"className":"Researcher","name":"owls"}]'`;

test.each<[layout: Layout, file: string, statement: string, what: string]>([
  ["layout-a", "Counter.plain", "INSERT INTO cf_agents_state VALUES ('cf_future', '1')", "state row cf_future (1 row)"],
  [
    "layout-a",
    "Counter.plain",
    "INSERT INTO cf_agents_schedules (id, callback, type, time) VALUES ('x', '_cfNew', 'delayed', 1)",
    "schedule of the original itself (_cfNew) (1 row)"
  ],
  [
    "layout-b",
    "Counter.plain",
    `${JOB} ('x', 'scheduler', 'tick', 1, '{"type":"yearly"}')`,
    "schedules of an unknown type (1 row)"
  ],
  ["layout-b", "Counter.plain", `${JOB} ('x', 'dreams', 'tick', 1, '{}')`, "jobs of an unknown capability (1 row)"],
  [
    "layout-b",
    "Counter.plain",
    `${JOB} ('x', 'queue', '_cfNew', 1, '{}')`,
    "queue items of the original itself (1 row)"
  ],
  [
    "layout-b",
    "Counter.plain",
    `${JOB} ('x', 'queue', 'slow', 1, json_object('owner_path', ${OWNER}))`,
    "queue items of children (1 row)"
  ],
  [
    "layout-a",
    "Counter.plain",
    "INSERT INTO cf_agents_runs (id, name, created_at) VALUES ('x', '__cf_internal_new', 1)",
    "unknown runs of the original itself (1 row)"
  ],
  [
    "layout-b",
    "Counter.plain",
    "INSERT INTO cf_agents_task_runs (run_id, definition, state, created_at, updated_at) VALUES ('x', 'import', 'waiting', 1, 1)",
    "open tasks (1 row)"
  ],
  [
    "layout-a",
    "Assistant.full",
    "INSERT INTO think_config VALUES ('future', '1')",
    "unknown settings in think_config (1 row)"
  ],
  [
    "layout-b",
    "Assistant.full",
    `INSERT INTO cf_agent_tool_runs (run_id, agent_type, status, started_at, detached) VALUES ('x', 'Researcher', 'running', 1, 1)`,
    "background runs of agent tools whose end was not reported (1 row)"
  ],
  [
    "layout-b",
    "Assistant.branches",
    "UPDATE cf_agents_session_messages SET type = 'note' WHERE id = 'b3'",
    "entries of a session that are no messages (1 row)"
  ],
  [
    "layout-a",
    "Assistant.recovering",
    `UPDATE cf_agents_schedules SET owner_path = ${OWNER} WHERE callback = '_chatRecoveryContinue'`,
    "turns of children that the original is recovering (1 row)"
  ],
  [
    "layout-b",
    "Assistant.full",
    "UPDATE cf_think_submissions SET messages_json = '[' WHERE status = 'pending'",
    "open submissions whose messages cannot be read (1 row)"
  ]
])("in %s %s is refused, and left as it was, after: %s", async (layout, file, statement, what) => {
  const [kind, name = ""] = file.split(".");
  const agent = kind === "Counter" ? Counter : Assistant;
  const host = openHost();
  load(host, layout, file);
  host.sql(agent, name, statement);
  const stored = () =>
    host
      .sql<{ name: string }>(
        agent,
        name,
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%fts%'"
      )
      .map(({ name: table }) => [table, host.sql(agent, name, `SELECT * FROM ${table}`)]);
  const before = stored();
  for (let visit = 0; visit < 2; visit += 1) await expect(host.get(agent, name)).rejects.toThrow(what);
  expect(stored()).toEqual(before);
});

test("entries that are no messages are given up without the others, and stay where they are", async () => {
  const note = "UPDATE cf_agents_session_messages SET type = 'note' WHERE id = 'b3'";
  const host = opened("layout-b", "Assistant.branches", note);
  const found = host.sql(Assistant, "branches", "SELECT id FROM cf_agents_session_messages").length;
  Assistant.options = { allowLossyTakeover: ["messages"] };
  const { kinds } = await report(host, "branches");
  expect(kinds).toContainEqual({ kind: "messages", found, carried: found - 1, left: 1 });
  const kept = "SELECT id FROM cf_agents_session_messages WHERE type = 'note'";
  expect(host.sql(Assistant, "branches", kept)).toEqual([{ id: "b3" }]);
});

test("a schedule of an unknown type is given up without the others", async () => {
  const host = openHost();
  load(host, "layout-b", "Counter.plain");
  const jobs = "SELECT id FROM cf_agents_jobs WHERE capability = 'scheduler'";
  const found = host.sql(Counter, "plain", jobs).length;
  host.sql(Counter, "plain", `${JOB} ('x', 'scheduler', 'tick', 1, '{"type":"yearly"}')`);
  Counter.options = { allowLossyTakeover: ["schedules"] };
  try {
    expect(await call<unknown[]>(host, ["counter", "plain", "schedules"])).toHaveLength(found);
  } finally {
    delete Counter.options;
  }
});

test("a child's turn that has ended keeps its row a while in the newer layout, and is not run again", async () => {
  const host = opened("layout-b", "Assistant.kid");
  const path = ["Researcher\0owls"];
  host.sql(
    Assistant,
    "kid",
    { path },
    "UPDATE cf_agents_runs SET completed_at = created_at + 1, outcome = 'completed'"
  );
  host.setAlarm(Assistant, "kid", host.now + 10);
  await host.advance(60_000);
  expect(await call(host, ["assistant", "kid", "childReport"], "owls")).toMatchObject({ messages: 1 });
});

test("a turn under way that has no name is refused", async () => {
  const host = opened("layout-b", "Assistant.cut", "UPDATE cf_agents_task_runs SET input = '{}'");
  await expect(host.get(Assistant, "cut")).rejects.toThrow("turns under way that the original does not name (1 row)");
});
