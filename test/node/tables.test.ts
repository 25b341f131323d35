// Which tables an object has. How tables are made and migrated is tested in src/host/table-set.test.ts, how databases of
// older versions are opened in schema.test.ts.
import { describe, expect, test } from "vitest";
import { Think } from "../../src/index.ts";
import { createTestHost, reply, scriptedModel, text } from "../../src/testing/index.ts";
import { user } from "../kit/messages.ts";

describe("a conversation", () => {
  class Chat extends Think {
    override getModel() {
      return scriptedModel([reply(text("one"))]);
    }
    count(table: "assistant_messages" | "cf_schedules") {
      if (table === "cf_schedules") return this.sql<{ count: number }>`SELECT COUNT(*) AS count FROM cf_schedules`;
      return this.sql<{ count: number }>`SELECT COUNT(*) AS count FROM assistant_messages`;
    }
    keepNote() {
      this.sql`CREATE TABLE notes (text TEXT)`;
      this.sql`INSERT INTO notes VALUES ('INSERT INTO cf_schedules'), ('cf_state')`;
      return this.sql`SELECT text FROM notes WHERE text = 'cf_state'`;
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
    await chat.saveMessages([user("u1", "Hi")]);
    await host.idle();
    expect(tables(host)).toEqual(["assistant_messages", "cf_conversations", "cf_journal", "cf_meta", "cf_turns"]);
  });

  test("has a new object's one table before it, whatever user code keeps beside it", async () => {
    const { host, chat } = await open();
    expect(tables(host)).toEqual(["cf_meta"]);
    expect(await chat.keepNote()).toEqual([{ text: "cf_state" }]);
    expect(tables(host)).toEqual(["cf_meta", "notes"]);
  });

  test("lets user code read a table of ours as soon as it exists, and says so before that", async () => {
    const { host, chat } = await open();
    await expect(chat.count("cf_schedules")).rejects.toThrow("no such table: cf_schedules");
    await chat.saveMessages([user("u1", "Hi")]);
    await host.idle();
    expect(await chat.count("assistant_messages")).toEqual([{ count: 2 }]);
  });

  test("shows a test empty tables where there are none yet, and is as it was", async () => {
    const { host } = await open();
    const before = tables(host);
    expect(host.sql(Chat, "a", "SELECT COUNT(*) AS count FROM cf_work")).toEqual([{ count: 0 }]);
    expect(tables(host)).toEqual(before);
    host.sql(Chat, "a", "INSERT INTO cf_state (id, json) VALUES (1, '7')");
    expect(host.sql(Chat, "a", "SELECT json FROM cf_state")).toEqual([{ json: "7" }]);
  });
});
