import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, test, vi } from "vitest";
import { tablesOf } from "../host/schema.ts";
import { createCompactFunction, type CompactFunction } from "./compact-function.ts";
import { RETRY_GROWTH } from "./compaction.ts";
import { provideSessionHost } from "./session-host.ts";
import { COMPACTION_TABLES } from "./overlay-rows.ts";
import { isCompactionMessage, type SessionMessage } from "./session-message.ts";
import type { StoredCompaction } from "./session-provider.ts";
import { Session } from "./session.ts";
import { customProvider, ids, openTestSession, text } from "./session.test-support.ts";
import { estimateMessageTokens } from "./tokens.ts";

class Agent {
  sql(_strings: TemplateStringsArray): unknown[] {
    return [];
  }
}

let warn = vi.spyOn(console, "warn");
beforeEach(() => {
  warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

function open() {
  const test = openTestSession(new DatabaseSync(":memory:"));
  const agent = new Agent();
  provideSessionHost(agent, test.host);
  return { ...test, agent, session: Session.create(agent) };
}

async function filled(count: number) {
  const opened = open();
  for (let index = 0; index < count; index += 1) await opened.session.appendMessage(text(`m${index}`));
  opened.frames.length = 0;
  return opened;
}

const shown = (messages: readonly SessionMessage[]) =>
  messages.map((message) => (isCompactionMessage(message) ? String(message.parts[0]?.["text"]) : message.id));
const phases = (frames: readonly Record<string, unknown>[]) => frames.map(({ phase, type }) => phase ?? type);
const range = (fromMessageId: string, toMessageId: string, summary = "S"): CompactFunction => {
  return async () => ({ fromMessageId, toMessageId, summary });
};

describe("compacting", () => {
  it("needs a function, and storage for summaries", async () => {
    const { session } = open();
    await expect(session.compact()).rejects.toThrow(expect.objectContaining({ code: "no-compaction-function" }));
    await expect(session.compact()).rejects.toThrow("No compaction function registered. Call onCompaction() first.");
    const without = Session.create(customProvider({})).onCompaction(range("m0", "m1"));
    await expect(without.compact()).rejects.toThrow(expect.objectContaining({ code: "compaction-unsupported" }));
    await expect(without.addCompaction("S", "m0", "m1")).rejects.toThrow(
      expect.objectContaining({ code: "compaction-unsupported" })
    );
    expect(await without.getCompactions()).toEqual([]);
  });

  it("leaves no listener behind, whether it shortens, finds nothing to do or fails", async () => {
    const { session, store } = await filled(6);
    const listening = new Set<unknown>();
    const { changes } = store.scope;
    const subscribe = changes.subscribe.bind(changes);
    vi.spyOn(changes, "subscribe").mockImplementation((listener) => {
      const stop = subscribe(listener);
      listening.add(listener);
      return () => {
        listening.delete(listener);
        stop();
      };
    });
    const seen: number[] = [];
    const endings: CompactFunction[] = [
      range("m1", "m3"),
      async () => null,
      range("m4", "gone"),
      async () => Promise.reject(new Error("no"))
    ];
    for (const ending of endings) {
      session.onCompaction(async (...given) => {
        seen.push(listening.size);
        return ending(...given);
      });
      await session.compact();
      expect(listening.size).toBe(0);
    }
    expect(seen).toEqual([1, 1, 1, 1]);
  });

  it("shows the summary, tells clients before and after, and says what it saved", async () => {
    const { session, frames } = await filled(6);
    const tokensBefore = estimateMessageTokens(await session.getHistory());
    const outcome = await session.onCompaction(range("m1", "m3")).compact();
    const tokensAfter = estimateMessageTokens(await session.getHistory());
    expect(shown(await session.getHistory())).toEqual(["m0", "S", "m4", "m5"]);
    expect(outcome).toEqual({ fromMessageId: "m1", toMessageId: "m3", summary: "S", tokensBefore, tokensAfter });
    expect(frames).toEqual([
      { type: "cf_agent_session", phase: "compacting", tokenEstimate: tokensBefore, tokenThreshold: null },
      {
        type: "cf_agent_session",
        phase: "idle",
        tokenEstimate: tokensAfter,
        tokenThreshold: null,
        compacted: { tokensBefore }
      }
    ]);
  });

  it("a second time gives the function the first summary and replaces it", async () => {
    const { session } = await filled(8);
    await session.onCompaction(range("m1", "m2", "first")).compact();
    const seen: string[][] = [];
    session.onCompaction(async (messages) => {
      seen.push(shown(messages));
      return { fromMessageId: "m3", toMessageId: "m5", summary: "second" };
    });
    expect(await session.compact()).toMatchObject({ fromMessageId: "m1", toMessageId: "m5" });
    expect(seen).toEqual([["m0", "first", "m3", "m4", "m5", "m6", "m7"]]);
    expect(shown(await session.getHistory())).toEqual(["m0", "second", "m6", "m7"]);
    expect(await session.getCompactions()).toHaveLength(2);
  });

  it("never hides messages that no summary tells of", async () => {
    const { session } = await filled(8);
    await session.onCompaction(range("m1", "m2", "first")).compact();
    await session.onCompaction(range("m4", "m5", "second")).compact();
    expect(shown(await session.getHistory())).toEqual(["m0", "first", "m3", "second", "m6", "m7"]);
  });

  it("takes a summary's id as an end", async () => {
    const { session } = await filled(8);
    await session.onCompaction(range("m1", "m2", "first")).compact();
    const summary = (await session.getHistory()).find(isCompactionMessage)!;
    expect(await session.onCompaction(range(summary.id, "m4")).compact()).toMatchObject({ fromMessageId: "m1" });
    const wider = (await session.getHistory()).find(isCompactionMessage)!;
    expect(await session.onCompaction(range("m0", wider.id)).compact()).toMatchObject({ toMessageId: "m4" });
    expect(shown(await session.getHistory())).toEqual(["S", "m5", "m6", "m7"]);
  });

  test.each<[string, CompactFunction]>([
    ["nothing", async () => null],
    ["an unknown end", range("m1", "nobody")],
    ["an unknown start", range("nobody", "m3")],
    ["ends in the wrong order", range("m3", "m1")],
    ["a blank summary", range("m1", "m3", " \n ")],
    ["a summary longer than what it stands for", range("m1", "m3", "many words ".repeat(40))],
    ["only the newest message", range("m5", "m5")]
  ])("that gives %s changes nothing and returns null", async (_name, compact) => {
    const { session, frames } = await filled(6);
    expect(await session.onCompaction(compact).compact()).toBeNull();
    expect(await session.getCompactions()).toEqual([]);
    expect(phases(frames)).toEqual(["compacting", "idle"]);
  });

  it("keeps the newest message and every open call visible, whatever the function says", async () => {
    const { session } = await filled(6);
    await session.onCompaction(range("m0", "m5")).compact();
    expect(shown(await session.getHistory())).toEqual(["S", "m5"]);
    const waiting = await filled(6);
    const question = { type: "tool-ask", toolCallId: "c", state: "approval-requested", input: {} };
    await waiting.session.updateMessage({ id: "m3", role: "assistant", parts: [question] });
    await waiting.session.onCompaction(range("m0", "m5")).compact();
    expect(shown(await waiting.session.getHistory())).toEqual(["S", "m3", "m4", "m5"]);
  });

  it("of a failing function returns null, is told to the handler and to clients, and ends its phase", async () => {
    const { session, frames } = await filled(6);
    const failures: unknown[] = [];
    const broken = new Error("no model");
    session.onCompaction(() => Promise.reject(broken)).onCompactionError((error) => failures.push(error));
    expect(await session.compact()).toBeNull();
    session.onCompaction(() => {
      throw broken;
    });
    expect(await session.compact()).toBeNull();
    expect(failures).toEqual([broken, broken]);
    expect(phases(frames)).toEqual([
      ...["compacting", "cf_agent_session_error", "idle"],
      ...["compacting", "cf_agent_session_error", "idle"]
    ]);
    expect(frames[1]).toEqual({ type: "cf_agent_session_error", error: "no model" });
    expect(warn).not.toHaveBeenCalled();
  });

  it("survives a handler that fails", async () => {
    const { session } = await filled(6);
    session.onCompaction(() => Promise.reject(new Error("no model")));
    session.onCompactionError(() => {
      throw new Error("no handler");
    });
    expect(await session.compact()).toBeNull();
    expect(warn).toHaveBeenCalledOnce();
  });

  it("happens once for all who ask at the same time", async () => {
    const { session } = await filled(6);
    let calls = 0;
    session.onCompaction(async () => {
      calls += 1;
      return { fromMessageId: "m1", toMessageId: "m3", summary: "S" };
    });
    const [first, second] = await Promise.all([session.compact(), session.compact()]);
    expect(first).toEqual(second);
    expect(calls).toBe(1);
  });

  it("compacts a chosen branch and leaves the active one", async () => {
    const { session } = await filled(6);
    await session.appendMessage(text("b3"), "m0");
    session.onCompaction(range("m1", "m3"));
    const [branch, active] = await Promise.all([session.compact("m5"), session.compact()]);
    expect(branch).toMatchObject({ toMessageId: "m3" });
    expect(active).toBeNull();
    expect(shown(await session.getHistory())).toEqual(["m0", "b3"]);
    expect(shown(await session.getHistory("m5"))).toEqual(["m0", "S", "m4", "m5"]);
  });
});

describe("what happens while the function works", () => {
  const during = async (change: (session: Session) => Promise<unknown>) => {
    const { session } = await filled(6);
    session.onCompaction(async () => {
      await change(session);
      return { fromMessageId: "m1", toMessageId: "m3", summary: "S" };
    });
    const outcome = await session.compact();
    return { outcome, history: shown(await session.getHistory()), session };
  };

  it("may be an append or an update of what is settled: the summary still stands", async () => {
    const { history } = await during(async (session) => {
      await session.appendMessage(text("m6"));
      await session.updateMessage(text("m2", "user", "corrected"));
    });
    expect(history).toEqual(["m0", "S", "m4", "m5", "m6"]);
  });

  test.each<[string, (session: Session) => Promise<unknown>, string[]]>([
    ["a clear", (session) => session.clearMessages(), []],
    ["a deletion", (session) => session.deleteMessages(["m2"]), ["m0", "m1", "m3", "m4", "m5"]],
    ["another branch", (session) => session.appendMessage(text("b1"), "m0"), ["m0", "b1"]],
    [
      "a question in a covered message",
      (session) =>
        session.updateMessage({
          id: "m2",
          role: "assistant",
          parts: [{ type: "tool-ask", toolCallId: "c", state: "input-available", input: {} }]
        }),
      ["m0", "m1", "m2", "m3", "m4", "m5"]
    ]
  ])("%s makes its answer void", async (_name, change, history) => {
    const during_ = await during(change);
    expect(during_).toMatchObject({ outcome: null, history });
    expect(await during_.session.getCompactions()).toEqual([]);
  });
});

describe("automatic compaction", () => {
  const short = (id: string) => text(id, "user", "x");
  const size = estimateMessageTokens(short("m"));

  it("comes after an append over the threshold, not at it", async () => {
    const { session } = open();
    session.onCompaction(range("m0", "m2", "S")).compactAfter(4 * size);
    for (let index = 0; index < 4; index += 1) await session.appendMessage(short(`m${index}`));
    expect(await session.getCompactions()).toEqual([]);
    await session.appendMessage(short("m4"));
    expect(shown(await session.getHistory())).toEqual(["S", "m3", "m4"]);
  });

  it("that saves nothing warns once and is tried again only when the conversation has grown", async () => {
    const { session } = open();
    const estimates: number[] = [];
    session.compactAfter(100).onCompaction(async (messages) => {
      estimates.push(estimateMessageTokens(messages));
      return null;
    });
    for (let index = 0; index < 120; index += 1) await session.appendMessage(short(`m${index}`));
    expect(warn).toHaveBeenCalledOnce();
    expect(estimates.length).toBeGreaterThan(3);
    expect(estimates.length).toBeLessThan(25);
    estimates.slice(1).forEach((tokens, index) => {
      expect(tokens).toBeGreaterThan(estimates[index]! * (1 + RETRY_GROWTH));
    });
  });

  it("warns again after one that worked", async () => {
    const { session } = open();
    let answer: Awaited<ReturnType<CompactFunction>> = null;
    session.compactAfter(3 * size).onCompaction(async () => answer);
    for (const id of ["m0", "m1", "m2", "m3"]) await session.appendMessage(short(id));
    expect(warn).toHaveBeenCalledTimes(1);
    answer = { fromMessageId: "m0", toMessageId: "m3", summary: "S" };
    await session.appendMessage(short("m4"));
    expect(await session.getCompactions()).toHaveLength(1);
    answer = null;
    for (const id of ["m5", "m6", "m7"]) await session.appendMessage(short(id));
    expect(warn).toHaveBeenCalledTimes(2);
  });

  it("that leaves too much is not repeated at every append", async () => {
    const { session } = open();
    let calls = 0;
    const tail = 40;
    session.compactAfter(10 * size).onCompaction(async (messages) => {
      calls += 1;
      const [first, last] = [messages.find((each) => !isCompactionMessage(each)), messages.at(-tail)];
      return first && last ? { fromMessageId: first.id, toMessageId: last.id, summary: "S" } : null;
    });
    for (let index = 0; index < 100; index += 1) await session.appendMessage(short(`m${index}`));
    expect(await session.getCompactions()).not.toEqual([]);
    expect(calls).toBeLessThan(30);
  });

  it("never makes an append fail: not the function, not the counter, not the storage", async () => {
    const { session, frames, memory } = open();
    const failures: string[] = [];
    session.compactAfter(0).onCompactionError((error) => failures.push((error as Error).message));
    session.onCompaction(() => Promise.reject(new Error("function")));
    await session.appendMessage(text("m0"));
    await session.appendMessage(text("m1"));
    expect(failures).toEqual(["function", "function"]);
    session.onCompaction(range("m0", "m1"));
    memory.catalog.make(COMPACTION_TABLES);
    memory.run("ALTER TABLE assistant_compactions RENAME COLUMN summary TO away");
    await session.appendMessage(text("m2"));
    expect(failures.slice(2).join()).toMatch(/summary/);
    memory.run("ALTER TABLE assistant_compactions RENAME COLUMN away TO summary");
    failures.length = 0;
    session.compactAfter(0, {
      tokenCounter: () => {
        throw new Error("counter");
      }
    });
    await session.appendMessage(text("m3"));
    expect(failures).toEqual(["counter"]);
    expect(ids(await session.getHistory())).toEqual(["m0", "m1", "m2", "m3"]);
    expect(phases(frames)).toContain("cf_agent_session_error");
    expect(phases(frames).findLast((phase) => phase === "idle" || phase === "compacting")).toBe("idle");
  });

  it("has the threshold in its frames, and does nothing without a function", async () => {
    const { session, frames } = open();
    session.compactAfter(1);
    await session.appendMessage(text("m0"));
    expect(frames).toMatchObject([{ phase: "idle", tokenThreshold: 1 }]);
  });

  it("comes only when the session is asked, for messages that were written past it", async () => {
    const { session } = open();
    session.onCompaction(range("m0", "m2", "S")).compactAfter(4 * size);
    for (let index = 0; index < 5; index += 1) session.store?.appendMessage(short(`m${index}`));
    expect(await session.compactIfDue()).toMatchObject({ toMessageId: "m2" });
    expect(await session.compactIfDue()).toBeNull();
  });
});

describe("the number of tokens", () => {
  it("counts the prompt, and estimating stores none", async () => {
    const { session, memory, frames } = open();
    session.withContext("soul", { provider: { get: async () => "be kind ".repeat(100) } }).withCachedPrompt();
    await session.appendMessage(text("m0"));
    const tokens = await session.estimateTokens();
    expect(tokens).toBeGreaterThan(200);
    await vi.waitFor(() => expect(frames).toMatchObject([{ tokenEstimate: tokens }]));
    expect(tablesOf(memory)).not.toContain("cf_context_prompts");
  });

  it("is a user's counter's instead, which is given everything", async () => {
    const { session, frames } = open();
    const given: object[] = [];
    session.withContext("soul", { provider: { get: async () => "be kind" } });
    session.compactAfter(50, { tokenCounter: (input) => given.push(input) && 41.2 });
    await session.appendMessage(text("m0"));
    expect(await session.estimateTokens()).toBe(42);
    expect(given[0]).toMatchObject({ messages: [{ id: "m0" }], contextBlocks: [{ label: "soul" }] });
    expect(String((given[0] as { systemPrompt: string }).systemPrompt)).toContain("be kind");
    await vi.waitFor(() => expect(frames[0]).toMatchObject({ tokenEstimate: 42 }));
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -5])("is 0 for a counter that says %s", async (count) => {
    const { session } = open();
    session.onCompaction(range("m0", "m0")).compactAfter(0, { tokenCounter: () => count });
    await session.appendMessage(text("m0"));
    expect(await session.estimateTokens()).toBe(0);
    expect(await session.getCompactions()).toEqual([]);
  });

  it("is what the provider counted, and an estimate of what is newer, also after a restart", async () => {
    const { session, store, reboot } = open();
    session.compactAfter(1_000_000);
    for (const id of ["u1", "a1"]) await session.appendMessage(text(id));
    session.noteUsage({ messageId: "u1", inputTokens: 5_000 });
    const answer = estimateMessageTokens(text("a1"));
    expect(await session.estimateTokens()).toBe(5_000 + answer);
    session.noteUsage({ messageId: "a1", inputTokens: 7_000, outputTokens: 300 });
    expect(await session.estimateTokens()).toBe(7_300);
    await session.appendMessage(text("u2"));
    expect(await session.estimateTokens()).toBe(7_300 + estimateMessageTokens(text("u2")));
    await session.updateMessage(text("u2", "user", "longer ".repeat(50)));
    expect(await session.estimateTokens()).toBe(
      7_300 + estimateMessageTokens(text("u2", "user", "longer ".repeat(50)))
    );
    expect(reboot().store.usage.extraTokens()).toBe(store.usage.extraTokens());
  });

  it("is an estimate again after a compaction, a change of branch, a deletion and a clear", async () => {
    const changes: ((session: Session) => Promise<unknown>)[] = [
      (session) => session.addCompaction("S", "m0", "m1"),
      (session) => session.appendMessage(text("b1"), "m0"),
      (session) => session.deleteMessages(["m1"]),
      (session) => session.clearMessages()
    ];
    for (const change of changes) {
      const { session, store } = await filled(4);
      store.noteUsage({ messageId: "m3", inputTokens: 5_000 });
      expect(await session.estimateTokens()).toBe(5_000);
      await change(session);
      expect(await session.estimateTokens()).toBe(estimateMessageTokens(await session.getHistory()));
    }
    const { session, store } = await filled(4);
    store.noteUsage({ messageId: "m1", inputTokens: 5_000 });
    await session.appendMessage(text("b1"), "m2");
    expect(await session.estimateTokens()).toBeGreaterThan(5_000);
  });

  it("is not written when it is as expected, is not about a message out of sight, and never nonsense", async () => {
    const { store, sql } = await filled(4);
    store.appendMessage(text("b1"), "m1");
    store.addCompaction("S", "m0", "m1");
    sql.reset();
    for (const messageId of ["m3", "m0", "nobody"]) store.noteUsage({ messageId, inputTokens: 5_000 });
    for (const inputTokens of [Number.NaN, -1, 0, Number.POSITIVE_INFINITY]) {
      store.noteUsage({ messageId: "b1", inputTokens });
    }
    expect(sql.rowsWritten).toBe(0);
    store.noteUsage({ messageId: "b1", inputTokens: 5_000 });
    expect(sql.rowsWritten).toBe(1);
    store.appendMessage(text("u2"));
    sql.reset();
    store.noteUsage({ messageId: "u2", inputTokens: 5_040 });
    expect(sql.rowsWritten).toBe(0);
  });

  it("is not kept where no threshold is compared with it", async () => {
    const { session, memory } = await filled(2);
    session.noteUsage({ messageId: "m1", inputTokens: 5_000 });
    expect(tablesOf(memory)).not.toContain("cf_session_usage");
  });
});

test("the trigger and the boundary read one number: what the provider counts over the threshold is compacted", async () => {
  const { session } = open();
  session.onCompaction(createCompactFunction({ summarize: async () => "S", tailTokenBudget: 20_000 }));
  session.compactAfter(50_000);
  for (let index = 0; index < 20; index += 1) await session.appendMessage(text(`m${index}`));
  expect(await session.getCompactions()).toEqual([]);
  session.noteUsage({ messageId: "m19", inputTokens: 90_000 });
  await session.appendMessage(text("m20"));
  expect(await session.getCompactions()).toHaveLength(1);
  expect(warn).not.toHaveBeenCalled();
});

test("rows read by an append to a compacted conversation with a threshold do not grow with it", async () => {
  const { session, sql } = open();
  session.onCompaction(createCompactFunction({ summarize: async () => "S", tailTokenBudget: 200 }));
  for (let index = 0; index < 10_000; index += 1) session.store?.appendMessage(text(`m${index}`));
  await session.compact();
  session.compactAfter(1_000_000);
  session.noteUsage({ messageId: "m9999", inputTokens: 3_000 });
  await session.appendMessage(text("first"));
  const reads = new Set<number>();
  for (let index = 0; index < 1_000; index += 1) {
    sql.reset();
    await session.appendMessage(text(`n${index}`));
    reads.add(sql.rowsRead);
  }
  // The parent. The summary and the provider's count are as they were.
  expect([...reads]).toEqual([1]);
});

test("a custom provider that keeps summaries is compacted like any other", async () => {
  const kept: StoredCompaction[] = [];
  const provider = customProvider({
    getCompactions: async () => kept,
    addCompaction: async (summary, fromMessageId, toMessageId) => {
      const added = { id: String(kept.length), summary, fromMessageId, toMessageId, createdAt: "" };
      kept.push(added);
      return added;
    }
  });
  const session = Session.create(provider).onCompaction(range("m1", "m2")).compactAfter(1);
  await session.appendMessage(text("m4"));
  expect(kept).toMatchObject([{ summary: "S", fromMessageId: "m1", toMessageId: "m2" }]);
});
