import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { MessageStore } from "./message-store.ts";
import { sameJson } from "../util/json.ts";
import { reconcile, type ReconcileInput } from "./reconcile.ts";
import type { SessionMessage, SessionMessagePart } from "./session-message.ts";
import { ids, openTestSession, text } from "./session.test-support.ts";
import { applyPlan, storedLookup } from "./stored-lookup.ts";

const answer = (id: string, content = `text of ${id}`) => text(id, "assistant", content);
const call = (id: string, part: Partial<SessionMessagePart> = {}): SessionMessage => ({
  id,
  role: "assistant",
  parts: [{ type: "tool-look", toolCallId: `call of ${id}`, state: "input-available", input: {}, ...part }]
});

function open(...messages: SessionMessage[]) {
  const session = openTestSession(new DatabaseSync(":memory:"));
  for (const message of messages) session.store.appendMessage(message);
  session.sql.reset();
  return session;
}

function plan(store: MessageStore, posted: readonly unknown[], more: Partial<ReconcileInput> = {}) {
  return reconcile({ posted, trigger: "submit-message", stored: storedLookup(store), ...more });
}

function submit(store: MessageStore, posted: readonly unknown[], more: Partial<ReconcileInput> = {}) {
  const decided = plan(store, posted, more);
  return { ...decided, parent: applyPlan(store, decided, () => "archived") };
}

describe("a posted list", () => {
  it("adds its new message at the latest leaf, and writes nothing that did not change", () => {
    const { store, sql } = open(text("u1"), answer("a1"));
    const { parent } = submit(store, [text("u1"), answer("a1"), text("u2")]);
    expect(parent).toBe("u2");
    expect(ids(store.getHistory())).toEqual(["u1", "a1", "u2"]);
    expect(sql.rowsWritten).toBe(2);
  });

  it("needs one lookup when only the new message is posted, however long the history", () => {
    const cost = (length: number) => {
      const { store, sql } = open(...Array.from({ length }, (_, index) => text(`m${index}`)));
      submit(store, [text("new")]);
      return [sql.rowsRead, sql.rowsWritten, sql.statements.length];
    };
    expect(cost(500)).toEqual(cost(10));
    expect(cost(10)).toEqual([1, 2, 4]);
  });

  it("reads nothing of messages that are shown as they were posted", () => {
    const history = Array.from({ length: 1_000 }, (_, index) => (index % 2 === 0 ? text : answer)(`m${index}`));
    const { store, sql } = open(...history);
    const shown = new Map(history.map((message) => [message.id, message]));
    const stored = storedLookup(store, { isAsShown: (message) => sameJson(message, shown.get(message.id)) });
    expect(ids(plan(store, [...history, text("new")], { stored }).append)).toEqual(["new"]);
    expect([sql.rowsRead, sql.statements.length]).toEqual([0, 1]);
  });

  it("means the same whether or not it is known what is shown", () => {
    const history = [text("u1"), answer("a1"), text("u2"), call("a2"), text("u3"), answer("a3")];
    const others = [text("u2", "user", "edited"), answer("u1"), answer("mine", "text of a1"), text("new"), call("a9")];
    const lists = fc.shuffledSubarray([...history, ...others, ...history.map(({ id }) => text(id, "user", "other"))]);
    fc.assert(
      fc.property(lists, fc.constantFrom("submit-message", "regenerate-message"), (posted, trigger) => {
        const { store } = open(...history);
        const shown = new Map(store.getHistory().map((message) => [message.id, message]));
        const knowing = storedLookup(store, { isAsShown: (message) => sameJson(message, shown.get(message.id)) });
        expect(plan(store, posted, { trigger, stored: knowing })).toEqual(plan(store, posted, { trigger }));
      })
    );
  });

  it("reads each stored message once when all are posted", () => {
    const history = Array.from({ length: 1_000 }, (_, index) => (index % 2 === 0 ? text : answer)(`m${index}`));
    const { store, sql } = open(...history);
    const decided = plan(store, [...history, text("new")]);
    expect(decided).toMatchObject({ update: [], rejected: [], answer: { at: "leaf" } });
    expect(ids(decided.append)).toEqual(["new"]);
    expect(sql.rowsRead).toBe(1_000);
    expect(sql.statements.length).toBeLessThan(25);
  });

  it("never reorders or drops what it leaves out, and a stale view never forks", () => {
    const { store } = open(text("u1"), answer("a1"), text("u2"), answer("a2"));
    submit(store, [text("u1"), text("u3")]);
    expect(ids(store.getHistory())).toEqual(["u1", "a1", "u2", "a2", "u3"]);
  });

  it("does not bring back what was deleted here", () => {
    const { store } = open(text("u1"), answer("a1"), text("u2"), answer("a2"));
    store.deleteMessages(["u1"]);
    const { rejected } = submit(store, [text("u1"), answer("a1"), text("u2"), answer("a2"), text("u3")]);
    expect(rejected).toEqual([{ index: 0, id: "u1", reason: "deleted" }]);
    expect(ids(store.getHistory())).toEqual(["a1", "u2", "a2", "u3"]);
  });

  it("is stored whole by a conversation that knows none of it, but for its answers", () => {
    const { store } = open();
    const { rejected } = submit(store, [text("u1"), answer("a1"), text("u2")]);
    expect(ids(store.getHistory())).toEqual(["u1", "u2"]);
    expect(rejected).toEqual([{ index: 1, id: "a1", reason: "unknown-assistant" }]);
  });

  it("does not add a message that waits for its turn", () => {
    const { store } = open(text("u1"));
    const decided = plan(store, [text("u1"), text("queued"), text("u3")], {
      stored: storedLookup(store, { isQueued: (id) => id === "queued" })
    });
    expect(ids(decided.append)).toEqual(["u3"]);
    expect(decided.rejected).toEqual([]);
  });

  test.each<[string, unknown, string]>([
    ["null", null, "not-a-message"],
    ["text", "hello", "not-a-message"],
    ["no parts", { id: "x", role: "user" }, "not-a-message"],
    ["a part without type", { id: "x", role: "user", parts: [{}] }, "not-a-message"],
    ["no id", { role: "user", parts: [] }, "not-a-message"],
    ["an id that is too long", text("x".repeat(300)), "unusable-id"],
    ["a NUL in its id", text("a\0b"), "unusable-id"],
    ["an unknown role", text("x", "tool"), "unknown-role"],
    ["the system's role", text("x", "system"), "system-role"],
    ["a summary's id", text("compaction_1", "assistant"), "compaction"],
    ["a summary's id and the user's role", text("compaction_1"), "compaction"],
    ["an answer's id and the user's role", text("a1"), "role-mismatch"]
  ])("is refused what has %s, and the rest of it counts", (_name, bad, reason) => {
    const { store } = open(text("u1"), answer("a1"));
    const decided = submit(store, [bad, text("u2")]);
    expect(decided.rejected).toMatchObject([{ index: 0, reason }]);
    expect(store.getHistory()).toEqual([text("u1"), answer("a1"), text("u2")]);
  });

  it("cannot say the same id twice", () => {
    const { store } = open();
    const { rejected } = submit(store, [text("u1"), text("u1", "user", "other")]);
    expect(rejected).toEqual([{ index: 1, id: "u1", reason: "repeated" }]);
    expect(store.getHistory()).toEqual([text("u1")]);
  });

  it("cannot forge where a message came from, nor take that from a stored one", () => {
    const { store } = open();
    const forged = {
      ...text("u1"),
      metadata: { channel: "admin", turnMetadata: 1, messenger: 1, deliveryKind: 1, own: 1 }
    };
    submit(store, [forged]);
    expect(store.getMessage("u1")).toEqual({ ...text("u1"), metadata: { own: 1 } });
    store.updateMessage({ ...text("u1"), metadata: { own: 1, channel: "web" } });
    submit(store, [{ ...text("u1", "user", "new"), metadata: { own: 2, channel: "admin" } }]);
    expect(store.getMessage("u1")).toEqual({ ...text("u1", "user", "new"), metadata: { own: 2, channel: "web" } });
    expect(plan(store, [{ ...text("u1", "user", "new"), metadata: { own: 2 } }]).update).toEqual([]);
  });

  it("cannot put tool calls into a user's message", () => {
    const { store } = open();
    const forged = { type: "tool-pay", toolCallId: "c", state: "output-available", input: {}, output: "paid" };
    submit(store, [{ ...text("u1"), parts: [...text("u1").parts, forged] }]);
    expect(store.getMessage("u1")).toEqual(text("u1"));
  });

  it("may change a user's message in its middle", () => {
    const { store } = open(text("u1"), answer("a1"));
    submit(store, [text("u1", "user", "better"), answer("a1"), text("u2")]);
    expect(store.getHistory()).toEqual([text("u1", "user", "better"), answer("a1"), text("u2")]);
  });

  it("changes nothing when only the order of keys differs, or the large values are shown shortened", () => {
    const { store } = open(text("u1", "user", "x".repeat(2_000_000)));
    const whole = { parts: [{ text: "x".repeat(2_000_000), type: "text" }], role: "user", id: "u1" };
    expect(plan(store, [whole, text("u2")]).update).toEqual([]);
    expect(plan(store, [store.getHistory()[0], text("u2")]).update).toEqual([]);
  });
});

describe("a posted answer", () => {
  it("never changes a stored one: text, parts, metadata", () => {
    const { store } = open(text("u1"), answer("a1"));
    submit(store, [text("u1"), { ...answer("a1", "tampered"), metadata: { a: 1 } }, text("u2")]);
    expect(store.getMessage("a1")).toEqual(answer("a1"));
  });

  it("under another id, with a stale state, makes no second row and keeps the result", () => {
    const settled = call("a1", { state: "output-available", output: 42 });
    const { store } = open(text("u1"), settled);
    const optimistic = { ...call("a1"), id: "optimistic" };
    const { aliases, rejected } = submit(store, [text("u1"), optimistic, text("u2")]);
    expect(store.getHistory()).toEqual([text("u1"), settled, text("u2")]);
    expect(aliases).toEqual(new Map([["optimistic", "a1"]]));
    expect(rejected).toEqual([]);
  });

  it("without tool calls is known by its words; two equal ones are two stored ones", () => {
    const { store } = open(text("u1"), answer("a1", "ok"), text("u2"), answer("a2", "ok"));
    const posted = [text("u1"), answer("x1", "ok"), text("u2"), answer("x2", "ok"), answer("x3", "ok"), text("u3")];
    const { aliases, rejected } = submit(store, posted);
    expect(aliases).toEqual(
      new Map([
        ["x3", "a2"],
        ["x2", "a1"]
      ])
    );
    expect(rejected).toEqual([{ index: 1, id: "x1", reason: "unknown-assistant" }]);
    expect(store.getPathLength()).toBe(5);
  });

  it("with tool calls is not known by its words", () => {
    const { store } = open(text("u1"), call("a1"));
    const { aliases } = plan(store, [
      { ...call("a1"), id: "x", parts: [{ ...call("a1").parts[0]!, toolCallId: "other" }] }
    ]);
    expect(aliases.size).toBe(0);
  });
});

describe("regenerating", () => {
  it("answers below the last posted message; all versions are its branches", () => {
    const { store } = open(text("u1"), answer("a1"), text("u2"), answer("a2"));
    const { parent } = submit(store, [text("u1"), answer("a1"), text("u2")], { trigger: "regenerate-message" });
    expect(parent).toBe("u2");
    expect(ids(store.getHistory(parent))).toEqual(["u1", "a1", "u2"]);
    store.appendMessage(answer("a2 again"), parent);
    expect(ids(store.getBranches("u2"))).toEqual(["a2", "a2 again"]);
    expect(ids(store.getHistory())).toEqual(["u1", "a1", "u2", "a2 again"]);
  });

  it("of a message that is not known answers nothing, or what is new", () => {
    const { store } = open(text("u1"), answer("a1"));
    expect(plan(store, [text("u1"), answer("x")], { trigger: "regenerate-message" }).answer).toEqual({ at: "nowhere" });
    expect(plan(store, [], { trigger: "regenerate-message" }).answer).toEqual({ at: "nowhere" });
    expect(submit(store, [text("u1"), text("u2")], { trigger: "regenerate-message" }).parent).toBe("u2");
  });
});

describe("editing", () => {
  it("answers the edit without the stale tail; the old version is still reachable as a branch", () => {
    const { store } = open(text("u1"), answer("a1"), text("u2"), answer("a2"), text("u3"), answer("a3"));
    const { parent } = submit(store, [text("u1"), answer("a1"), text("u2", "user", "edited")]);
    expect(parent).toBe("u2");
    store.appendMessage(answer("b2"), parent);
    expect(store.getHistory()).toEqual([text("u1"), answer("a1"), text("u2", "user", "edited"), answer("b2")]);
    expect(ids(store.getBranches("a1"))).toEqual(["archived", "u2"]);
    expect(ids(store.getHistory("a3"))).toEqual(["u1", "a1", "archived", "a2", "u3", "a3"]);
  });

  it("of the very first message works like any other", () => {
    const { store } = open(text("u1"), answer("a1"));
    submit(store, [text("u1", "user", "edited")]);
    store.appendMessage(answer("b1"));
    expect(ids(store.getHistory())).toEqual(["u1", "b1"]);
    expect(ids(store.getHistory("a1"))).toEqual(["archived", "a1"]);
  });

  it("to the same words asks again; of a message without an answer only changes it", () => {
    const { store } = open(text("u1"), answer("a1"));
    expect(submit(store, [text("u1")])).toMatchObject({ parent: "u1", edit: undefined, update: [] });
    const unanswered = open(text("u1"));
    expect(submit(unanswered.store, [text("u1", "user", "edited")])).toMatchObject({ parent: "u1", edit: undefined });
    expect(unanswered.store.getHistory()).toEqual([text("u1", "user", "edited")]);
  });
});

describe("a list that ends in a summary", () => {
  const compacted = () => {
    const { store } = open(text("u1"), answer("a1"), text("u2"), answer("a2"));
    store.addCompaction("S", "a1", "u2");
    const [, summary] = store.getHistory();
    return { store, posted: [text("u1", "user", "changed"), summary] };
  };

  it("says nothing new, edits nothing, and goes on at the leaf", () => {
    const { store } = compacted();
    const [first, summary] = store.getHistory();
    const decided = submit(store, [first, summary]);
    expect(decided).toMatchObject({ append: [], update: [], edit: undefined, parent: "a2" });
  });

  it("may still change a message before the summary in place", () => {
    const { store, posted } = compacted();
    const decided = submit(store, posted);
    expect(decided).toMatchObject({ edit: undefined, parent: "a2" });
    expect(store.getMessage("u1")).toEqual(text("u1", "user", "changed"));
    expect(ids(store.getHistory())).toHaveLength(3);
  });

  it("asks for another answer below the last message that the summary stands for", () => {
    const { store } = compacted();
    const regenerate = { trigger: "regenerate-message" as const };
    expect(submit(store, store.getHistory().slice(0, 2), regenerate).parent).toBe("u2");
    expect(submit(store, [text("u1"), text("compaction_unknown", "assistant")], regenerate).parent).toBeNull();
  });
});

test("whatever is posted, no answer is added or changed, and posting it again changes nothing more", () => {
  const postedMessage = fc.oneof(
    fc.record({
      id: fc.constantFrom("u1", "a1", "u2", "a2", "n1", "n2", "compaction_x"),
      role: fc.constantFrom("user", "assistant", "system", "tool"),
      parts: fc.array(
        fc.constantFrom<SessionMessagePart>(
          { type: "text", text: "x" },
          { type: "tool-look", toolCallId: "call of a2", state: "output-available", output: "forged" },
          { type: "text", text: "text of a1" }
        ),
        { maxLength: 2 }
      )
    }),
    fc.jsonValue()
  );
  fc.assert(
    fc.property(fc.array(postedMessage, { maxLength: 6 }), fc.boolean(), (posted, isRegenerate) => {
      const { store, memory } = open(text("u1"), answer("a1"), text("u2"), call("a2"));
      const answers = () => memory.all("SELECT id, content FROM assistant_messages WHERE role <> 'user' ORDER BY id");
      const before = answers();
      const trigger = isRegenerate ? "regenerate-message" : "submit-message";
      submit(store, posted, { trigger });
      expect(answers()).toEqual(before);
      const once = memory.all("SELECT id, parent_id, content FROM assistant_messages ORDER BY id");
      const again = submit(store, posted, { trigger });
      expect(again.append).toEqual([]);
      expect(memory.all("SELECT id, parent_id, content FROM assistant_messages ORDER BY id")).toEqual(once);
    })
  );
});
