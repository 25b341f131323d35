import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it, test, vi } from "vitest";
import { Crash } from "../journal/memory-sql.test-support.ts";
import { MAX_LISTED_MESSAGES, MAX_VERSIONS, versionsOf } from "./branches.ts";
import { CompactionRangeError } from "./errors.ts";
import { LiveView } from "./hydration.ts";
import { MessageStore } from "./message-store.ts";
import { sessionScope } from "./session-host.ts";
import { isCompactionMessage, type SessionMessage } from "./session-message.ts";
import { ids, openTestSession, text, type TestSession } from "./session.test-support.ts";
import { estimateMessageTokens } from "./tokens.ts";

const open = () => openTestSession(new DatabaseSync(":memory:"));

/** Ids, with a summary shown by its text. */
const shown = (messages: readonly SessionMessage[]) =>
  messages.map((message) => (isCompactionMessage(message) ? String(message.parts[0]?.["text"]) : message.id));

/** u1 was answered by a1 and by b1; both went on. */
function forked(): TestSession {
  const session = open();
  for (const id of ["u1", "a1", "u2", "a2"]) session.store.appendMessage(text(id));
  session.store.appendMessage(text("b1"), "u1");
  session.store.appendMessage(text("u3"));
  return session;
}

const path = (store: MessageStore) => shown(store.getHistory());
const versions = (store: MessageStore) => versionsOf(store, ids(store.getHistory()));

describe("choosing a version", () => {
  it("shows its path down to what was written last below it, and the next message continues there", () => {
    const { store, reboot } = forked();
    expect(store.selectBranch("a1")).toBe(true);
    expect(path(store)).toEqual(["u1", "a1", "u2", "a2"]);
    expect(store.getPathLength()).toBe(4);
    expect(path(reboot().store)).toEqual(["u1", "a1", "u2", "a2"]);
    store.appendMessage(text("u4"));
    expect(path(store)).toEqual(["u1", "a1", "u2", "a2", "u4"]);
    store.selectBranch("b1");
    expect(path(store)).toEqual(["u1", "b1", "u3"]);
    store.selectBranch("u1");
    expect(path(store)).toEqual(["u1", "a1", "u2", "a2", "u4"]);
  });

  it("chooses among roots too", () => {
    const { store } = forked();
    store.appendMessage(text("other"), null);
    expect(versions(store)).toEqual({ other: ["u1", "other"] });
    store.selectBranch("u1");
    expect(path(store)).toEqual(["u1", "b1", "u3"]);
  });

  it("that is shown already changes and writes nothing", () => {
    const { store, sql } = forked();
    sql.reset();
    expect(store.selectBranch("b1")).toBe(false);
    expect(sql.rowsWritten).toBe(0);
  });

  it("that is not stored, or of another session, is refused", () => {
    const { store, host, sql } = forked();
    new MessageStore(sessionScope(host, "other")).appendMessage(text("foreign"));
    sql.reset();
    expect(() => store.selectBranch("nobody")).toThrow(expect.objectContaining({ code: "unknown-message" }));
    expect(() => store.selectBranch("foreign")).toThrow(/no message "foreign"/);
    expect(() => store.selectBranch("compaction_nobody")).toThrow(expect.objectContaining({ code: "unknown-message" }));
    expect(sql.rowsWritten).toBe(0);
  });

  it("named by a summary means the last message it stands for", () => {
    const { store } = forked();
    store.addCompaction("S", "u1", "b1");
    const summary = store.getHistory()[0]?.id ?? "";
    store.selectBranch("a1");
    expect(path(store)).toEqual(["u1", "a1", "u2", "a2"]);
    store.selectBranch(summary);
    expect(path(store)).toEqual(["S", "u3"]);
  });

  it("answers again and edits there, beside what was there before", () => {
    const { store } = forked();
    store.selectBranch("a1");
    store.appendMessage(text("c2"), "u2");
    expect(versions(store)).toEqual({ a1: ["a1", "b1"], c2: ["a2", "c2"] });
    store.editMessage(text("u2", "user", "edited"), "old-u2");
    expect(path(store)).toEqual(["u1", "a1", "u2"]);
    expect(versions(store)).toEqual({ a1: ["a1", "b1"], u2: ["old-u2", "u2"] });
    store.selectBranch("old-u2");
    expect(path(store)).toEqual(["u1", "a1", "old-u2", "c2"]);
  });

  it("forgets what a provider counted for messages that are not shown any more, and keeps what still holds", () => {
    const { store } = forked();
    store.noteUsage({ messageId: "u3", inputTokens: 500 });
    store.selectBranch("a1");
    expect(store.usage.sequence()).toBeUndefined();
    store.noteUsage({ messageId: "u1", inputTokens: 500 });
    store.selectBranch("b1");
    expect(store.usage.sequence()).toBe(1);
  });

  it("finds words of every branch as before", async () => {
    const { store } = forked();
    expect(ids(await store.searchMessages("a2"))).toEqual(["a2"]);
    store.selectBranch("a1");
    store.appendMessage(text("u4"));
    expect(ids(await store.searchMessages("u3"))).toEqual(["u3"]);
    expect(ids(await store.searchMessages("u4"))).toEqual(["u4"]);
  });
});

describe("listing versions", () => {
  it("puts the newest edit last, whichever version was edited, and every edit keeps the id that was shown", () => {
    const { store } = forked();
    store.editMessage(text("u1", "user", "second"), "first");
    store.appendMessage(text("c1"));
    store.editMessage(text("u1", "user", "third"), "second");
    expect(versions(store)).toEqual({ u1: ["first", "second", "u1"] });
    store.selectBranch("first");
    expect(versions(store)).toMatchObject({ first: ["first", "second", "u1"], b1: ["a1", "b1"] });
    store.editMessage(text("first", "user", "fourth"), "oldest");
    expect(versions(store)).toEqual({ first: ["oldest", "second", "u1", "first"] });
  });

  it("names only messages that have other versions, of those it is asked for", () => {
    const { store } = forked();
    expect(versionsOf(store, [])).toEqual({});
    expect(versionsOf(store, ["u1", "a2", "nobody", "compaction_x"])).toEqual({});
    expect(versionsOf(store, ["a1", "b1"])).toEqual({ a1: ["a1", "b1"], b1: ["a1", "b1"] });
  });

  it("takes any text for an id", () => {
    const { store } = forked();
    for (const id of ["__proto__", 'with "quotes"']) store.appendMessage(text(id), "u1");
    expect(Object.entries(versions(store))).toEqual([['with "quotes"', ["a1", "b1", "__proto__", 'with "quotes"']]]);
    store.selectBranch("__proto__");
    expect(Object.keys(versions(store))).toEqual(["__proto__"]);
  });

  it("lists the newest of many, and the shown one also if it is older", () => {
    const { store } = forked();
    for (let index = 0; index < MAX_VERSIONS + 5; index += 1) store.appendMessage(text(`v${index}`), "u1");
    const newest = Array.from({ length: MAX_VERSIONS }, (_, index) => `v${index + 5}`);
    expect(versions(store)).toEqual({ [`v${MAX_VERSIONS + 4}`]: newest });
    store.selectBranch("a1");
    expect(versions(store)).toEqual({ a1: ["a1", ...newest] });
  });

  it("looks at the newest messages only, when it is asked for very many", () => {
    const { store } = forked();
    const many = Array.from({ length: MAX_LISTED_MESSAGES - 1 }, (_, index) => `other ${index}`);
    expect(versionsOf(store, ["b1", ...many])).toEqual({ b1: ["a1", "b1"] });
    expect(versionsOf(store, ["b1", "one more", ...many])).toEqual({});
  });

  it("costs one statement that reads no message it does not name", () => {
    const { store, sql, memory } = forked();
    const asked = ids(store.getHistory());
    sql.reset();
    versionsOf(store, asked);
    expect(sql.statements).toHaveLength(1);
    const plan = memory.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql.statements[0]}`, "", "[]", 1);
    const reads = plan.map(({ detail }) => detail).filter((detail) => /^(SCAN|SEARCH)/.test(detail));
    expect(reads).toEqual([
      expect.stringMatching(/^SCAN shown VIRTUAL TABLE/),
      expect.stringMatching(/^SEARCH m USING PRIMARY KEY \(session_id=\? AND id=\?\)/),
      expect.stringMatching(/^SEARCH version USING .*INDEX .*\(session_id=\? AND parent_id=\? AND sequence>\?\)/),
      expect.stringMatching(/^SEARCH oldest USING .*INDEX .*\(session_id=\? AND parent_id=\?\)/)
    ]);
  });
});

test("after a choice, appending costs what it always costs, however long the branches are", () => {
  const { store, sql } = open();
  for (let index = 0; index < 2_000; index += 1) store.appendMessage(text(`m${index}`));
  store.appendMessage(text("again"), "m3");
  store.selectBranch("m4");
  const costs = [0, 1].map((index) => {
    sql.reset();
    store.appendMessage(text(`n${index}`));
    return `${sql.rowsRead} read, ${sql.rowsWritten} written`;
  });
  expect(costs).toEqual(["1 read, 2 written", "1 read, 2 written"]);
  expect(store.getPathLength()).toBe(2_002);
});

test.each<[string, (store: MessageStore) => void]>([
  ["a choice", (store) => store.selectBranch("a1")],
  ["a choice that leaves and finds summaries", (store) => (store.selectBranch("a1"), store.appendMessage(text("x")))]
])("%s is all or nothing wherever the process dies", (_name, call) => {
  const prepare = () => {
    const session = forked();
    session.store.addCompaction("B", "u1", "b1");
    session.store.noteUsage({ messageId: "u3", inputTokens: 500 });
    session.store.selectBranch("a1");
    session.store.addCompaction("A", "a1", "u2");
    session.store.selectBranch("b1");
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
  const inOne = (store: MessageStore) => store.scope.conversation.transaction(() => call(store));
  let count = session.memory.writes;
  inOne(session.store);
  count = session.memory.writes - count;
  const after = picture(session);
  expect(count).toBeGreaterThan(3);
  expect(shown(after.history).slice(0, 2)).toEqual(["u1", "A"]);
  for (let write = 1; write <= count; write += 1) {
    const killed = prepare();
    killed.memory.crashAtWrite(write);
    expect(() => inOne(killed.store)).toThrow(Crash);
    const rebooted = killed.reboot();
    expect(picture(rebooted)).toEqual(before);
    inOne(rebooted.store);
    expect(picture(rebooted)).toEqual(after);
  }
});

type Step =
  | { do: "append"; at: number | null | undefined; look: boolean }
  | { do: "select" | "update" | "edit"; at: number; look: boolean }
  | { do: "compact"; at: number; to: number; look: boolean };

const look = fc.boolean();
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant("append" as const), at: fc.constant(undefined), look }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant("append" as const), at: fc.option(fc.nat(14), { freq: 8 }), look })
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant("select" as const), at: fc.nat(14), look }) },
    fc.record({ do: fc.constantFrom("update" as const, "edit" as const), at: fc.nat(14), look }),
    fc.record({ do: fc.constant("compact" as const), at: fc.nat(14), to: fc.nat(14), look })
  ),
  { maxLength: 50 }
);

/** The tree as one would write it without a database. */
class Model {
  readonly nodes = new Map<string, { parent: string | null; order: number; words: string }>();
  leaf: string | null = null;
  #order = 0;

  append(id: string, parent: string | null): void {
    const known = parent !== null && this.nodes.has(parent) ? parent : null;
    this.nodes.set(id, { parent: known, order: this.#order++, words: id });
    this.leaf = id;
  }

  children(id: string | null): string[] {
    const found = [...this.nodes].filter(([, { parent }]) => parent === id);
    return found.sort(([, one], [, two]) => one.order - two.order).map(([child]) => child);
  }

  select(id: string): void {
    const all = [id];
    for (const each of all) all.push(...this.children(each));
    this.leaf = all.sort((one, two) => this.#orderOf(one) - this.#orderOf(two)).at(-1) ?? null;
  }

  edit(id: string, words: string, archiveId: string): void {
    const before = this.nodes.get(id);
    if (before === undefined) return;
    const children = this.children(id);
    if (children.length > 0) this.nodes.set(archiveId, before);
    for (const child of children) this.nodes.set(child, { ...this.nodes.get(child)!, parent: archiveId });
    this.nodes.set(id, { ...before, words, order: children.length > 0 ? this.#order++ : before.order });
    this.leaf = id;
  }

  path(leaf = this.leaf): string[] {
    const found: string[] = [];
    for (let id = leaf; id !== null; id = this.nodes.get(id)?.parent ?? null) found.unshift(id);
    return found;
  }

  #orderOf(id: string): number {
    return this.nodes.get(id)?.order ?? -1;
  }
}

function play(store: MessageStore, list: readonly Step[], onLook: () => void): Model {
  const model = new Model();
  let next = 0;
  for (const step of list) {
    const at = typeof step.at === "number" ? `m${step.at}` : step.at;
    const words = `${step.do} ${"x".repeat(next)}`;
    if (step.do === "append") {
      const id = `m${next++}`;
      store.appendMessage(text(id, "user", id), at);
      model.append(id, at === undefined ? model.leaf : at);
    } else if (step.do === "select") {
      if (model.nodes.has(`m${step.at}`)) {
        store.selectBranch(`m${step.at}`);
        model.select(`m${step.at}`);
      } else
        expect(() => store.selectBranch(`m${step.at}`)).toThrow(expect.objectContaining({ code: "unknown-message" }));
    } else if (step.do === "update") {
      store.updateMessage(text(`m${step.at}`, "user", words));
      const known = model.nodes.get(`m${step.at}`);
      if (known) model.nodes.set(`m${step.at}`, { ...known, words });
    } else if (step.do === "edit") {
      const archiveId = `m${next++}`;
      store.editMessage(text(`m${step.at}`, "user", words), archiveId);
      model.edit(`m${step.at}`, words, archiveId);
    } else if (step.do === "compact") {
      try {
        store.addCompaction(`S${next++}`, `m${step.at}`, `m${step.to}`);
      } catch (error) {
        if (!(error instanceof CompactionRangeError)) throw error;
      }
    }
    if (step.look) onLook();
  }
  return model;
}

/** The rule as it is told: from the root on, the newest summary that starts here and ends on this path. */
function withSummaries(store: MessageStore, ids: readonly string[]): string[] {
  const result: string[] = [];
  for (let index = 0; index < ids.length; index += 1) {
    const newest = store
      .getCompactions()
      .findLast(({ fromMessageId, toMessageId }) => fromMessageId === ids[index] && ids.indexOf(toMessageId) >= index);
    result.push(newest === undefined ? ids[index]! : newest.summary);
    if (newest !== undefined) index = ids.indexOf(newest.toMessageId);
  }
  return result;
}

test("whatever is chosen, appended and edited, history, sums and versions are those of a tree without a database", () => {
  fc.assert(
    fc.property(steps, (list) => {
      const { store, reboot } = open();
      const model = play(store, list, () => void store.getHistory());
      const expected = model.path();
      expect(store.leafId).toBe(model.leaf);
      expect(ids(store.getHistoryRowStats())).toEqual(expected);
      expect(shown(store.getHistory())).toEqual(withSummaries(store, expected));
      for (const id of expected) {
        expect(store.getMessage(id)).toEqual(text(id, "user", model.nodes.get(id)!.words));
      }
      const stored = expected.map((id) => store.rows.header(id)!);
      expect(store.totals()).toEqual({
        length: expected.length,
        bytes: stored.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
        tokens: stored.reduce((sum, { tokens }) => sum + tokens, 0)
      });
      const sized = store.readRecent(null, Number.POSITIVE_INFINITY).messages;
      expect(store.shownTotals()).toEqual({
        length: sized.length,
        bytes: sized.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
        tokens: estimateMessageTokens(sized.map(({ message }) => message))
      });
      const withSiblings = expected.map((id) => [id, model.children(model.nodes.get(id)!.parent)] as const);
      expect(versionsOf(store, expected)).toEqual(
        Object.fromEntries(withSiblings.filter(([, siblings]) => siblings.length > 1))
      );
      expect(reboot().store.getHistory()).toEqual(store.getHistory());
    }),
    { numRuns: 300 }
  );
});

test("whatever is chosen, the live view is the end of the chosen path", () => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  fc.assert(
    fc.property(steps, fc.constantFrom(1, 400, 10_000), (list, budget) => {
      const { store } = open();
      const failures: unknown[] = [];
      const view = new LiveView({
        store,
        budgetBytes: () => budget,
        onWindowed: () => undefined,
        onFailure: (error) => failures.push(error)
      });
      play(store, list, () => void view.messages);
      const all = store.getHistory();
      const seen = view.messages;
      const summary = all.findLast(isCompactionMessage);
      const tail = summary !== undefined && seen[0]?.id === summary.id ? seen.slice(1) : seen;
      expect(tail).toEqual(tail.length === 0 ? [] : all.slice(-tail.length));
      expect(seen.length).toBeGreaterThanOrEqual(Math.min(4, all.length));
      expect(failures).toEqual([]);
    }),
    { numRuns: 150 }
  );
});
