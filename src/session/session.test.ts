import { DatabaseSync } from "node:sqlite";
import type { UIMessage } from "ai";
import { describe, expect, expectTypeOf, it, test, vi } from "vitest";
import { addMessages } from "./transcript.ts";
import { AgentSessionProvider, Session } from "./session.ts";
import { provideSessionHost } from "./session-host.ts";
import type { SessionMessage } from "./session-message.ts";
import type { SessionProvider } from "./session-provider.ts";
import { ids, openTestSession, text } from "./session.test-support.ts";
import { estimateMessageTokens } from "./tokens.ts";

class Agent {
  sql(_strings: TemplateStringsArray): unknown[] {
    return [];
  }
}

function open(isWatched = true) {
  const test = openTestSession(new DatabaseSync(":memory:"));
  const agent = new Agent();
  const { broadcast, ...unwatched } = test.host;
  provideSessionHost(agent, isWatched ? { ...unwatched, ...(broadcast && { broadcast }) } : unwatched);
  return { ...test, agent, session: Session.create(agent) };
}

describe("a session of an agent", () => {
  it("touches nothing before its first call", async () => {
    const { session, sql } = open();
    session.forSession("chat");
    expect(sql.statements).toEqual([]);
    await session.appendMessage(text("m1"));
    expect(sql.statements.length).toBeGreaterThan(0);
    expect(() => session.forSession("late")).toThrow(expect.objectContaining({ code: "session-in-use" }));
  });

  it("keeps the sessions of one object apart, also messages with the same id", async () => {
    const { agent } = open();
    const [first, second] = [Session.create(agent).forSession("a"), Session.create(agent).forSession("b")];
    await first.appendMessage(text("m1", "user", "in a"));
    await second.appendMessage(text("m1", "user", "in b"));
    await first.clearMessages();
    expect(await first.getHistory()).toEqual([]);
    expect(await second.getHistory()).toEqual([text("m1", "user", "in b")]);
  });

  it("has every reading of the tree", async () => {
    const { session } = open();
    for (const id of ["u1", "a1", "u2"]) await session.appendMessage(text(id));
    await session.appendMessage(text("b1"), "u1");
    expect(ids(await session.getBranches("u1"))).toEqual(["a1", "b1"]);
    expect((await session.getLatestLeaf())?.id).toBe("b1");
    expect(await session.getPathLength()).toBe(2);
    expect(await session.getPathLength("u2")).toBe(3);
    expect(await session.getMessage("nobody")).toBeNull();
    expect(ids((await session.getHistoryRowStats()) ?? [])).toEqual(["u1", "b1"]);
    expect(await session.getRecentHistory(1)).toMatchObject({ truncated: true, messages: [{ id: "b1" }] });
    await session.updateMessage(text("b1", "assistant", "new"));
    await session.deleteMessages(["u1"]);
    expect(await session.getHistory()).toEqual([text("b1", "assistant", "new")]);
  });

  it("shares its rows with every other session of the same agent", async () => {
    const { session, agent } = open();
    await session.appendMessage(text("m1"));
    new AgentSessionProvider(agent).appendMessage(text("m2"));
    expect(ids(await session.getHistory())).toEqual(["m1", "m2"]);
    expect(session.store?.leafId).toBe("m2");
  });

  it("needs an agent or a provider", async () => {
    await expect(Session.create(new Agent()).getHistory()).rejects.toThrow(
      expect.objectContaining({ code: "session-host-missing" })
    );
  });

  it("takes and gives messages of the AI SDK", () => {
    expectTypeOf<UIMessage>().toExtend<SessionMessage>();
    const message: UIMessage = { id: "m", role: "user", parts: [{ type: "text", text: "hi" }] };
    const { session } = open();
    void session.appendMessage(message);
  });
});

describe("status", () => {
  it("is one idle frame after each awaited append, repeated append, update, delete and clear", async () => {
    const { session, frames } = open();
    await session.appendMessage(text("m1"));
    await session.appendMessage(text("m1"));
    await session.updateMessage(text("m1", "user", "x".repeat(400)));
    await session.deleteMessages(["m1"]);
    await session.clearMessages();
    const tokens = [text("m1"), text("m1"), text("m1", "user", "x".repeat(400))].map((message) =>
      estimateMessageTokens(message)
    );
    expect(frames).toEqual(
      [...tokens, 0, 0].map((tokenEstimate) => ({
        type: "cf_agent_session",
        phase: "idle",
        tokenEstimate,
        tokenThreshold: null
      }))
    );
  });

  it("is one frame for all writes of a tick, and reads one row of a long history", async () => {
    const { session, frames, sql } = open();
    const { store } = session;
    for (let index = 0; index < 5_000; index += 1) store!.appendMessage(text(`m${index}`));
    await Promise.resolve();
    expect(frames).toHaveLength(1);
    sql.reset();
    await session.appendMessage(text("last"));
    expect(frames).toHaveLength(2);
    expect(sql.rowsRead).toBeLessThanOrEqual(2);
    expect(sql.statements.join()).not.toContain("m.content");
    expect(frames[1]!["tokenEstimate"]).toBe(estimateMessageTokens(await session.getHistory()));
  });

  it("is not computed when no client can watch", async () => {
    const { session, frames, sql } = open(false);
    await session.appendMessage(text("m1"));
    sql.reset();
    await session.appendMessage(text("m2"));
    expect(frames).toEqual([]);
    expect(sql.rowsRead).toBe(1);
  });

  it("that cannot be sent does not undo the write", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const { host } = openTestSession(new DatabaseSync(":memory:"));
    const agent = new Agent();
    provideSessionHost(agent, {
      ...host,
      broadcast: () => {
        throw new Error("gone");
      }
    });
    const session = Session.create(agent);
    await session.appendMessage(text("m1"));
    expect(await session.getPathLength()).toBe(1);
    expect(warn).toHaveBeenCalledOnce();
    warn.mockRestore();
  });
});

test("a session over a custom provider uses it for everything, and reads whole what it cannot read in part", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const stored = [text("m1"), text("m2")];
  const provider: SessionProvider = {
    getMessage: async (id) => stored.find((message) => message.id === id) ?? null,
    getHistory: async () => stored,
    getLatestLeaf: () => stored.at(-1) ?? null,
    getBranches: () => [],
    getPathLength: () => stored.length,
    appendMessage: (message) => void stored.push(message),
    updateMessage: async () => undefined,
    deleteMessages: () => undefined,
    clearMessages: () => void stored.splice(0)
  };
  const session = Session.create(provider);
  await session.appendMessage(text("m3"));
  expect(ids(await session.getHistory())).toEqual(["m1", "m2", "m3"]);
  const recent = await session.getRecentHistory(1);
  expect(recent).toMatchObject({ truncated: false });
  expect(recent.totalContentBytes).toBe(stored.reduce((sum, message) => sum + JSON.stringify(message).length, 0));
  await session.getRecentHistory(1);
  expect(warn).toHaveBeenCalledOnce();
  expect(await session.getHistoryRowStats()).toBeNull();
  expect(session.store).toBeUndefined();
  await new Session(provider).clearMessages();
  expect(await session.getPathLength()).toBe(0);
  warn.mockRestore();
});

describe("adding messages without a turn", () => {
  const start = () => {
    const { store } = openTestSession(new DatabaseSync(":memory:"));
    store.appendMessage(text("m1"));
    return store;
  };

  it("chains them below the latest message, and twice is once", () => {
    const store = start();
    addMessages(store, [text("m2"), text("m3")]);
    addMessages(store, [text("m2"), text("m3")]);
    expect(ids(store.getHistory())).toEqual(["m1", "m2", "m3"]);
    addMessages(store, []);
  });

  it("goes on below a message that is stored already, which it leaves alone or updates", () => {
    const store = start();
    addMessages(store, [text("m1", "user", "other"), text("m2")]);
    expect(store.getHistory()).toEqual([text("m1"), text("m2")]);
    addMessages(store, [text("m1", "user", "other"), text("m3")], { mode: "upsert" });
    expect(store.getHistory()).toEqual([text("m1", "user", "other"), text("m3")]);
    expect(ids(store.getBranches("m1"))).toEqual(["m2", "m3"]);
  });

  it("goes to a root or a named parent, and writes nothing below an unknown one", () => {
    const store = start();
    addMessages(store, [text("r1"), text("r2")], { parentId: null });
    expect(ids(store.getHistory())).toEqual(["r1", "r2"]);
    addMessages(store, [text("m2")], { parentId: "m1" });
    expect(ids(store.getHistory())).toEqual(["m1", "m2"]);
    expect(() => addMessages(store, [text("m9")], { parentId: "nobody" })).toThrow(
      expect.objectContaining({ code: "unknown-parent" })
    );
    expect(store.has("m9")).toBe(false);
  });

  it("is all or nothing", () => {
    const store = start();
    // A program without types may pass anything.
    expect(() => addMessages(store, [text("m2"), JSON.parse("{}")])).toThrow();
    expect(ids(store.getHistory())).toEqual(["m1"]);
  });
});
