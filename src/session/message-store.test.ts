import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { TableSet } from "../host/table-set.ts";
import { MESSAGE_TABLES } from "./message-rows.ts";
import { MessageStore } from "./message-store.ts";
import { sessionScope } from "./session-host.ts";
import type { SessionMessage } from "./session-message.ts";
import { ids, openTestSession, text } from "./session.test-support.ts";

const open = (sessionId = "") => openTestSession(new DatabaseSync(":memory:"), sessionId);

describe("appending", () => {
  it("keeps the first content of an id appended twice, in one row", () => {
    const { store, sql } = open();
    expect(store.appendMessage(text("m1", "user", "first"))).toBe(true);
    expect(store.appendMessage(text("m1", "user", "second"), null)).toBe(false);
    expect(store.getHistory()).toEqual([text("m1", "user", "first")]);
    expect(sql.all("SELECT id FROM assistant_messages")).toHaveLength(1);
  });

  it("starts a new root under null, and under a parent that is unknown or of another session", () => {
    const { store, host } = open();
    const other = new MessageStore(sessionScope(host, "other"));
    other.appendMessage(text("foreign"));
    store.appendMessage(text("m1"));
    store.appendMessage(text("m2"), null);
    expect(ids(store.getHistory())).toEqual(["m2"]);
    store.appendMessage(text("m3"), "nobody");
    expect(ids(store.getHistory())).toEqual(["m3"]);
    store.appendMessage(text("m4"), "foreign");
    expect(ids(store.getHistory())).toEqual(["m4"]);
    expect(store.getPathLength()).toBe(1);
  });

  it("gives two children of one parent as branches, each with its own history, the later one active", () => {
    const { store } = open();
    for (const id of ["u1", "a1", "u2", "a2"]) store.appendMessage(text(id));
    store.appendMessage(text("b1"), "u1");
    expect(ids(store.getBranches("u1"))).toEqual(["a1", "b1"]);
    expect(ids(store.getHistory())).toEqual(["u1", "b1"]);
    expect(ids(store.getHistory("a2"))).toEqual(["u1", "a1", "u2", "a2"]);
    expect(store.getLatestLeaf()?.id).toBe("b1");
    expect(ids(store.getBranches("a1"))).toEqual(["u2"]);
    expect(ids(store.getBranches("a2"))).toEqual([]);
    expect(ids(store.getBranches("nobody"))).toEqual([]);
    expect(store.getHistory("nobody")).toEqual([]);
  });

  it("makes a continued old branch the active one, with exact sums", () => {
    const { store } = open();
    for (const id of ["u1", "a1", "u2"]) store.appendMessage(text(id));
    store.appendMessage(text("b1"), "u1");
    store.appendMessage(text("u3"), "u2");
    expect(ids(store.getHistory())).toEqual(["u1", "a1", "u2", "u3"]);
    expect(store.getPathLength()).toBe(4);
    expect(ids(store.getBranches("u2"))).toEqual(["u3"]);
  });

  it("refuses what could not be read back", () => {
    const { store } = open();
    expect(() => store.appendMessage({ id: "", role: "user", parts: [] })).toThrow(/no id/);
    expect(() => store.appendMessage({ id: "x", role: "r".repeat(65), parts: [] })).toThrow(/role/);
    // A program without types may pass anything.
    expect(() => store.appendMessage(JSON.parse('{"id":"x","role":"user"}'))).toThrow(/list of parts/);
    expect(() => store.appendMessage(text("x".repeat(300)))).toThrow(/256 bytes/);
    expect(store.leafId).toBeNull();
  });

  it("keeps unknown fields, metadata and dates", () => {
    const { store } = open();
    const message = { ...text("m1"), metadata: { a: [1] }, custom: { b: null }, createdAt: new Date(1e12) };
    store.appendMessage(message);
    expect(store.getMessage("m1")).toEqual(message);
  });

  it("undoes everything when the caller's transaction fails", () => {
    const { store, host } = open();
    store.appendMessage(text("m1"));
    expect(() =>
      host.conversation("").transaction(() => {
        store.appendMessage(text("m2"));
        throw new Error("no");
      })
    ).toThrow("no");
    expect(ids(store.getHistory())).toEqual(["m1"]);
    store.appendMessage(text("m3"));
    expect(ids(store.getHistory())).toEqual(["m1", "m3"]);
  });

  it("finds the newest message again when its row was removed behind its back", () => {
    const { store, memory } = open();
    for (const id of ["m1", "m2", "m3"]) store.appendMessage(text(id));
    memory.run("DELETE FROM assistant_messages WHERE id = 'm3'");
    store.appendMessage(text("m4"));
    expect(ids(store.getHistory())).toEqual(["m1", "m2", "m4"]);
    expect(store.getPathLength()).toBe(3);
  });
});

describe("cost", () => {
  it("of an append does not depend on the length of the history", () => {
    const { store, sql } = open();
    const costs = new Set<string>();
    for (let index = 0; index < 10_000; index += 1) {
      sql.reset();
      store.appendMessage(text(`m${index}`, index % 2 === 0 ? "user" : "assistant"));
      if (index >= 9_000) costs.add(`${sql.rowsRead} read, ${sql.rowsWritten} written`);
    }
    // The row of the message and the row of the conversation.
    expect([...costs]).toEqual(["1 read, 2 written"]);
    expect(store.getPathLength()).toBe(10_000);
    sql.reset();
    expect(store.getRecentHistory(null, 1, 10).messages).toHaveLength(10);
    expect(sql.rowsRead).toBeLessThan(20);
  });

  it("of an append touches no row but by its key, and no index", () => {
    const { store, sql, memory } = open();
    store.appendMessage(text("m1"));
    sql.reset();
    store.appendMessage(text("m2"));
    for (const statement of sql.statements) {
      const plan = memory.all<{ detail: string }>(
        `EXPLAIN QUERY PLAN ${statement}`,
        ...Array.from({ length: (statement.match(/\?/g) ?? []).length }, () => null)
      );
      for (const { detail } of plan) expect(detail).not.toMatch(/^SCAN (m|assistant_messages|cf_)/);
    }
    const flagged = memory.all(
      "SELECT id FROM assistant_messages INDEXED BY assistant_messages_branches WHERE is_branch = 1"
    );
    expect(flagged).toEqual([{ id: "m1" }]);
  });

  it("of regenerating does not depend on the length of the history either", () => {
    const { store, sql } = open();
    const cost = (length: number) => {
      while (store.getPathLength() < length) store.appendMessage(text(`m${store.getPathLength()}`));
      store.appendMessage(text(`answer ${length}`));
      sql.reset();
      store.appendMessage(text(`again ${length}`), `m${length - 1}`);
      return [sql.rowsRead, sql.rowsWritten];
    };
    expect(cost(100)).toEqual(cost(1_000));
  });

  it("of opening is nothing", () => {
    const first = open();
    first.store.appendMessage(text("m1"));
    const { sql } = first.reboot();
    expect(sql.statements).toEqual([]);
  });
});

describe("reading", () => {
  test.each([1, 49, 50, 51, 100, 101, 120, 500])(
    "a history of %i messages comes back complete and in order",
    (count) => {
      const { store } = open();
      const messages = Array.from({ length: count }, (_, index) => text(`m${index}`));
      for (const message of messages) store.appendMessage(message);
      expect(store.getHistory()).toEqual(messages);
      expect(ids(store.getHistoryRowStats())).toEqual(ids(messages));
      expect(store.getPathLength()).toBe(count);
    }
  );

  it("a path of more than 10 MB comes back complete, in statements of bounded size", () => {
    const { store, sql } = open();
    const messages = Array.from({ length: 14 }, (_, index) => text(`m${index}`, "user", "x".repeat(800_000 + index)));
    for (const message of messages) store.appendMessage(message);
    sql.reset();
    expect(store.getHistory()).toEqual(messages);
    expect(sql.statements.length).toBeGreaterThan(2);
  });

  it("skips a corrupt row, sets it aside once, and loses nothing else", () => {
    const { store, memory, setAside } = open();
    for (const id of ["m1", "m2", "m3", "m4"]) store.appendMessage(text(id));
    memory.run("UPDATE assistant_messages SET content = '{' WHERE id = 'm2'");
    memory.run(`UPDATE assistant_messages SET content = '{"id":"m4","role":"user"}' WHERE id = 'm4'`);
    expect(ids(store.getHistory())).toEqual(["m1", "m3"]);
    expect(store.getLatestLeaf()).toBeNull();
    expect(ids(store.getHistory())).toEqual(["m1", "m3"]);
    expect(setAside.map(({ key, body }) => [key, body])).toEqual([
      ['["","m4"]', '{"id":"m4","role":"user"}'],
      ['["","m2"]', "{"]
    ]);
    store.appendMessage(text("m5"));
    expect(ids(store.getHistory())).toEqual(["m1", "m3", "m5"]);
  });

  it("recent: never fewer than the minimum, a suffix that ends at the leaf, and the whole path's bytes", () => {
    const { store } = open();
    for (let index = 0; index < 30; index += 1) store.appendMessage(text(`m${index}`, "user", "x".repeat(1_000)));
    const total = store.getHistoryRowStats().reduce((sum, { bytes }) => sum + bytes, 0);
    const atLeast = store.getRecentHistory(null, 10, 4);
    expect(ids(atLeast.messages)).toEqual(["m26", "m27", "m28", "m29"]);
    expect(atLeast).toMatchObject({ truncated: true, totalContentBytes: total });
    expect(store.getRecentHistory(null, 10_800, 4).messages).toHaveLength(10);
    expect(store.getRecentHistory(undefined, total)).toMatchObject({ truncated: false });
    expect(store.getRecentHistory(undefined, total).messages).toHaveLength(30);
  });

  it("finds the message of a tool call, the newest first", () => {
    const { store } = open();
    const call = (id: string, toolCallId: string): SessionMessage => ({
      id,
      role: "assistant",
      parts: [{ type: "tool-look", toolCallId, state: "input-available", input: {} }]
    });
    store.appendMessage(call("a1", 'c"1'));
    store.appendMessage(text("u2", "assistant", 'talks about "c\\"1"'));
    store.appendMessage(call("a3", "c3"));
    expect(store.messageOfCall('c"1')?.id).toBe("a1");
    expect(store.messageOfCall("c3")?.id).toBe("a3");
    expect(store.messageOfCall("c4")).toBeNull();
  });
});

describe("changing", () => {
  it("an update of an unknown id stores nothing; of a known one replaces content and keeps its place", () => {
    const { store } = open();
    store.appendMessage(text("m1"));
    store.appendMessage(text("m2"));
    expect(store.updateMessage(text("nobody"))).toBe(false);
    expect(store.updateMessage(text("m1", "user", "changed"))).toBe(true);
    expect(store.getHistory()).toEqual([text("m1", "user", "changed"), text("m2")]);
    expect(store.has("nobody")).toBe(false);
  });

  it("an update that changes nothing writes nothing", () => {
    const { store, sql } = open();
    store.appendMessage(text("m1"));
    sql.reset();
    expect(store.updateMessage(text("m1"))).toBe(false);
    expect(sql.rowsWritten).toBe(0);
  });

  it("an update of the newest message writes one row", () => {
    const { store, sql } = open();
    store.appendMessage(text("m1"));
    store.appendMessage(text("m2"));
    sql.reset();
    store.updateMessage(text("m2", "user", "longer than before"));
    expect(sql.rowsWritten).toBe(1);
  });

  it("deleting an interior message keeps its ancestors and descendants", () => {
    const { store } = open();
    for (const id of ["m1", "m2", "m3", "m4", "m5"]) store.appendMessage(text(id));
    store.deleteMessages(["m3", "nobody"]);
    expect(ids(store.getHistory())).toEqual(["m1", "m2", "m4", "m5"]);
    store.deleteMessages(["m1", "m2"]);
    expect(ids(store.getHistory())).toEqual(["m4", "m5"]);
    expect(store.getPathLength()).toBe(2);
    store.deleteMessages(["m5"]);
    expect(store.getLatestLeaf()?.id).toBe("m4");
    store.deleteMessages(["m4"]);
    expect(store.leafId).toBeNull();
  });

  it("deleting a branch's leaf makes the newest remaining leaf active", () => {
    const { store } = open();
    for (const id of ["u1", "a1", "u2"]) store.appendMessage(text(id));
    store.appendMessage(text("b1"), "u1");
    store.deleteMessages(["b1"]);
    expect(ids(store.getHistory())).toEqual(["u1", "a1", "u2"]);
    store.appendMessage(text("a2"));
    expect(ids(store.getHistory())).toEqual(["u1", "a1", "u2", "a2"]);
  });

  it("clearing one session leaves another's messages, and its blobs, alone", () => {
    const { store, host, sql } = open();
    const other = new MessageStore(sessionScope(host, "other"));
    const large = "y".repeat(2_000_000);
    for (const each of [store, other]) each.appendMessage(text("m1", "user", large));
    store.clearMessages();
    expect(store.getHistory()).toEqual([]);
    expect(other.getMessage("m1")).toEqual(text("m1", "user", large));
    other.clearMessages();
    expect(sql.all("SELECT 1 FROM cf_blobs")).toEqual([]);
  });

  it("an answered message that is edited keeps its id; the old version and what followed are a branch beside it", () => {
    const { store } = open();
    for (const id of ["u1", "a1", "u2", "a2", "u3", "a3"]) store.appendMessage(text(id));
    store.editMessage(text("u2", "user", "edited"), "archived");
    expect(store.getHistory()).toEqual([text("u1"), text("a1"), text("u2", "user", "edited")]);
    expect(ids(store.getHistory("a3"))).toEqual(["u1", "a1", "archived", "a2", "u3", "a3"]);
    expect(ids(store.getBranches("a1"))).toEqual(["archived", "u2"]);
    expect(store.getMessage("archived")).toEqual({ ...text("u2"), id: "archived" });
    store.appendMessage(text("b2"));
    expect(ids(store.getHistory())).toEqual(["u1", "a1", "u2", "b2"]);
    expect(store.getPathLength()).toBe(4);
  });

  it("editing a message without an answer only changes it", () => {
    const { store, sql } = open();
    store.appendMessage(text("u1"));
    store.editMessage(text("u1", "user", "edited"), "archived");
    expect(store.getHistory()).toEqual([text("u1", "user", "edited")]);
    expect(sql.all("SELECT id FROM assistant_messages")).toHaveLength(1);
  });
});

type Step =
  | { do: "append"; parent: number | null | undefined; size: number }
  | { do: "update" | "delete" | "edit"; target: number; size: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("append" as const),
      parent: fc.option(fc.nat(30), { nil: undefined }),
      size: fc.nat(50)
    })
  },
  fc.record({ do: fc.constant("append" as const), parent: fc.constant(null), size: fc.nat(50) }),
  fc.record({
    do: fc.constantFrom("update" as const, "delete" as const, "edit" as const),
    target: fc.nat(30),
    size: fc.nat(50)
  })
);

test("whatever is done to the tree, sums, siblings and paths are what counting them gives", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { store, memory } = open();
      let next = 0;
      for (const each of steps) {
        if (each.do === "append") {
          const parent = typeof each.parent === "number" ? `m${each.parent}` : each.parent;
          store.appendMessage(text(`m${next++}`, "user", "x".repeat(each.size)), parent);
        } else if (each.do === "delete") store.deleteMessages([`m${each.target}`]);
        else if (each.do === "update") store.updateMessage(text(`m${each.target}`, "user", "y".repeat(each.size)));
        else store.editMessage(text(`m${each.target}`, "user", "z".repeat(each.size)), `archive${next++}`);
      }
      const rows = new TableSet(memory, MESSAGE_TABLES).all<{
        id: string;
        parent_id: string | null;
        sequence: number;
        size_bytes: number;
        tokens: number;
        is_branch: number;
      }>("SELECT * FROM assistant_messages ORDER BY sequence");
      const byId = new Map(rows.map((row) => [row.id, row]));
      for (const row of rows) {
        const siblings = rows.filter(({ parent_id }) => parent_id === row.parent_id);
        if (siblings.length > 1 || row.parent_id === null) expect(row.is_branch).toBe(1);
        if (row.parent_id !== null) expect(byId.get(row.parent_id)!.sequence).toBeLessThan(row.sequence);
        expect(ids(store.getBranches(row.id))).toEqual(ids(rows.filter(({ parent_id }) => parent_id === row.id)));
      }
      const path: typeof rows = [];
      for (let row = byId.get(store.leafId ?? ""); row; row = byId.get(row.parent_id ?? "")) path.unshift(row);
      expect(rows.some(({ parent_id }) => parent_id === store.leafId && parent_id !== null)).toBe(false);
      expect(ids(store.getHistory())).toEqual(ids(path));
      expect(store.totals()).toEqual({
        length: path.length,
        bytes: path.reduce((sum, row) => sum + row.size_bytes, 0),
        tokens: path.reduce((sum, row) => sum + row.tokens, 0)
      });
      expect(rows.length === 0).toBe(store.leafId === null);
    }),
    { numRuns: 300 }
  );
});
