import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it, test, vi } from "vitest";
import { Crash } from "../journal/memory-sql.test-support.ts";
import { CompactionRangeError } from "./errors.ts";
import { LiveView } from "./hydration.ts";
import { MessageStore } from "./message-store.ts";
import { MAX_SUMMARY_BYTES } from "./overlays.ts";
import { sessionScope } from "./session-host.ts";
import { isCompactionMessage, type SessionMessage } from "./session-message.ts";
import { estimateMessageTokens } from "./tokens.ts";
import { ids, openTestSession, text, type TestSession } from "./session.test-support.ts";

const open = () => openTestSession(new DatabaseSync(":memory:"));

function filled(count: number): TestSession {
  const session = open();
  for (let index = 0; index < count; index += 1) session.store.appendMessage(text(`m${index}`));
  return session;
}

/** Ids, with a summary shown by its text. */
const shown = (messages: readonly SessionMessage[]) =>
  messages.map((message) => (isCompactionMessage(message) ? String(message.parts[0]?.["text"]) : message.id));

describe("a summary", () => {
  it("stands for its messages in histories, which stay stored", () => {
    const { store } = filled(6);
    const before = store.getMessage("m2");
    const { id } = store.addCompaction("S", "m1", "m3");
    expect(ids(store.getHistory())).toEqual(["m0", `compaction_${id}`, "m4", "m5"]);
    expect(store.getMessage("m2")).toEqual(before);
    expect(store.getPathLength()).toBe(6);
    expect(store.getHistory()[1]).toMatchObject({ role: "assistant", parts: [{ type: "text", text: "S" }] });
  });

  it("has the time it was made at every read, also after a restart", () => {
    const { store, reboot } = filled(4);
    store.addCompaction("S", "m1", "m2");
    expect(store.getHistory()[1]?.createdAt).toEqual(new Date(Date.UTC(2030, 0, 1)));
    expect(reboot().store.getHistory()).toEqual(store.getHistory());
  });

  it("gives way to a later one from the same message, wider or not, made in the same second", () => {
    const { store } = filled(6);
    store.addCompaction("first", "m1", "m3");
    store.addCompaction("wider", "m1", "m4");
    expect(shown(store.getHistory())).toEqual(["m0", "wider", "m5"]);
    store.addCompaction("narrower", "m1", "m2");
    expect(shown(store.getHistory())).toEqual(["m0", "narrower", "m3", "m4", "m5"]);
    expect(store.getCompactions().map(({ summary }) => summary)).toEqual(["first", "wider", "narrower"]);
  });

  it("may be one of several, and one that starts inside of another is not seen", () => {
    const { store } = filled(8);
    store.addCompaction("late", "m5", "m6");
    store.addCompaction("early", "m1", "m2");
    store.addCompaction("inside", "m2", "m3");
    expect(shown(store.getHistory())).toEqual(["m0", "early", "m3", "m4", "late", "m7"]);
  });

  it("of one branch changes no other, and applies again when its branch goes on", () => {
    const { store } = filled(5);
    store.appendMessage(text("b2"), "m1");
    store.appendMessage(text("b3"));
    store.addCompaction("B", "m1", "b2");
    expect(shown(store.getHistory())).toEqual(["m0", "B", "b3"]);
    expect(shown(store.getHistory("m4"))).toEqual(["m0", "m1", "m2", "m3", "m4"]);
    store.appendMessage(text("m5"), "m4");
    expect(shown(store.getHistory())).toEqual(["m0", "m1", "m2", "m3", "m4", "m5"]);
    store.addCompaction("A", "m1", "m3");
    expect(shown(store.getHistory())).toEqual(["m0", "A", "m4", "m5"]);
    expect(shown(store.getHistory("b3"))).toEqual(["m0", "B", "b3"]);
    store.appendMessage(text("b4"), "b3");
    expect(shown(store.getHistory())).toEqual(["m0", "B", "b3", "b4"]);
  });

  it("is refused when its ends are not in order on one branch, or it is blank or too long; nothing is written", () => {
    const { store, sql } = filled(4);
    store.appendMessage(text("b2"), "m1");
    sql.reset();
    for (const [from, to] of [
      ["m2", "m1"],
      ["m2", "b2"],
      ["nobody", "m1"],
      ["m1", "nobody"]
    ] as const) {
      expect(() => store.addCompaction("S", from, to)).toThrow(CompactionRangeError);
    }
    expect(() => store.addCompaction(" \n", "m0", "m1")).toThrow(expect.objectContaining({ code: "summary-refused" }));
    expect(() => store.addCompaction("x".repeat(MAX_SUMMARY_BYTES + 1), "m0", "m1")).toThrow(
      expect.objectContaining({ code: "summary-refused" })
    );
    expect(sql.rowsWritten).toBe(0);
    expect(store.getCompactions()).toEqual([]);
  });

  it("is never stored as a message, and what is added below it goes below its last message", () => {
    const { store } = filled(3);
    store.addCompaction("S", "m1", "m2");
    const summary = store.getHistory()[1]!;
    expect(store.appendMessage(summary)).toBe(false);
    expect(store.appendMessage({ ...summary, id: "compaction_unknown" })).toBe(false);
    store.updateMessage(summary);
    expect(store.getPathLength()).toBe(3);
    store.appendMessage(text("m3"), summary.id);
    expect(shown(store.getHistory())).toEqual(["m0", "S", "m3"]);
  });

  it("goes with a clear, and no other session's does", () => {
    const { store, host } = filled(3);
    const other = new MessageStore(sessionScope(host, "other"));
    for (const id of ["m0", "m1"]) other.appendMessage(text(id));
    other.addCompaction("other", "m0", "m0");
    store.addCompaction("S", "m1", "m2");
    store.clearMessages();
    expect(store.getCompactions()).toEqual([]);
    store.appendMessage(text("m1"));
    expect(ids(store.getHistory())).toEqual(["m1"]);
    expect(shown(other.getHistory())).toEqual(["other", "m1"]);
  });
});

describe("deleting and editing", () => {
  it("moves the ends of a summary to what is left of its range", () => {
    const { store } = filled(6);
    store.addCompaction("S", "m1", "m4");
    store.deleteMessages(["m1", "m4"]);
    expect(shown(store.getHistory())).toEqual(["m0", "S", "m5"]);
    expect(store.getCompactions()).toMatchObject([{ fromMessageId: "m2", toMessageId: "m3" }]);
    store.deleteMessages(["m0", "m3"]);
    expect(shown(store.getHistory())).toEqual(["S", "m5"]);
  });

  it("takes a summary along when nothing of its range is left", () => {
    const { store } = filled(5);
    store.addCompaction("S", "m1", "m2");
    store.deleteMessages(["m2", "m1"]);
    expect(shown(store.getHistory())).toEqual(["m0", "m3", "m4"]);
    expect(store.getCompactions()).toEqual([]);
  });

  it("of a covered message shows the new version without the summary, which stays with the old branch", () => {
    for (const edited of ["m1", "m2", "m3"]) {
      const { store } = filled(6);
      store.addCompaction("S", "m1", "m3");
      store.editMessage(text(edited, "user", "new"), "archived");
      const path = ["m0", "m1", "m2", "m3"];
      expect(shown(store.getHistory())).toEqual(path.slice(0, path.indexOf(edited) + 1));
      expect(shown(store.getHistory("m5"))).toEqual(["m0", "S", "m4", "m5"]);
      store.appendMessage(text("m6"), "m5");
      expect(shown(store.getHistory())).toEqual(["m0", "S", "m4", "m5", "m6"]);
    }
  });

  it("of the newest message shows it also if a summary covered it", () => {
    const { store } = filled(4);
    store.addCompaction("S", "m1", "m3");
    store.editMessage(text("m3", "user", "new"), "archived");
    expect(shown(store.getHistory())).toEqual(["m0", "S", "m3"]);
    const single = filled(2);
    single.store.addCompaction("S", "m1", "m1");
    single.store.editMessage(text("m1", "user", "new"), "archived");
    expect(shown(single.store.getHistory())).toEqual(["m0", "m1"]);
  });
});

type Write =
  | { do: "append"; at: number | undefined; look: boolean }
  | { do: "update" | "delete" | "edit" | "clear"; at: number; look: boolean }
  | { do: "compact"; at: number; to: number; look: boolean };

const writes = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant("append" as const), at: fc.constant(undefined), look: fc.boolean() })
    },
    fc.record({ do: fc.constant("append" as const), at: fc.nat(9), look: fc.boolean() }),
    fc.record({
      do: fc.constantFrom("update" as const, "delete" as const, "edit" as const, "clear" as const),
      at: fc.nat(9),
      look: fc.boolean()
    }),
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant("compact" as const), at: fc.nat(9), to: fc.nat(9), look: fc.boolean() })
    }
  ),
  { maxLength: 40 }
);

function play(store: MessageStore, list: readonly Write[], look: () => void): void {
  let next = 0;
  for (const write of list) {
    const target = text(`m${write.at}`, "user", `${write.do} ${"x".repeat(next)}`);
    if (write.do === "append")
      store.appendMessage(text(`m${next++}`), write.at === undefined ? undefined : `m${write.at}`);
    if (write.do === "update") store.updateMessage(target);
    if (write.do === "delete") store.deleteMessages([target.id]);
    if (write.do === "edit") store.editMessage(target, `m${next++}`);
    if (write.do === "clear" && write.at === 0) store.clearMessages();
    if (write.do === "compact") {
      try {
        store.addCompaction(`S${next++}`, `m${write.at}`, `m${write.to}`);
      } catch (error) {
        if (!(error instanceof CompactionRangeError)) throw error;
      }
    }
    if (write.look) look();
  }
}

/** The rule as it is told: from the root on, the newest summary that starts here and ends on this path. */
function expected(store: MessageStore, leafId: string): string[] {
  const path = store.getHistoryRowStats(leafId).map(({ id }) => id);
  const result: string[] = [];
  for (let index = 0; index < path.length; index += 1) {
    const newest = store
      .getCompactions()
      .findLast(
        ({ fromMessageId, toMessageId }) => fromMessageId === path[index] && path.indexOf(toMessageId) >= index
      );
    result.push(newest === undefined ? path[index]! : newest.summary);
    if (newest !== undefined) index = path.indexOf(newest.toMessageId);
  }
  return result;
}

test("whatever happens to the tree, every path shows its own summaries, and the sums are what counting gives", () => {
  fc.assert(
    fc.property(writes, (list) => {
      const { store, reboot } = open();
      play(store, list, () => void store.getHistory());
      for (const { id } of store.rows.scanHeaders()) expect(shown(store.getHistory(id))).toEqual(expected(store, id));
      const sized = store.readRecent(null, Number.POSITIVE_INFINITY).messages;
      expect(store.shownTotals()).toEqual({
        bytes: sized.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
        length: sized.length,
        tokens: estimateMessageTokens(sized.map(({ message }) => message))
      });
      expect(reboot().store.getHistory()).toEqual(store.getHistory());
    }),
    { numRuns: 150 }
  );
});

test("after any writes the live view is the shown path, as far as its budget allows, with the newest summary", () => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  fc.assert(
    fc.property(writes, fc.constantFrom(1, 400, 10_000), (list, budget) => {
      const { store } = open();
      const failures: unknown[] = [];
      const init = { store, budgetBytes: () => budget, onWindowed: () => undefined };
      const view = new LiveView({ ...init, onFailure: (error) => failures.push(error) });
      play(store, list, () => void view.messages);
      const all = store.getHistory();
      const seen = view.messages;
      const summary = all.findLast(isCompactionMessage);
      const isKept = summary !== undefined && seen[0]?.id === summary.id;
      const tail = isKept ? seen.slice(1) : seen;
      expect(tail).toEqual(tail.length === 0 ? [] : all.slice(-tail.length));
      if (summary !== undefined) expect(ids(seen)).toContain(summary.id);
      expect(seen.length).toBeGreaterThanOrEqual(Math.min(4, all.length));
      expect(failures).toEqual([]);
    }),
    { numRuns: 150 }
  );
});

test("what a summary saves is counted again when a message it covers changes, here or on a branch left meanwhile", () => {
  const { store } = filled(6);
  const counted = () => estimateMessageTokens(store.getHistory());
  store.addCompaction("inner", "m1", "m2");
  store.addCompaction("S", "m1", "m3");
  store.updateMessage(text("m2", "user", "longer ".repeat(50)));
  expect(store.shownTotals().tokens).toBe(counted());
  store.appendMessage(text("b4"), "m2");
  expect(shown(store.getHistory())).toEqual(["m0", "inner", "b4"]);
  expect(store.shownTotals().tokens).toBe(counted());
  store.updateMessage(text("m3", "user", "much longer ".repeat(50)));
  store.appendMessage(text("m6"), "m5");
  expect(shown(store.getHistory())).toEqual(["m0", "S", "m4", "m5", "m6"]);
  expect(store.shownTotals().tokens).toBe(counted());
  store.addCompaction("all", "m0", "m6");
  store.updateMessage(text("m6", "user", "longer ".repeat(50)));
  expect(store.shownTotals().tokens).toBe(counted());
});

test("a view that follows appends keeps the newest summary when its budget makes it drop messages", () => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const { store } = filled(8);
  store.addCompaction("S", "m1", "m3");
  const fail = (error: unknown) => expect.fail(String(error));
  const view = new LiveView({ store, budgetBytes: () => 1, onWindowed: () => undefined, onFailure: fail });
  expect(shown(view.messages)).toEqual(["S", "m4", "m5", "m6", "m7"]);
  store.appendMessage(text("m8"));
  expect(shown(view.messages)).toEqual(["S", "m5", "m6", "m7", "m8"]);
  store.addCompaction("S2", "m1", "m5");
  expect(shown(view.messages)).toEqual(["S2", "m6", "m7", "m8"]);
});

describe("cost", () => {
  const LENGTH = 10_000;
  const long = filled(LENGTH);
  for (let end = 1_000; end < LENGTH - 100; end += 1_000) long.store.addCompaction(`S${end}`, "m3", `m${end}`);

  it("of an append and its status does not depend on the history or the number of summaries", () => {
    const { store, sql } = long;
    const costs = new Set<string>();
    store.shownTotals();
    for (let index = 0; index < 1_000; index += 1) {
      sql.reset();
      store.appendMessage(text(`n${index}`));
      store.shownTotals();
      store.usage.extraTokens();
      costs.add(`${sql.rowsRead} read, ${sql.rowsWritten} written`);
    }
    // The newest message; the message and the conversation. The summary that is shown is as it was.
    expect([...costs]).toEqual(["1 read, 2 written"]);
  });

  it("of reading the whole history does not include what summaries cover", () => {
    const { store, sql } = long;
    sql.reset();
    const history = store.getHistory();
    expect(history).toHaveLength(store.shownTotals().length);
    sql.reset();
    store.getHistory();
    expect(sql.rowsRead).toBeLessThanOrEqual(history.length + 4);
  });

  it("of a wider summary is what is new in it", () => {
    const { store, sql } = long;
    sql.reset();
    store.addCompaction("wider", "m3", "n980");
    // From m9001 to n980, and what is newer.
    expect(sql.rowsRead).toBeLessThan(2_500);
  });

  it("of a branch off a recent message is what is near it", () => {
    const { store, sql } = long;
    sql.reset();
    store.appendMessage(text("again"), "n997");
    expect(shown(store.getHistory("n999")).slice(0, 4)).toEqual(["m0", "m1", "m2", "wider"]);
    expect(store.readRecent("n998", 500).messages.length).toBeLessThan(12);
    expect(sql.rowsRead).toBeLessThan(250);
  });
});

test("a window too small for the path keeps the newest summary before its newest messages", () => {
  const { store } = filled(40);
  store.addCompaction("S", "m1", "m20");
  const recent = store.getRecentHistory(null, 500, 4);
  expect(recent.truncated).toBe(true);
  expect(recent.totalContentBytes).toBe(store.totals().bytes);
  expect(shown(recent.messages)[0]).toBe("S");
  expect(shown(recent.messages).slice(1)).toEqual(ids(store.getHistory()).slice(-(recent.messages.length - 1)));
  const all = store.getRecentHistory(null, 1_000_000);
  expect(all.truncated).toBe(false);
  expect(shown(all.messages).slice(0, 3)).toEqual(["m0", "S", "m21"]);
});

const CALLS: [string, (store: MessageStore) => void][] = [
  ["a summary", (store) => store.addCompaction("S2", "m1", "m4")],
  ["a branch away from a summary", (store) => store.appendMessage(text("new"), "m1")],
  ["an update of a covered message", (store) => store.updateMessage(text("m2", "user", "longer ".repeat(9)))],
  ["a delete of a summary's end", (store) => store.deleteMessages(["m3"])],
  ["an edit of a covered message", (store) => store.editMessage(text("m2", "user", "edited"), "archived")],
  ["a clear", (store) => store.clearMessages()],
  ["a report of usage", (store) => store.noteUsage({ messageId: "m5", inputTokens: 900 })]
];

test.each(CALLS)("%s is all or nothing wherever the process dies", (_name, call) => {
  const prepare = () => {
    const session = filled(6);
    session.store.addCompaction("S", "m1", "m3");
    session.store.noteUsage({ messageId: "m5", inputTokens: 500 });
    return session;
  };
  const picture = ({ memory, store }: TestSession) => ({
    messages: memory.all("SELECT * FROM assistant_messages ORDER BY sequence"),
    summaries: memory.all("SELECT * FROM assistant_compactions ORDER BY sequence"),
    usage: memory.all("SELECT * FROM cf_session_usage"),
    conversation: memory.all("SELECT * FROM cf_conversations"),
    history: store.getHistory(),
    totals: store.shownTotals()
  });
  const session = prepare();
  const before = picture(session);
  let count = session.memory.writes;
  call(session.store);
  count = session.memory.writes - count;
  const after = picture(session);
  expect(count).toBeGreaterThan(0);
  expect(after).not.toEqual(before);
  for (let write = 1; write <= count; write += 1) {
    const killed = prepare();
    killed.memory.crashAtWrite(write);
    expect(() => call(killed.store)).toThrow(Crash);
    const rebooted = killed.reboot();
    expect(picture(rebooted)).toEqual(before);
    call(rebooted.store);
    expect(picture(rebooted)).toEqual(after);
  }
});

test("summaries another program left apply where their ends are on one path, the newest of them", () => {
  const database = new DatabaseSync(":memory:");
  database.exec(`CREATE TABLE assistant_messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL DEFAULT '',
    parent_id TEXT, role TEXT NOT NULL, content TEXT NOT NULL, created_at DATETIME DEFAULT CURRENT_TIMESTAMP)`);
  database.exec(`CREATE TABLE assistant_compactions (id TEXT PRIMARY KEY, session_id TEXT NOT NULL DEFAULT '',
    summary TEXT NOT NULL, from_message_id TEXT NOT NULL, to_message_id TEXT NOT NULL,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP)`);
  const message = database.prepare("INSERT INTO assistant_messages (id, parent_id, role, content) VALUES (?, ?, ?, ?)");
  ["m0", "m1", "m2", "m3", "m4"].forEach((id, index, all) =>
    message.run(id, all[index - 1] ?? null, "user", JSON.stringify(text(id)))
  );
  const summary = database.prepare(
    "INSERT INTO assistant_compactions (id, summary, from_message_id, to_message_id) VALUES (?, ?, ?, ?)"
  );
  summary.run("a", "first", "m1", "m2");
  summary.run("b", "second", "m1", "m3");
  summary.run("c", "backwards", "m3", "m1");
  summary.run("d", "of nothing", "m1", "gone");
  const { store } = openTestSession(database);
  expect(shown(store.getHistory())).toEqual(["m0", "second", "m4"]);
  expect(ids(store.getHistory())[1]).toBe("compaction_b");
  expect(ids(store.getCompactions())).toEqual(["a", "b"]);
  store.appendMessage(text("m5"));
  store.addCompaction("third", "m1", "m4");
  expect(shown(store.getHistory())).toEqual(["m0", "third", "m5"]);
});
