// Searching a session: what is found, in which order, and what it costs sessions that do not search.
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { tablesOf } from "../host/schema.ts";
import { TableSet } from "../host/table-set.ts";
import { Crash } from "../journal/memory-sql.test-support.ts";
import { INDEX_BATCH_BYTES, INDEX_BATCH_MESSAGES, MAX_INDEXED_CHARS, SEARCH_TABLES } from "./search-index.ts";
import { DEFAULT_SEARCH_RESULTS, MAX_SEARCH_RESULTS } from "./search.ts";
import { Session } from "./session.ts";
import { sessionScope } from "./session-host.ts";
import { MessageStore } from "./message-store.ts";
import { ids, openTestSession, text, type TestSession } from "./session.test-support.ts";

const open = (sessionId = "") => openTestSession(new DatabaseSync(":memory:"), sessionId);
const found = async (store: MessageStore, query: string, limit?: number) =>
  ids(await store.searchMessages(query, limit));

function fill(session: TestSession, texts: Record<string, string>): TestSession {
  for (const [id, content] of Object.entries(texts)) session.store.appendMessage(text(id, "user", content));
  return session;
}

/** Ids in the index; the texts it holds are as many. */
function indexed({ memory }: TestSession): string[] {
  const tables = new TableSet(memory, SEARCH_TABLES);
  const entries = tables.all<{ id: string }>("SELECT message_id AS id FROM cf_search_messages ORDER BY id");
  expect(tables.all("SELECT id FROM cf_search_text_docsize")).toHaveLength(entries.length);
  return ids(entries);
}

afterEach(() => void vi.restoreAllMocks());

describe("a search", () => {
  test("finds messages that hold every word, wherever the words stand", async () => {
    const { store } = fill(open(), { m1: "alpha goes before beta", m2: "beta", m3: "Beta, then ALPHA", m4: "alpha" });
    expect((await found(store, "alpha beta")).sort()).toEqual(["m1", "m3"]);
    expect(await found(store, "alpha beta gamma")).toEqual([]);
  });

  test("takes words in any of their forms and without accents", async () => {
    const { store } = fill(open(), { m1: "We deployed the cafés", m2: "nothing" });
    expect(await found(store, "deploying café")).toEqual(["m1"]);
    expect(await found(store, "deploys cafe")).toEqual(["m1"]);
  });

  test("puts messages with the words next to each other first, however short and full of them the others are", async () => {
    const long = `${"other words ".repeat(200)} deployment friday`;
    const { store } = fill(open(), { m1: "friday deployment friday deployment", m2: long, m3: "friday, deployment" });
    expect((await found(store, "deployment friday"))[0]).not.toBe("m3");
    expect(await found(store, "deployment friday", 2)).toEqual(["m1", "m2"]);
    expect(await found(store, '"deployment friday"')).toEqual(["m1", "m2"]);
  });

  test("ranks a message that is about the word above one that mentions it", async () => {
    const { store } = fill(open(), {
      m1: `tea ${"and much else ".repeat(50)}`,
      m2: "tea, tea",
      m3: "coffee",
      m4: "water"
    });
    expect(await found(store, "tea")).toEqual(["m2", "m1"]);
  });

  test("shows the newest of equals first", async () => {
    const { store } = fill(open(), { m1: "same", m2: "same", m3: "same" });
    expect(await found(store, "same")).toEqual(["m3", "m2", "m1"]);
  });

  test("tells where a message is: its parent, and whether the active path leads through it", async () => {
    const { store } = fill(open(), { u1: "question tea", a1: "answer tea" });
    store.appendMessage(text("a2", "assistant", "another tea"), "u1");
    const results = await store.searchMessages("tea");
    expect(new Map(results.map(({ id, parentId, onActivePath }) => [id, { parentId, onActivePath }]))).toEqual(
      new Map([
        ["a2", { parentId: "u1", onActivePath: true }],
        ["a1", { parentId: "u1", onActivePath: false }],
        ["u1", { parentId: null, onActivePath: true }]
      ])
    );
    expect(results[0]).toEqual({
      id: "a2",
      role: "assistant",
      content: "another tea",
      createdAt: new Date(Date.UTC(2030, 0, 1)),
      parentId: "u1",
      onActivePath: true
    });
  });

  test("without branches every message is on the active path", async () => {
    const { store } = fill(open(), { m1: "tea", m2: "tea" });
    expect((await store.searchMessages("tea")).map(({ onActivePath }) => onActivePath)).toEqual([true, true]);
  });

  test("finds messages that a summary hides, and not the summary", async () => {
    const { store } = fill(open(), { m1: "tea", m2: "tea", m3: "tea", m4: "water" });
    store.addCompaction("They spoke of tea and milk.", "m1", "m3");
    expect(store.getHistory().map(({ id }) => id)).not.toContain("m2");
    expect(await found(store, "tea")).toEqual(["m3", "m2", "m1"]);
    expect(await found(store, "milk")).toEqual([]);
  });

  test("looks at text parts only, joined, and gives their text", async () => {
    const { store } = open();
    const tool = { type: "tool-look", toolCallId: "c", state: "output-available", input: {}, output: "hidden" };
    const parts = [{ type: "text", text: "one" }, tool, { type: "text", text: "two" }];
    store.appendMessage({ id: "m1", role: "assistant", parts });
    store.appendMessage({ id: "m2", role: "assistant", parts: [tool] });
    expect(await store.searchMessages("one two")).toMatchObject([{ id: "m1", content: "one two" }]);
    expect(await found(store, "hidden")).toEqual([]);
  });

  test("prefers the time the message itself gives", async () => {
    const { store } = open();
    const createdAt = new Date(Date.UTC(2001, 1, 3));
    store.appendMessage({ ...text("m1", "user", "tea"), createdAt });
    expect(await store.searchMessages("tea")).toMatchObject([{ createdAt }]);
  });

  test("keeps to its session", async () => {
    const first = fill(open("a"), { m1: "tea of a" });
    const second = { ...first, store: new MessageStore(sessionScope(first.host, "b")) };
    fill(second, { m1: "tea of b", m2: "more tea" });
    expect(await first.store.searchMessages("tea")).toMatchObject([{ content: "tea of a" }]);
    expect(await found(second.store, "tea")).toHaveLength(2);
    // The others' hits must not take the places of one's own.
    for (let n = 0; n < 5; n += 1) second.store.appendMessage(text(`x${n}`, "user", "tea"));
    expect(await found(second.store, "tea", 1)).toEqual(["x4"]);
    expect(await found(first.store, "tea", 1)).toEqual(["m1"]);
    second.store.deleteMessages(["x0", "x1", "x2", "x3", "x4"]);
    first.store.clearMessages();
    expect(await found(first.store, "tea")).toEqual([]);
    expect(await found(second.store, "tea")).toHaveLength(2);
  });

  test.each([
    '"',
    "*",
    "NEAR(",
    "tea OR",
    "tea AND NOT",
    "content:tea",
    "{content}: tea",
    "^tea",
    "tea*",
    "a\0b",
    "(",
    ""
  ])("%j is text, never syntax", async (query) => {
    const { store } = fill(open(), { m1: "tea", m2: "water" });
    expect(await found(store, query)).toEqual(/^[\^]?tea[*]?$/.test(query) ? ["m1"] : []);
  });

  test("gives 20 results unless told, never more than 100, and none for a limit of none", async () => {
    const session = open();
    for (let n = 0; n < MAX_SEARCH_RESULTS + 5; n += 1) session.store.appendMessage(text(`m${n}`, "user", "tea"));
    const counts = [];
    for (const limit of [undefined, Number.NaN, 3.9, 1e9, 0, -1])
      counts.push((await found(session.store, "tea", limit)).length);
    expect(counts).toEqual([DEFAULT_SEARCH_RESULTS, DEFAULT_SEARCH_RESULTS, 3, MAX_SEARCH_RESULTS, 0, 0]);
  });

  test("finds words of a message that histories show shortened, as far as the indexed length", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const { store } = open();
    const long = `needle ${"x".repeat(1_900_000)}`;
    const late = `${"y ".repeat(MAX_INDEXED_CHARS / 2)}beyond`;
    store.appendMessage({ ...text("m1", "user", `${"first ".repeat(1000)} ${long}`) });
    store.appendMessage(text("m2", "user", late));
    expect(await found(store, "needle")).toEqual(["m1"]);
    expect(await found(store, "beyond")).toEqual([]);
  });

  test("of a provider that cannot is refused, and of one that can is passed on", async () => {
    const provider = open().store;
    const without = Object.assign(Object.create(provider) as typeof provider, { searchMessages: undefined });
    await expect(new Session(without as never).search("tea")).rejects.toThrow(
      "Session provider does not support search"
    );
    const searchMessages = vi.fn(() => [{ id: "m1", role: "user", content: "tea" }]);
    const own = Object.assign(Object.create(provider) as typeof provider, { searchMessages });
    expect(await new Session(own as never).search("tea", { limit: 7 })).toHaveLength(1);
    expect(searchMessages).toHaveBeenCalledWith("tea", 7);
  });
});

describe("the index follows", () => {
  test("new messages, by the next search", async () => {
    const { store } = fill(open(), { m1: "tea" });
    expect(await found(store, "tea")).toEqual(["m1"]);
    store.appendMessage(text("m2", "user", "tea"));
    store.appendMessage(text("m3", "user", "tea"), null);
    store.appendMessage(text("m4", "user", "tea"), "m1");
    expect((await found(store, "tea")).sort()).toEqual(["m1", "m2", "m3", "m4"]);
  });

  test("updates, also those that take the text away", async () => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const session = fill(open(), { m1: "tea", m2: "tea" });
    const { store } = session;
    await found(store, "tea");
    store.updateMessage(text("m1", "user", "coffee"));
    store.updateMessage({ id: "m2", role: "user", parts: [] });
    // In its place: an index that had to be dropped and made again would find the same.
    expect(indexed(session)).toEqual(["m1"]);
    expect(warned).not.toHaveBeenCalled();
    expect([await found(store, "tea"), await found(store, "coffee")]).toEqual([[], ["m1"]]);
    store.updateMessage(text("m2", "user", "tea again"));
    expect(await found(store, "tea")).toEqual(["m2"]);
  });

  test("deletions and clears", async () => {
    const session = fill(open(), { m1: "tea", m2: "tea", m3: "tea" });
    const { store, memory } = session;
    await found(store, "tea");
    store.deleteMessages(["m2", "unknown"]);
    // At once, not by the next search.
    expect(indexed(session)).toEqual(["m1", "m3"]);
    expect(await found(store, "tea")).toEqual(["m3", "m1"]);
    store.clearMessages();
    expect(await found(store, "tea")).toEqual([]);
    expect(memory.all("SELECT * FROM cf_search_messages")).toEqual([]);
    store.appendMessage(text("m4", "user", "tea"));
    expect(await found(store, "tea")).toEqual(["m4"]);
  });

  test("edits: the old version is found under its archived id, the new one under the message's", async () => {
    const { store } = fill(open(), { m1: "old tea", m2: "answer" });
    await found(store, "tea");
    store.editMessage(text("m1", "user", "new coffee"), "archived");
    expect(await store.searchMessages("tea")).toMatchObject([
      { id: "archived", content: "old tea", onActivePath: false }
    ]);
    expect(await store.searchMessages("coffee")).toMatchObject([{ id: "m1", onActivePath: true }]);
    store.editMessage(text("m1", "user", "newest water"), "unused");
    expect([await found(store, "coffee"), await found(store, "water")]).toEqual([[], ["m1"]]);
  });

  test("whatever happens to the messages: it finds what a look at each of them finds", async () => {
    const words = ["tea", "water", "milk"];
    const id = fc.integer({ min: 0, max: 9 }).map((n) => `m${n}`);
    const content = fc.array(fc.constantFrom(...words), { maxLength: 3 }).map((some) => some.join(" "));
    const parent = fc.oneof(fc.constant(undefined), fc.constant(null), id);
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant("append" as const), id, content, parent }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("update" as const), id, content }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), id }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("edit" as const), id, content }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("search" as const) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("clear" as const) }) }
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const session = open();
        const { store } = session;
        let archived = 0;
        for (const at of [...steps, { kind: "search" as const }]) {
          if (at.kind === "append") store.appendMessage(text(at.id, "user", at.content), at.parent);
          if (at.kind === "update") store.updateMessage(text(at.id, "user", at.content));
          if (at.kind === "edit") store.editMessage(text(at.id, "user", at.content), `archived${archived++}`);
          if (at.kind === "delete") store.deleteMessages([at.id]);
          if (at.kind === "clear") store.clearMessages();
          if (at.kind !== "search") continue;
          const stored = store.rows.table.all<{ id: string }>("SELECT id FROM assistant_messages");
          const active = new Set(ids(store.getHistory()));
          for (const word of words) {
            const expected = ids(stored).filter((each) => JSON.stringify(store.getMessage(each)).includes(word));
            const results = await store.searchMessages(word);
            expect(ids(results).sort()).toEqual(expected.sort());
            for (const result of results) expect(result.onActivePath).toBe(active.has(result.id));
          }
          expect(indexed(session)).toEqual(
            ids(stored)
              .filter((each) => words.some((word) => JSON.stringify(store.getMessage(each)).includes(word)))
              .sort()
          );
        }
      }),
      { numRuns: 40 }
    );
  });
});

describe("cost", () => {
  test("an agent that does not search writes no row of the index, and has none", () => {
    const session = open();
    const costs = () => {
      session.sql.reset();
      session.store.appendMessage(text(`m${Math.random()}`, "user", "tea"));
      return session.sql.rowsWritten;
    };
    expect(costs()).toBe(2);
    session.store.appendMessage(text("m1"));
    session.store.updateMessage(text("m1", "user", "other"));
    session.store.deleteMessages(["m1"]);
    session.store.clearMessages();
    expect(session.memory.all("SELECT name FROM sqlite_master WHERE name LIKE 'cf_search_text%'")).toEqual([]);
    expect(tablesOf(session.memory)).not.toContain("cf_search_sessions");
  });

  test("an append to a searched session writes and reads what it always did", async () => {
    const session = fill(open(), { m1: "tea" });
    const cost = (id: string) => {
      session.sql.reset();
      session.store.appendMessage(text(id, "user", "tea"));
      return [session.sql.rowsWritten, session.sql.rowsRead];
    };
    const before = cost("m2");
    await found(session.store, "tea");
    expect(cost("m3")).toEqual(before);
  });

  test("an update that leaves the text alone writes nothing to the index", async () => {
    const session = fill(open(), { m1: "tea" });
    await found(session.store, "tea");
    session.sql.reset();
    session.store.updateMessage({ ...text("m1", "user", "tea"), metadata: { seen: true } });
    expect(
      session.sql.statements.filter((statement) => /INTO cf_search|FROM cf_search_(text|messages)/.test(statement))
    ).toEqual([]);
  });

  test("a search after a few new messages reads those, not the history", async () => {
    const session = open();
    for (let n = 0; n < 2_000; n += 1) session.store.appendMessage(text(`m${n}`, "user", `rare${n}`));
    await found(session.store, "rare7");
    session.sql.reset();
    session.store.appendMessage(text("new", "user", "rare new"));
    expect(await found(session.store, "new")).toEqual(["new"]);
    expect(session.sql.rowsRead).toBeLessThan(30);
  });

  test("a search for a word that every message holds reads the results, not the history", async () => {
    const session = open();
    for (let n = 0; n < 2_000; n += 1) session.store.appendMessage(text(`m${n}`, "user", `common ${n}`));
    await found(session.store, "common");
    session.sql.reset();
    expect(await found(session.store, "common")).toHaveLength(DEFAULT_SEARCH_RESULTS);
    expect(session.sql.rowsRead).toBeLessThan(5 * DEFAULT_SEARCH_RESULTS);
    expect(session.sql.rowsWritten).toBe(0);
  });

  test("a long history is indexed in batches, and others get their turn between them", async () => {
    const session = open();
    const count = INDEX_BATCH_MESSAGES * 2 + 10;
    for (let n = 0; n < count; n += 1) session.store.appendMessage(text(`m${n}`, "user", `word${n}`));
    let pauses = 0;
    session.host.pause = async () => {
      pauses += 1;
      // A message that goes and one that comes while the index is made.
      if (pauses === 1) session.store.deleteMessages([`m${count - 1}`, "m0"]);
      if (pauses === 1) session.store.appendMessage(text("late", "user", "word0"));
    };
    expect(await found(session.store, "word0")).toEqual(["late"]);
    expect(pauses).toBe(2);
    expect(await found(session.store, `word${count - 1}`)).toEqual([]);
    expect(await found(session.store, `word${count - 2}`)).toEqual([`m${count - 2}`]);
  });

  test("few large messages are indexed in batches too: no transaction takes more bytes than its limit", async () => {
    const session = open();
    const large = (word: string) => word.padEnd(INDEX_BATCH_BYTES / 4, " filler");
    for (let n = 0; n < 7; n += 1) session.store.appendMessage(text(`m${n}`, "user", large(`word${n}`)));
    const batches: number[] = [];
    let known = 0;
    const took = () => {
      const now = indexed(session).length;
      batches.push(now - known);
      known = now;
    };
    session.host.pause = async () => took();
    expect(await found(session.store, "word6")).toEqual(["m6"]);
    took();
    // A quarter of the limit each, and a few bytes around it.
    expect(batches).toEqual([3, 3, 1]);
  });
});

describe("a crash", () => {
  const CALLS: [string, (store: MessageStore) => unknown][] = [
    ["search", (store) => store.searchMessages("tea")],
    ["update", (store) => store.updateMessage(text("m1", "user", "coffee"))],
    ["delete", (store) => store.deleteMessages(["m1", "m2"])],
    ["edit", (store) => store.editMessage(text("m1", "user", "coffee"), "archived")],
    ["clear", (store) => store.clearMessages()]
  ];
  const prepare = async () => {
    const session = fill(open(), { m1: "tea", m2: "tea" });
    await found(session.store, "tea");
    return fill(session, { m3: "tea" });
  };
  const picture = async ({ store }: TestSession) => [await found(store, "tea"), await found(store, "coffee")];

  test.each(CALLS)("in %s leaves messages and index in step, wherever the process dies", async (_name, call) => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const whole = await prepare();
    const writesBefore = whole.memory.writes;
    await call(whole.store);
    const writes = whole.memory.writes - writesBefore;
    const after = await picture(whole);
    const before = await picture(await prepare());
    expect(writes).toBeGreaterThan(1);
    for (let write = 1; write <= writes; write += 1) {
      const killed = await prepare();
      killed.memory.crashAtWrite(write);
      await expect(async () => call(killed.store)).rejects.toThrow(Crash);
      const rebooted = killed.reboot();
      expect(await picture(rebooted)).toEqual(before);
      await call(rebooted.store);
      expect(await picture(rebooted)).toEqual(after);
    }
  });
});

describe("a damaged index", () => {
  const DAMAGES = [
    "DELETE FROM cf_search_text_data",
    "UPDATE cf_search_text_docsize SET sz = x'FF'",
    "DROP TABLE cf_search_text",
    "INSERT INTO cf_search_messages VALUES (4294967299, 'stranger')"
  ];
  const CHANGES: [string, (store: MessageStore) => unknown][] = [
    ["search", () => undefined],
    ["append", (store) => store.appendMessage(text("m3", "user", "tea"))],
    ["update", (store) => store.updateMessage(text("m1", "user", "coffee"))],
    ["delete", (store) => store.deleteMessages(["m1"])],
    ["clear", (store) => store.clearMessages()]
  ];

  test.each(DAMAGES.flatMap((damage) => CHANGES.map(([name, change]) => ({ damage, name, change }))))(
    "($damage) is made again: $name and search go on",
    async ({ damage, change }) => {
      vi.spyOn(console, "warn").mockImplementation(() => undefined);
      const session = fill(open(), { m1: "tea", m2: "tea" });
      await found(session.store, "tea");
      session.memory.run(damage);
      await change(session.store);
      const expected = ids(session.store.getHistory().filter((message) => JSON.stringify(message).includes("tea")));
      expect(await found(session.store, "tea")).toEqual(expected.reverse());
    }
  );

  test("a message that cannot be read is not found, and hides no other", async () => {
    const session = fill(open(), { m1: "tea", m2: "tea" });
    await found(session.store, "tea");
    session.memory.run("UPDATE assistant_messages SET content = '{' WHERE id = 'm2'");
    expect(await found(session.store, "tea")).toEqual(["m1"]);
    expect(session.setAside).toHaveLength(1);
  });
});
