// Objects that the published packages of the original wrote, in both layouts of their tables, opened by the same classes
// with other imports. Fixtures: tools/takeover-fixtures.ts. Killed at every write: takeover-crash.test.ts.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { TestHost, TestSocket } from "../../src/testing/index.ts";
import { Assistant, call, Counter, LAYOUTS, load, openHost, type Layout } from "../takeover/kit.ts";

interface Part {
  type: string;
  text?: string;
  url?: string;
  state?: string;
  output?: unknown;
  approval?: { id: string };
  toolCallId?: string;
}
interface Message {
  id: string;
  role: string;
  parts: Part[];
}
interface Report {
  kinds: { kind: string; found: number; carried: number; left: number }[];
  lost: { kind: string; what: string; rows: number }[];
}

function opened(layout: Layout, ...files: string[]): TestHost {
  const host = openHost();
  for (const file of files) load(host, layout, file);
  return host;
}

const ask = <T = unknown>(host: TestHost, name: string, method: string, ...args: unknown[]) =>
  call<T>(host, ["assistant", name, method], ...args);
const count = <T = unknown>(host: TestHost, name: string, method: string, ...args: unknown[]) =>
  call<T>(host, ["counter", name, method], ...args);

async function texts(host: TestHost, name: string): Promise<string[]> {
  const messages = await ask<Message[]>(host, name, "transcript");
  return messages.map(({ role, parts }) => `${role}: ${parts.map(({ text }) => text ?? "").join("")}`);
}

async function counts(host: TestHost, object: string, name: string): Promise<Record<string, string>> {
  const report = await call<Report>(host, [object, name, "getTakeoverReport"]);
  return Object.fromEntries(
    report.kinds.map(({ kind, found, carried, left }) => [kind, `${found}/${carried}/${left}`])
  );
}

/** Found, carried, left. The table in docs/moving-from-think.md is this one. */
const FULL: Record<Layout, Record<string, string>> = {
  "layout-a": {
    state: "1/1/0",
    schedules: "7/3/4",
    children: "2/2/0",
    messages: "14/14/0",
    config: "1/1/0",
    turns: "1/1/0",
    submissions: "3/3/0",
    "action-ledger": "2/2/0",
    approvals: "1/1/0",
    "mcp-servers": "1/1/0",
    "agent-tool-runs": "1/1/0",
    files: "4/4/0",
    "scheduled-tasks": "1/0/1"
  },
  "layout-b": {
    state: "1/1/0",
    schedules: "4/3/1",
    queue: "2/0/2",
    children: "2/2/0",
    messages: "13/13/0",
    config: "1/1/0",
    turns: "1/1/0",
    submissions: "3/3/0",
    "action-ledger": "2/2/0",
    approvals: "1/1/0",
    "mcp-servers": "1/1/0",
    "agent-tool-runs": "1/1/0",
    "scheduled-tasks": "1/0/1"
  }
};

test("the table of docs/moving-from-think.md has these numbers", () => {
  const page = readFileSync(new URL("../../docs/moving-from-think.md", import.meta.url), "utf8");
  const rows = new Map(
    [...page.matchAll(/^\| `([\w-]+)` \| (\S+) \| (\S+) \|/gm)].map(([, kind, a, b]) => [kind, { a, b }])
  );
  // The page shows the queue of an object that has one that waits.
  const { queue: _queue, ...layoutB } = FULL["layout-b"];
  const inA = Object.keys(FULL["layout-a"]).map((kind) => [kind, rows.get(kind)?.a]);
  const inB = Object.keys(layoutB).map((kind) => [kind, rows.get(kind)?.b]);
  expect(Object.fromEntries(inA)).toEqual(FULL["layout-a"]);
  expect(Object.fromEntries(inB)).toEqual(layoutB);
});

describe.each(LAYOUTS)("an object of %s", (layout) => {
  test("keeps its state, schedules, queue and fibers as a plain agent", async () => {
    const host = opened(layout, "Counter.plain");
    expect(await count(host, "plain", "show")).toEqual({ count: 2 });
    const schedules = await count<{ callback: string; payload: unknown; type: string; retry?: unknown }[]>(
      host,
      "plain",
      "schedules"
    );
    expect(schedules.map(({ callback, type, payload, retry }) => ({ callback, type, payload, retry }))).toEqual([
      { callback: "tick", type: "interval", payload: { often: true } },
      { callback: "tick", type: "cron", payload: { daily: true } },
      { callback: "tick", type: "delayed", payload: { at: "noon" } },
      {
        callback: "tick",
        type: "delayed",
        payload: "retried",
        retry: { maxAttempts: 7, baseDelayMs: 50, maxDelayMs: 100 }
      },
      { callback: "tick", type: "scheduled", payload: "far" }
    ]);
    await host.idle();
    const notes = await count<string[]>(host, "plain", "notes");
    expect(notes.slice(-4)).toEqual([
      'recovered import {"page":7}',
      'recovered sweep {"row":12}',
      // It was cut off while it ran.
      "slow first",
      "slow second"
    ]);
    expect(await count(host, "plain", "inspect", "finished-1")).toMatchObject({ status: "completed" });
    expect(await count(host, "plain", "inspect", "import-1")).toMatchObject({ metadata: { source: "test" } });
    expect(await counts(host, "counter", "plain")).toEqual({
      state: "1/1/0",
      schedules: "5/5/0",
      queue: "2/2/0",
      fibers: "3/3/0"
    });
    await host.advance(600_000);
    expect((await count<string[]>(host, "plain", "notes")).filter((note) => note.startsWith("tick"))).toHaveLength(2);
  });

  test("that only its alarm opens is taken over, and what is overdue runs once", async () => {
    const host = opened(layout, "Counter.idle");
    host.setAlarm(Counter, "idle", host.now + 10);
    await host.advance(20);
    expect(host.sql(Counter, "idle", "SELECT text FROM my_notes")).toEqual([{ text: 'tick "soon"' }]);
    expect(host.sql(Counter, "idle", "SELECT COUNT(*) AS rows FROM cf_meta")).toEqual([{ rows: 1 }]);
    await host.advance(3_600_000);
    expect(await count(host, "idle", "notes")).toEqual(['tick "soon"']);
  });

  test("sends clients the carried state, before initialState is considered", async () => {
    const host = opened(layout, "Assistant.full");
    const socket = await host.connect("/agents/assistant/full");
    await host.idle();
    const states = frames(socket).filter(({ type }) => type === "cf_agent_state");
    expect(states).toEqual([expect.objectContaining({ state: { topic: "moving", opened: 3 } })]);
  });

  test("reports each kind with its rows, keeps the report and emits it", async () => {
    const host = opened(layout, "Assistant.full");
    expect(await counts(host, "assistant", "full")).toEqual(FULL[layout]);
    await host.restart();
    expect(await counts(host, "assistant", "full")).toEqual(FULL[layout]);
  });

  test("keeps transcript, summary, memory and configuration, and a new turn works", async () => {
    const host = opened(layout, "Assistant.full");
    await ask(host, "full", "notes");
    await host.idle();
    const shown = await texts(host, "full");
    expect(shown[0]).toBe("assistant: A greeting was exchanged.");
    expect(shown.slice(-6)).toEqual([
      "user: say Submitted one.",
      "assistant: Submitted one.",
      "user: hold Submitted two words",
      "assistant: Submitted two words",
      "user: say Submitted three.",
      "assistant: Submitted three."
    ]);
    expect(new Set((await ask<Message[]>(host, "full", "transcript")).map(({ id }) => id)).size).toBe(shown.length);
    expect(await ask(host, "full", "show")).toEqual({
      state: { topic: "moving", opened: 3 },
      config: { tone: "dry", limit: 4 }
    });
    expect(JSON.stringify(await ask(host, "full", "memory"))).toContain("The visitor's name is Ada.");
    await ask(host, "full", "ask", "say It goes on.");
    expect((await texts(host, "full")).at(-1)).toBe("assistant: It goes on.");
  });

  test("keeps branches, and files that were kept apart from their message", async () => {
    const host = opened(layout, "Assistant.branches");
    const messages = await ask<Message[]>(host, "branches", "transcript");
    expect(messages.map(({ id }) => id)).toEqual(["b1", "b2", "b3"]);
    const file = messages[2]?.parts.find(({ type }) => type === "file");
    expect(file?.url).toBe(`data:image/png;base64,${btoa("0123456789".repeat(2_000))}`);
    expect(host.sql(Assistant, "branches", "SELECT COUNT(*) AS rows FROM assistant_messages")).toEqual([{ rows: 4 }]);
  });

  test("keeps submissions with ids, keys, status and metadata; what was accepted runs, once", async () => {
    const host = opened(layout, "Assistant.full");
    const before = host.sql(
      Assistant,
      "full",
      "SELECT submission_id AS id FROM cf_think_submissions ORDER BY created_at"
    );
    await ask(host, "full", "notes");
    await host.idle();
    const after = await ask<{ submissionId: string; status: string; idempotencyKey: string; metadata: object }[]>(
      host,
      "full",
      "submissions"
    );
    expect(after.toReversed()).toMatchObject(
      before.map(({ id }, index) => ({
        submissionId: id,
        status: "completed",
        idempotencyKey: `k${index + 1}`,
        metadata: { from: "test", key: `k${index + 1}` }
      }))
    );
    expect(await ask(host, "full", "submit", "say Submitted one.", "k1")).toMatchObject({
      submissionId: before[0]?.["id"],
      accepted: false
    });
  });

  test("never runs a settled action again: its key answers with the stored value, whatever the input", async () => {
    const host = opened(layout, "Assistant.full");
    await ask(host, "full", "notes");
    await host.idle();
    await ask(host, "full", "ask", 'call charge {"invoice":"i1","hold":false}');
    const last = (await ask<Message[]>(host, "full", "transcript")).at(-1);
    expect(last?.parts.find(({ type }) => type === "tool-charge")?.output).toEqual({ receipt: "r-i1" });
    expect((await ask<string[]>(host, "full", "notes")).filter((note) => note === "charged i1")).toHaveLength(1);
  });

  test("never runs an action again whose outcome is unknown, also when its lease is over", async () => {
    const host = opened(layout, "Assistant.acting");
    await ask(host, "acting", "notes");
    await host.advance(3_600_000);
    await ask(host, "acting", "ask", 'call charge {"invoice":"i9"}');
    expect(await ask(host, "acting", "notes")).toEqual(["charged i9"]);
    const last = (await ask<Message[]>(host, "acting", "transcript")).at(-1);
    expect(JSON.stringify(last)).toContain("may already have run");
    const first = (await ask<Message[]>(host, "acting", "transcript"))[1];
    expect(JSON.stringify(first?.parts.find(({ type }) => type === "tool-charge"))).not.toContain("receipt");
  });

  test("keeps durable approvals under their id: listed, decided once, placed in the transcript", async () => {
    const host = opened(layout, "Assistant.full");
    const [stored] = host.sql<{ id: string }>(
      Assistant,
      "full",
      "SELECT execution_id AS id FROM cf_think_action_pending_approvals"
    );
    expect(await ask(host, "full", "pending")).toMatchObject([
      {
        executionId: stored?.id,
        source: "action",
        descriptor: { action: "deploy", input: { ref: "v1" }, risk: "high" }
      }
    ]);
    await ask(host, "full", "approve", stored?.id);
    await host.idle();
    await ask(host, "full", "approve", stored?.id).catch(() => undefined);
    await host.idle();
    expect((await ask<string[]>(host, "full", "notes")).filter((note) => note === "deployed v1")).toHaveLength(1);
    const parts = (await ask<Message[]>(host, "full", "transcript")).flatMap((message) => message.parts);
    expect(parts.find(({ type }) => type === "tool-deploy")?.output).toEqual({ deployed: "v1" });
    expect(await ask(host, "full", "pending")).toEqual([]);
  });

  test("keeps a question of the model open: a client approves, and the action runs once", async () => {
    const host = opened(layout, "Assistant.asking");
    const part = (await ask<Message[]>(host, "asking", "transcript"))[1]?.parts.find(
      ({ type }) => type === "tool-remove"
    );
    expect(part?.state).toBe("approval-requested");
    const socket = await host.connect("/agents/assistant/asking");
    const approval = {
      type: "cf_agent_tool_approval",
      toolCallId: part?.toolCallId,
      approved: true,
      autoContinue: true
    };
    for (let time = 0; time < 2; time++) socket.send(JSON.stringify(approval));
    await host.idle();
    await host.advance(1_000);
    expect(await ask(host, "asking", "notes")).toEqual(["removed bob"]);
    expect((await texts(host, "asking")).at(-1)).toBe("assistant: Done.");
  });

  test("keeps a call of a client's own tool open, and the tools the client described", async () => {
    const host = opened(layout, "Assistant.client");
    const part = (await ask<Message[]>(host, "client", "transcript"))[1]?.parts.find(
      ({ type }) => type === "tool-colour"
    );
    expect(part?.state).toBe("input-available");
    const socket = await host.connect("/agents/assistant/client");
    const result = { toolCallId: part?.toolCallId, toolName: "colour", output: "blue", autoContinue: true };
    socket.send(JSON.stringify({ type: "cf_agent_tool_result", ...result }));
    await host.idle();
    await host.advance(1_000);
    expect((await texts(host, "client")).at(-1)).toBe("assistant: Done.");
    await ask(host, "client", "ask", "call colour {}");
    const again = (await ask<Message[]>(host, "client", "transcript")).at(-1);
    expect(again?.parts.find(({ type }) => type === "tool-colour")?.state).toBe("input-available");
  });

  test.each(["cut", "recovering"])("goes on with a turn that was cut off, without a request (%s)", async (name) => {
    const host = opened(layout, `Assistant.${name}`);
    host.setAlarm(Assistant, name, host.now + 10);
    await host.advance(60_000);
    expect(await texts(host, name)).toEqual([
      "user: hold This answer was cut off",
      "assistant: This answer was cut off"
    ]);
  });

  test("keeps a child under its old key, with its messages, state and schedules", async () => {
    const host = opened(layout, "Assistant.full");
    const report = await ask<{ schedules: object[] }>(host, "full", "childReport", "owls");
    expect(report).toMatchObject({
      topic: "owls",
      messages: 2,
      schedules: [{ callback: "tick", payload: { topic: "owls" } }]
    });
    expect(await ask(host, "full", "children")).toMatchObject([{ name: "owls" }, { className: "Researcher" }]);
    await host.restart();
    expect(await ask(host, "full", "childReport", "owls")).toEqual(report);
    // A new one has a key of ours.
    await ask(host, "full", "child", "bats");
    const path = ["Researcher:bats"];
    expect(host.sql(Assistant, "full", { path }, "SELECT COUNT(*) AS rows FROM cf_meta")).toEqual([{ rows: 1 }]);
  });

  test("runs the schedule of a child at its time, although no request ever came", async () => {
    const host = opened(layout, "Assistant.full");
    host.setAlarm(Assistant, "full", host.now + 10);
    await host.advance(5_400_000);
    const path = ["Researcher\0owls"];
    expect(host.sql(Assistant, "full", { path }, "SELECT COUNT(*) AS rows FROM cf_work")).toEqual([{ rows: 0 }]);
    expect(await ask(host, "full", "childReport", "owls")).toMatchObject({ ticks: 1, schedules: [] });
  });

  test("goes on with a child's turn that was cut off, without a request", async () => {
    const host = opened(layout, "Assistant.kid");
    host.setAlarm(Assistant, "kid", host.now + 10);
    await host.advance(60_000);
    expect(await ask(host, "kid", "childReport", "owls")).toMatchObject({ messages: 2, answer: "Owls are birds" });
  });

  test("goes on with a call of an agent tool that was cut off, and with the child that it had started", async () => {
    const host = opened(layout, "Assistant.running");
    host.setAlarm(Assistant, "running", host.now + 10);
    await host.advance(60_000);
    expect((await texts(host, "running")).at(-1)).toBe("assistant: Done.");
    const children = host.sql(Assistant, "running", "SELECT class_name, name FROM cf_children");
    expect(children).toHaveLength(1);
    const part = (await ask<Message[]>(host, "running", "transcript"))[1]?.parts.find(
      ({ type }) => type === "tool-research"
    );
    expect(part?.output).toContain("Owls fly");
    const messages = host.sql(
      Assistant,
      "running",
      { path: [Object.values(children[0] ?? {}).join("\0")] },
      "SELECT role FROM assistant_messages"
    );
    expect(messages.map(({ role }) => role).toSorted()).toEqual(["assistant", "user"]);
  });

  test("is refused by the original afterwards, in words, while tables of the user can still be changed", async () => {
    const host = opened(layout, "Counter.plain");
    await count(host, "plain", "show");
    const read = () => host.sql(Counter, "plain", "SELECT state FROM cf_agents_state WHERE id = 'cf_state_row_id'");
    expect(read).toThrow(/This object was taken over by everthink/);
    expect(() => host.sql(Counter, "plain", "INSERT INTO cf_agents_state VALUES ('a', 'b')")).toThrow(/taken over/);
    host.sql(Counter, "plain", "CREATE TABLE IF NOT EXISTS cf_agents_state (id TEXT, state TEXT)");
    expect(read).toThrow(/taken over/);
    host.sql(Counter, "plain", "ALTER TABLE my_notes RENAME TO my_old_notes");
  });

  test("with a table or a row that is not known is refused, left as it was, and taken over once that is gone", async () => {
    const host = opened(layout, "Assistant.full");
    const foreign = ["CREATE TABLE cf_think_future (a)", "INSERT INTO cf_think_future VALUES (1)"];
    for (const statement of foreign) host.sql(Assistant, "full", statement);
    host.sql(Assistant, "full", "UPDATE cf_think_action_ledger SET status = 'undone' WHERE action_name = 'ping'");
    const before = contents(host);
    await expect(host.get(Assistant, "full")).rejects.toThrow(
      "cannot be taken over: ledger rows with an unknown status (1 row); cf_think_future (1 row)."
    );
    expect(contents(host)).toEqual(before);
    host.sql(Assistant, "full", "DROP TABLE cf_think_future");
    host.sql(Assistant, "full", "UPDATE cf_think_action_ledger SET status = 'settled' WHERE action_name = 'ping'");
    expect(await counts(host, "assistant", "full")).toEqual(FULL[layout]);
  });
});

test("files of the newer layout are refused by name, and given up only if the class allows it", async () => {
  const host = opened("layout-b", "Assistant.files");
  await expect(host.get(Assistant, "files")).rejects.toThrow("file system of the newer layout (vfs_nodes) (1 row)");
  Assistant.options = { allowLossyTakeover: ["files"] };
  try {
    const report = await ask<Report>(host, "files", "getTakeoverReport");
    expect(report.lost).toEqual([{ kind: "files", what: expect.stringContaining("vfs_nodes"), rows: 1 }]);
    expect(host.sql(Assistant, "files", "SELECT name FROM vfs_dirents")).toEqual([{ name: "today.md" }]);
  } finally {
    delete Assistant.options;
  }
});

test("files of the older layout are read as they are", async () => {
  const host = opened("layout-a", "Assistant.full");
  expect(await ask(host, "full", "readFile", "/notes/today.md")).toBe("# Today\n\nMove in.\n");
  await ask(host, "full", "writeFiles");
});

test("ten thousand messages are taken over within bounded memory", async () => {
  const host = openHost();
  load(host, "layout-b", "Assistant.branches");
  host.sql(Assistant, "branches", "DELETE FROM cf_agents_session_messages");
  const text = "x".repeat(4_000);
  host.sql(
    Assistant,
    "branches",
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
     INSERT INTO cf_agents_session_messages (session_id, id, seq, parent_id, role, content, created_at)
     SELECT '', 'm' || i, i, CASE WHEN i > 1 THEN 'm' || (i - 1) END, CASE WHEN i % 2 THEN 'user' ELSE 'assistant' END,
       json_object('id', 'm' || i, 'role', CASE WHEN i % 2 THEN 'user' ELSE 'assistant' END,
         'parts', json_array(json_object('type', 'text', 'text', ?))), 1794829787600 + i FROM n`,
    text
  );
  const before = process.memoryUsage().heapUsed;
  await host.get(Assistant, "branches");
  const grown = process.memoryUsage().heapUsed - before;
  // The messages are 40 MB.
  expect(grown).toBeLessThan(20_000_000);
  const rows = "SELECT COUNT(*) AS rows, MAX(path_length) AS path FROM assistant_messages WHERE sequence <= 10000";
  expect(host.sql(Assistant, "branches", rows)).toEqual([{ rows: 10_000, path: 10_000 }]);
}, 60_000);

function frames(socket: TestSocket): { type: string }[] {
  return socket.frames.filter((frame) => typeof frame === "object") as { type: string }[];
}

function contents(host: TestHost): unknown {
  const tables = host.sql<{ name: string; sql: string }>(
    Assistant,
    "full",
    "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%fts%' AND name NOT LIKE 'sqlite%' ORDER BY name"
  );
  return tables.map(({ name, sql }) => [sql, host.sql(Assistant, "full", `SELECT * FROM "${name}"`)]);
}
