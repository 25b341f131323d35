// Full-text search on the SQLite of workerd: its FTS5, its tokenizer, its rules for statements.
import { expect, test } from "vitest";
import { Session } from "../../src/session/index.ts";
import { env, inside, rawStub, uniqueName } from "./world.ts";
import { user } from "../kit/messages.ts";

const message = (id: string, text: string) => user(id, text);

test("a session's messages are found by their words in workerd, through updates, deletions and a clear", async () => {
  const stub = rawStub(env.Talker, uniqueName());
  await stub.getMessages();
  await inside(stub, async (talker, state) => {
    const session = Session.create(talker).forSession("searched");
    const found = async (query: string) => (await session.search(query)).map(({ id }) => id);
    await session.appendMessage(message("m1", "We deployed the cafés on Friday"));
    await session.appendMessage(message("m2", "On Friday we deploy"));
    expect(await found("deploying cafe")).toEqual(["m1"]);
    expect((await found("friday deploy")).sort()).toEqual(["m1", "m2"]);
    expect(await found('"on friday we"')).toEqual(["m2"]);
    expect(await found("friday NOT deploy")).toEqual([]);
    await session.appendMessage(message("b1", "Another branch of the cafe"), "m1");
    expect(await session.search("cafe branch")).toMatchObject([{ id: "b1", parentId: "m1", onActivePath: true }]);
    expect(await session.search('"friday we"')).toMatchObject([{ id: "m2", parentId: "m1", onActivePath: false }]);
    await session.deleteMessages(["b1"]);
    expect(await session.search("cafe")).toMatchObject([
      { parentId: null, onActivePath: true, createdAt: expect.any(Date) }
    ]);

    await session.updateMessage(message("m1", "Nothing about it"));
    expect(await found("friday")).toEqual(["m2"]);
    await session.deleteMessages(["m2"]);
    expect(await found("friday")).toEqual([]);
    expect(await found("nothing")).toEqual(["m1"]);
    await session.clearMessages();
    expect(await found("nothing")).toEqual([]);
    expect(state.storage.sql.exec("SELECT * FROM cf_search_messages").toArray()).toEqual([]);
  });
});

test("an append writes the same rows whether or not the session was searched", async () => {
  const stub = rawStub(env.Talker, uniqueName());
  await stub.getMessages();
  await inside(stub, async (talker, state) => {
    const session = Session.create(talker).forSession("counted");
    const made = () =>
      state.storage.sql.exec("SELECT name FROM sqlite_master WHERE name LIKE 'cf_search_text%'").toArray();
    await session.appendMessage(message("m1", "tea"));
    expect(made()).toEqual([]);
    await session.search("tea");
    expect(made()).not.toEqual([]);
    const entries = () => state.storage.sql.exec("SELECT entry FROM cf_search_messages").toArray().length;
    const before = entries();
    await session.appendMessage(message("m2", "tea"));
    expect(entries()).toBe(before);
    expect(await session.search("tea")).toHaveLength(2);
    expect(entries()).toBe(before + 1);
  });
});

test("an older program's index of the messages can be dropped", async () => {
  const stub = rawStub(env.Room, uniqueName());
  await inside(stub, (_room, state) => {
    const { sql } = state.storage;
    sql.exec("CREATE VIRTUAL TABLE assistant_fts USING fts5 (id UNINDEXED, content, tokenize = 'porter unicode61')");
    sql.exec("INSERT INTO assistant_fts VALUES ('m1', 'tea')");
    state.storage.transactionSync(() => sql.exec("DROP TABLE IF EXISTS assistant_fts"));
    expect(sql.exec("SELECT name FROM sqlite_master WHERE name LIKE 'assistant_fts%'").toArray()).toEqual([]);
  });
});
