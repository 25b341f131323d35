// Blocks as a session's user sees them: declared, read, written, added and removed.
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Session } from "../session.ts";
import { text } from "../session.test-support.ts";
import { AgentContextProvider, MAX_BLOCK_BYTES } from "./agent-context-provider.ts";
import { MAX_BLOCKS } from "./block.ts";
import { NotedDocuments, NotedText, openAgent } from "./context.test-support.ts";

const open = () => openAgent(new DatabaseSync(":memory:"));

afterEach(() => void vi.restoreAllMocks());

describe("declaring blocks", () => {
  test("touches nothing, and the order of the builder's calls does not matter", async () => {
    const agent = open();
    const session = agent.session().withContext("memory").withCachedPrompt().forSession("x");
    expect(agent.sql.statements).toEqual([]);
    await session.replaceContextBlock("memory", "of x");
    const other = agent.session().forSession("x").withContext("memory");
    expect(other.getContextBlock("memory")?.content).toBe("of x");
    expect(agent.session().withContext("memory").getContextBlock("memory")?.content).toBe("");
  });

  test("a session and a label can never be taken for another label", async () => {
    const agent = open();
    await agent.session().forSession("x").withContext("memory").replaceContextBlock("memory", "of the session x");
    const plain = agent.session().withContext("memory_x");
    expect(plain.getContextBlock("memory_x")?.content).toBe("");
  });

  test("after the first use is refused and names what to call instead", async () => {
    const session = open().session();
    await session.getHistory();
    expect(() => session.withContext("late")).toThrow(expect.objectContaining({ code: "session-in-use" }));
    expect(() => session.withContext("late")).toThrow(/addContext\(\)/);
    expect(() => session.withCachedPrompt()).toThrow(expect.objectContaining({ code: "session-in-use" }));
  });

  test("the same label twice is refused at once", () => {
    expect(() => open().session().withContext("a").withContext("a")).toThrow('Block "a" already exists');
  });

  test("more blocks than a prompt can hold are refused", async () => {
    const session = open().session();
    for (let count = 0; count < MAX_BLOCKS; count += 1) session.withContext(`block ${count}`);
    await expect(session.addContext("one more")).rejects.toMatchObject({ code: "invalid-block" });
  });

  test("a session without blocks reads nothing for its prompt and its tools", async () => {
    const agent = open();
    const session = agent.session();
    await session.appendMessage(text("m1"));
    agent.sql.reset();
    expect(await session.freezeSystemPrompt()).toBe("");
    expect(await session.tools()).toEqual({});
    expect(await session.getLoadedSkillKeys()).toEqual(new Set());
    expect(session.getContextBlocks()).toEqual([]);
    expect(agent.sql.statements).toEqual([]);
  });

  test("over a provider of the user's, at construction", async () => {
    const { store } = open();
    const session = new Session(wrap(store), { context: [{ label: "soul", provider: new NotedText("Be kind.") }] });
    expect(await session.freezeSystemPrompt()).toContain("Be kind.");
    const empty = Session.create(wrap(store)).withContext("nothing");
    expect(await empty.freezeSystemPrompt()).toBe("");
    await expect(empty.replaceContextBlock("nothing", "x")).rejects.toThrow('Block "nothing" is readonly');
    await expect(empty.addContext("more")).rejects.toThrow(
      expect.objectContaining({ code: "context-provider-required" })
    );
  });
});

describe("reading blocks", () => {
  test("those in the agent's storage are there from the start, others once they were asked", async () => {
    const soul = new NotedText("Be kind.");
    const agent = open();
    const session = agent.session().withContext("soul", { provider: soul }).withContext("memory", { maxTokens: 9 });
    expect(session.getContextBlock("soul")).toBeNull();
    expect(session.getContextBlocks().map(({ label }) => label)).toEqual(["memory"]);
    await session.tools();
    expect(session.getContextBlocks()).toEqual([
      { label: "soul", content: "Be kind.", tokens: 3, writable: true, isSkill: false, isSearchable: false },
      { label: "memory", content: "", tokens: 0, maxTokens: 9, writable: true, isSkill: false, isSearchable: false }
    ]);
    expect(session.getContextBlock("nobody")).toBeNull();
    expect(soul.calls).toEqual(["init soul ", "get"]);
  });

  test("two turns at once ask a provider once", async () => {
    const soul = new NotedText("Be kind.");
    const session = open().session().withContext("soul", { provider: soul });
    await Promise.all([session.tools(), session.freezeSystemPrompt(), session.freezeSystemPrompt()]);
    expect(soul.reads).toBe(1);
  });

  test("a provider that is down costs its text and not the turn, and its block is not overwritten unseen", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const memory = new NotedText("precious");
    const session = open().session().withContext("memory", { provider: memory }).withContext("notes");
    const read = vi.spyOn(memory, "get").mockRejectedValue(new Error("down"));
    expect(Object.keys(await session.tools())).toEqual(["set_context"]);
    expect(await session.freezeSystemPrompt()).toContain("could not be read just now");
    await expect(session.replaceContextBlock("memory", "new")).rejects.toThrow("down");
    expect(memory.content).toBe("precious");
    read.mockRestore();
    expect(await session.freezeSystemPrompt()).toContain("precious");
    expect(warn).toHaveBeenCalled();
  });
});

describe("writing blocks", () => {
  test("is durable at once", async () => {
    const agent = open();
    const block = await agent.session().withContext("memory").replaceContextBlock("memory", "likes tea");
    expect(block).toMatchObject({ label: "memory", content: "likes tea", tokens: 3 });
    expect(agent.restart().session().withContext("memory").getContextBlock("memory")?.content).toBe("likes tea");
  });

  test("appends go on a line of their own, and two at once are both kept", async () => {
    const agent = open();
    const session = agent.session().withContext("memory");
    await Promise.all(["a", "b", "\nc"].map((line) => session.appendContextBlock("memory", line)));
    expect(session.getContextBlock("memory")?.content).toBe("a\nb\nc");
  });

  test("an append keeps what another session of the agent wrote meanwhile", async () => {
    const agent = open();
    const [first, second] = [agent.session().withContext("memory"), agent.session().withContext("memory")];
    await first.replaceContextBlock("memory", "one");
    expect(second.getContextBlock("memory")?.content).toBe("one");
    await first.appendContextBlock("memory", "two");
    await second.appendContextBlock("memory", "three");
    expect(second.getContextBlock("memory")?.content).toBe("one\ntwo\nthree");
  });

  test("a refused write changes nothing, and says why", async () => {
    const soul = { get: async () => "Be kind." };
    const session = open()
      .session()
      .withContext("soul", { provider: soul })
      .withContext("skills", { provider: new NotedDocuments() })
      .withContext("memory", { maxTokens: 2 });
    await session.replaceContextBlock("memory", "abcd");
    await expect(session.replaceContextBlock("soul", "x")).rejects.toThrow('Block "soul" is readonly');
    await expect(session.replaceContextBlock("nobody", "x")).rejects.toThrow('Block "nobody" is readonly');
    await expect(session.appendContextBlock("nobody", "x")).rejects.toThrow('Block "nobody" not found');
    await expect(session.appendContextBlock("soul", "x")).rejects.toThrow('Block "soul" is readonly');
    await expect(session.replaceContextBlock("skills", "x")).rejects.toThrow(/keyed provider/);
    await expect(session.replaceContextBlock("memory", "x".repeat(12))).rejects.toThrow(
      'Block "memory" exceeds maxTokens: 3 > 2'
    );
    await expect(session.appendContextBlock("memory", "x".repeat(12))).rejects.toThrow(/exceeds maxTokens/);
    expect(session.getContextBlock("memory")?.content).toBe("abcd");
  });

  test("an empty text leaves no row, and a row never outgrows its limit", async () => {
    const agent = open();
    const session = agent.session().withContext("memory");
    await session.replaceContextBlock("memory", "x");
    await session.replaceContextBlock("memory", "");
    expect(agent.sql.all("SELECT * FROM cf_context_blocks")).toEqual([]);
    await expect(session.replaceContextBlock("memory", "é".repeat(MAX_BLOCK_BYTES / 2 + 1))).rejects.toThrow(
      expect.objectContaining({ code: "block-too-large" })
    );
  });

  test("a label given to the provider itself is shared by sessions", async () => {
    const { agent, session } = open();
    const shared = () => ({ provider: new AgentContextProvider(agent, "everybody") });
    await session().forSession("a").withContext("notes", shared()).replaceContextBlock("notes", "hello");
    expect(session().forSession("b").withContext("other", shared()).getContextBlock("other")?.content).toBe("hello");
    expect(() => new AgentContextProvider(agent).read()).toThrow(
      expect.objectContaining({ code: "context-label-missing" })
    );
  });
});

describe("blocks at run time", () => {
  test("are read at once, and join and leave the prompt only when it is refreshed", async () => {
    const session = open()
      .session()
      .withContext("soul", { provider: new NotedText("Be kind.") });
    const before = await session.freezeSystemPrompt();
    const notes = new NotedText("Call Ann.");
    expect(await session.addContext("notes", { provider: notes })).toMatchObject({ content: "Call Ann." });
    expect(await session.freezeSystemPrompt()).toBe(before);
    expect(await session.refreshSystemPrompt()).toContain("Call Ann.");
    expect(session.removeContext("notes")).toBe(true);
    expect(session.removeContext("notes")).toBe(false);
    expect(session.getContextBlock("notes")).toBeNull();
    expect(await session.freezeSystemPrompt()).toContain("Call Ann.");
    expect(await session.refreshSystemPrompt()).toBe(before);
    expect(notes.content).toBe("Call Ann.");
  });

  test("join an empty prompt only when it is refreshed", async () => {
    const session = open().session();
    expect(await session.freezeSystemPrompt()).toBe("");
    await session.addContext("notes");
    expect(await session.freezeSystemPrompt()).toBe("");
    expect(await session.refreshSystemPrompt()).toContain("NOTES");
  });

  test("a label that is taken is refused, also while its block is still being read", async () => {
    const session = open().session().withContext("memory");
    await expect(session.addContext("memory")).rejects.toThrow(expect.objectContaining({ code: "block-exists" }));
    const [first, second] = await Promise.allSettled([session.addContext("a"), session.addContext("a")]);
    expect([first.status, second.status]).toEqual(["fulfilled", "rejected"]);
  });

  test("a block that cannot be read is not registered", async () => {
    const session = open().session();
    const down = { get: () => Promise.reject(new Error("down")) };
    await expect(session.addContext("a", { provider: down })).rejects.toThrow("down");
    expect(await session.addContext("a")).toMatchObject({ content: "" });
  });
});

/** A provider of the user's: only the methods, no store of ours. */
function wrap(store: ReturnType<typeof open>["store"]) {
  return {
    getMessage: store.getMessage.bind(store),
    getHistory: store.getHistory.bind(store),
    getLatestLeaf: store.getLatestLeaf.bind(store),
    getBranches: store.getBranches.bind(store),
    getPathLength: store.getPathLength.bind(store),
    appendMessage: store.appendMessage.bind(store),
    updateMessage: store.updateMessage.bind(store),
    deleteMessages: store.deleteMessages.bind(store),
    clearMessages: store.clearMessages.bind(store)
  };
}
