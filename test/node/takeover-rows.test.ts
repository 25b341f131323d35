// Rows that the original writes and no fixture has, put into objects of the fixtures before they are opened.
import { expect, test } from "vitest";
import type { TestHost } from "../../src/testing/index.ts";
import { Assistant, call, Counter, LAYOUTS, load, openHost, type Layout } from "../takeover/kit.ts";

function opened(layout: Layout, file: string): TestHost {
  const host = openHost();
  load(host, layout, file);
  return host;
}

/** Found, carried. */
async function counts(host: TestHost, object: string, name: string): Promise<Record<string, string>> {
  const { kinds } = await call<{ kinds: { kind: string; found: number; carried: number }[] }>(host, [
    object,
    name,
    "getTakeoverReport"
  ]);
  return Object.fromEntries(kinds.map(({ kind, found, carried }) => [kind, `${found}/${carried}`]));
}

const transcript = (host: TestHost) => call<object[]>(host, ["assistant", "branches", "transcript"]);

test.each(LAYOUTS)("workflows that an object of %s had started keep id, name and status", async (layout) => {
  const host = opened(layout, "Counter.plain");
  const rows = [
    ["w1", "waiting", null],
    ["w2", "terminated", "stopped"],
    ["w3", "complete", null]
  ] as const;
  for (const [id, status, error] of rows) {
    host.sql(
      Counter,
      "plain",
      `INSERT INTO cf_agents_workflows (id, workflow_id, workflow_name, status, metadata, error_message, created_at, updated_at)
       VALUES (?, ?, 'LETTERS', ?, '{"to":"Ada"}', ?, 1794829774, 1794829775)`,
      ...[`row-${id}`, id, status, error]
    );
  }
  expect(await counts(host, "counter", "plain")).toMatchObject({ workflows: "3/3" });
  const found = (id: string) => call(host, ["counter", "plain", "getWorkflow"], id);
  const carried = { workflowName: "LETTERS", metadata: { to: "Ada" } };
  expect(await found("w1")).toMatchObject({ ...carried, status: "running" });
  expect(await found("w2")).toMatchObject({ ...carried, status: "errored" });
  expect(await found("w3")).toMatchObject({ ...carried, status: "complete" });
});

test.each(LAYOUTS)(
  "MCP servers and runs of children of an agent of %s without a conversation are carried",
  async (layout) => {
    const host = opened(layout, "Counter.plain");
    host.sql(
      Counter,
      "plain",
      `INSERT INTO cf_agents_mcp_servers (id, name, server_url, callback_url)
     VALUES ('docs', 'docs', 'https://docs.example.com/mcp', 'http://localhost/callback'),
            ('bare', 'bare', 'https://bare.example.com/mcp', '')`
    );
    host.sql(
      Counter,
      "plain",
      `INSERT INTO cf_agent_tool_runs (run_id, agent_type, status, summary, display_order, started_at, completed_at)
     VALUES ('r', 'Researcher', 'completed', 'The moon pulls.', 0, 1, 2)`
    );
    expect(await counts(host, "counter", "plain")).toMatchObject({ "mcp-servers": "2/2", "agent-tool-runs": "1/1" });
    expect(await call(host, ["counter", "plain", "getMcpServers"])).toMatchObject({
      servers: { docs: { name: "docs", server_url: "https://docs.example.com/mcp" }, bare: { name: "bare" } }
    });
    // No text stands for no address.
    expect(host.sql(Counter, "plain", "SELECT callback_url FROM cf_mcp_servers ORDER BY position")).toEqual([
      { callback_url: "http://localhost/callback" },
      { callback_url: null }
    ]);
    const run = await call(host, ["counter", "plain", "inspectAgentToolRun"], "r");
    expect(run).toMatchObject({ status: "completed", summary: "The moon pulls." });
  }
);

test("a message that the newer layout keeps in pieces is put together", async () => {
  const host = opened("layout-b", "Assistant.branches");
  const change = (statement: string, ...values: string[]) => host.sql(Assistant, "branches", statement, ...values);
  const before = await transcript(opened("layout-b", "Assistant.branches"));
  const [row] = host.sql<{ id: string; content: string }>(
    Assistant,
    "branches",
    "SELECT id, content FROM cf_agents_session_messages ORDER BY seq LIMIT 1"
  );
  if (!row) throw new Error("The fixture has no message.");
  const { id, content } = row;
  for (const [index, piece] of [content.slice(0, 10), content.slice(10)].entries()) {
    change(
      "INSERT INTO cf_agents_session_message_chunks SELECT session_id, id, ?, ? FROM cf_agents_session_messages WHERE id = ?",
      String(index),
      piece,
      id
    );
  }
  change("UPDATE cf_agents_session_messages SET content = '', content_chunks = 2 WHERE id = ?", id);
  expect(await transcript(host)).toEqual(before);
});

test("a recovery that names no turn is refused, and one of the first versions is carried", async () => {
  const broken = opened("layout-a", "Assistant.recovering");
  const ofTurn = "callback = '_chatRecoveryContinue'";
  broken.sql(Assistant, "recovering", `UPDATE cf_agents_schedules SET payload = '{}' WHERE ${ofTurn}`);
  await expect(broken.get(Assistant, "recovering")).rejects.toThrow(
    "turns that the original is recovering and does not name (1 row)"
  );
  const older = opened("layout-a", "Assistant.recovering");
  for (const column of ["owner_path", "owner_path_key"]) {
    older.sql(Assistant, "recovering", `ALTER TABLE cf_agents_schedules DROP COLUMN ${column}`);
  }
  expect(await counts(older, "assistant", "recovering")).toMatchObject({ turns: "1/1" });
});

/** Where each layout keeps schedules of children. */
const SCHEDULES_OF_CHILDREN: Record<Layout, string> = {
  "layout-a": "cf_agents_schedules WHERE owner_path LIKE '%Researcher%'",
  "layout-b": "cf_agents_jobs WHERE payload LIKE '%Researcher%'"
};
const OWLS = ["Researcher\0owls"];

test.each(LAYOUTS)("a child of %s that has work cut off and no schedule is woken by its root", async (layout) => {
  const host = opened(layout, "Assistant.kid");
  const schedules = SCHEDULES_OF_CHILDREN[layout];
  expect(host.sql(Assistant, "kid", `SELECT 1 FROM ${schedules}`)).not.toEqual([]);
  host.sql(Assistant, "kid", `DELETE FROM ${schedules}`);
  host.setAlarm(Assistant, "kid", host.now + 10);
  await host.advance(60_000);
  // Read without a call, which would wake it.
  const messages = host.sql(Assistant, "kid", { path: OWLS }, "SELECT role FROM assistant_messages");
  expect(messages.map(({ role }) => role).toSorted()).toEqual(["assistant", "user"]);
});

test.each(LAYOUTS)(
  "schedules that reach a child of %s a second time do not come back after they ran",
  async (layout) => {
    const host = opened(layout, "Assistant.full");
    const report = () => call(host, ["assistant", "full", "childReport"], "owls");
    const kept = "SELECT key, value FROM cf_takeover WHERE key LIKE '%schedules%'";
    await call(host, ["assistant", "full", "getTakeoverReport"]);
    const rows = host.sql<{ key: string; value: string }>(Assistant, "full", kept);
    expect(rows).not.toEqual([]);
    expect(await report()).toMatchObject({ ticks: 0, schedules: [{ callback: "tick" }] });
    expect(host.sql(Assistant, "full", kept)).toEqual([]);
    await host.advance(5_400_000);
    expect(await report()).toMatchObject({ ticks: 1, schedules: [] });
    // As after a kill between the child's answer and the root's note that it was handed over.
    for (const { key, value } of rows)
      host.sql(Assistant, "full", "INSERT INTO cf_takeover (key, value) VALUES (?, ?)", key, value);
    await host.restart();
    expect(await report()).toMatchObject({ ticks: 1, schedules: [] });
    expect(host.sql(Assistant, "full", kept)).toEqual([]);
    await host.advance(60_000);
    expect(await report()).toMatchObject({ ticks: 1, schedules: [] });
  }
);

test("what a turn of the first layout had stashed when it was cut off is what onChatRecovery is given", async () => {
  const host = opened("layout-a", "Assistant.cut");
  const isTurn = "name LIKE '__cf_internal_chat_turn:%'";
  expect(host.sql(Assistant, "cut", `SELECT 1 FROM cf_agents_runs WHERE ${isTurn}`)).toHaveLength(1);
  host.sql(
    Assistant,
    "cut",
    `UPDATE cf_agents_runs SET snapshot = json_set(COALESCE(snapshot, '{}'), '$.user', json('{"page":3}')) WHERE ${isTurn}`
  );
  const seen: unknown[] = [];
  const { prototype } = Assistant as { prototype: { onChatRecovery?: unknown } };
  prototype.onChatRecovery = ({ recoveryData }: { recoveryData: unknown }) => {
    seen.push(recoveryData);
    return {};
  };
  try {
    host.setAlarm(Assistant, "cut", host.now + 10);
    await host.advance(60_000);
  } finally {
    delete prototype.onChatRecovery;
  }
  expect(seen).toEqual([{ page: 3 }]);
});
