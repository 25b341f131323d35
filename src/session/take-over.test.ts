// A database that another program left, with its own table of messages.
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { Session } from "./session.ts";
import { provideSessionHost } from "./session-host.ts";
import { ids, openTestSession, text } from "./session.test-support.ts";

const ORIGINAL = `CREATE TABLE assistant_messages (
  id TEXT PRIMARY KEY, session_id TEXT NOT NULL DEFAULT '', parent_id TEXT, role TEXT NOT NULL, content TEXT NOT NULL,
  created_at DATETIME DEFAULT CURRENT_TIMESTAMP)`;

function original(rows: readonly (readonly [id: string, session: string, parent: string | null, content?: string])[]) {
  const database = new DatabaseSync(":memory:");
  database.exec(ORIGINAL);
  database.exec("CREATE INDEX idx_assistant_messages_parent ON assistant_messages (parent_id)");
  const insert = database.prepare(
    "INSERT INTO assistant_messages (id, session_id, parent_id, role, content) VALUES (?, ?, ?, ?, ?)"
  );
  for (const [id, session, parent, content] of rows) {
    insert.run(id, session, parent, "user", content ?? JSON.stringify(text(id)));
  }
  return database;
}

test("a transcript of the original's shape is there after the change of the import", async () => {
  const database = original([
    ["u1", "", null],
    ["a1", "", "u1"],
    ["x1", "other", null],
    ["u2", "", "a1"],
    ["a2", "", "u2"],
    ["b2", "", "u2"],
    ["x2", "other", "x1"]
  ]);
  const { store, host, memory, reboot } = openTestSession(database);
  expect(store.getHistory()).toEqual(["u1", "a1", "u2", "b2"].map((id) => text(id)));
  expect(ids(store.getBranches("u2"))).toEqual(["a2", "b2"]);
  expect(ids(store.getBranches("u1"))).toEqual(["a1"]);
  expect(store.getPathLength()).toBe(4);
  const bytes = store.getHistoryRowStats().reduce((sum, each) => sum + each.bytes, 0);
  expect(store.totals().bytes).toBe(bytes);
  store.appendMessage(text("u3"));
  expect(ids(reboot().store.getHistory())).toEqual(["u1", "a1", "u2", "b2", "u3"]);
  expect(store.totals().length).toBe(5);
  const agent = { sql: () => [] };
  provideSessionHost(agent, host);
  expect(ids(await Session.create(agent).forSession("other").getHistory())).toEqual(["x1", "x2"]);
  expect(memory.all("SELECT name FROM sqlite_master WHERE name LIKE '%original%'")).toEqual([]);
});

test("a deleted parent, an unreadable row and an empty table are no obstacle", () => {
  const { store, setAside } = openTestSession(
    original([
      ["u1", "", null],
      ["u2", "", "gone"],
      ["a2", "", "u2", "{broken"],
      ["u3", "", "a2"]
    ])
  );
  expect(ids(store.getHistory())).toEqual(["u2", "u3"]);
  expect(setAside).toHaveLength(1);
  expect(ids(store.getHistory("u1"))).toEqual(["u1"]);
  expect(openTestSession(original([])).store.getHistory()).toEqual([]);
});

test("the readable columns are those of the original", () => {
  const { store, memory } = openTestSession(new DatabaseSync(":memory:"));
  store.appendMessage(text("m1"));
  expect(memory.all("SELECT id, session_id, parent_id, role, content, created_at FROM assistant_messages")).toEqual([
    {
      id: "m1",
      session_id: "",
      parent_id: null,
      role: "user",
      content: JSON.stringify(text("m1")),
      created_at: "2030-01-01 00:00:00.000"
    }
  ]);
});
