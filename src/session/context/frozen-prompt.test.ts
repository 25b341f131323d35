// The prompt is rendered once, survives restarts, and changes only when it should.
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, test, vi } from "vitest";
import { TableSet } from "../../host/table-set.ts";
import { Crash } from "../../journal/memory-sql.test-support.ts";
import { text } from "../session.test-support.ts";
import { Session } from "../session.ts";
import { NotedText, openAgent } from "./context.test-support.ts";
import { MAX_PROMPT_BYTES, PROMPT_TABLES } from "./prompt-store.ts";

const open = () => openAgent(new DatabaseSync(":memory:"));
const prompts = ({ sql }: ReturnType<typeof open>) =>
  new TableSet(sql, PROMPT_TABLES).all("SELECT session_id FROM cf_context_prompts").length;

afterEach(() => void vi.restoreAllMocks());

describe("a frozen prompt", () => {
  test("does not show a write before it is refreshed, cleared or restarted without a cache", async () => {
    const agent = open();
    const session = agent.session().withContext("memory");
    const empty = await session.freezeSystemPrompt();
    await session.replaceContextBlock("memory", "likes tea");
    expect(await session.freezeSystemPrompt()).toBe(empty);
    expect(await session.refreshSystemPrompt()).toContain("likes tea");
    await session.appendContextBlock("memory", "and cake");
    expect(await session.freezeSystemPrompt()).not.toContain("cake");
    await session.clearMessages();
    expect(await session.freezeSystemPrompt()).toContain("cake");
    expect(prompts(agent)).toBe(0);
  });

  test("is the same after a restart, without asking any block", async () => {
    const agent = open();
    const soul = new NotedText("Be kind.");
    const configure = (session: Session) => session.withContext("soul", { provider: soul }).withCachedPrompt();
    const before = await configure(agent.session()).freezeSystemPrompt();
    soul.content = "Be rude.";
    const reads = soul.calls.length;
    const restarted = configure(agent.restart().session());
    expect(await restarted.freezeSystemPrompt()).toBe(before);
    expect(await restarted.peekSystemPrompt()).toBe(before);
    expect(soul.calls.length).toBe(reads);
    expect(await restarted.refreshSystemPrompt()).toContain("rude");
    expect(await configure(agent.restart().session()).freezeSystemPrompt()).toContain("rude");
  });

  test("that is empty is returned as empty and not rendered again", async () => {
    const agent = open();
    const soul = new NotedText(null);
    const provider = { get: () => soul.get() };
    const configure = (session: Session) => session.withContext("soul", { provider }).withCachedPrompt();
    expect(await configure(agent.session()).freezeSystemPrompt()).toBe("");
    soul.content = "Be kind.";
    expect(await configure(agent.restart().session()).freezeSystemPrompt()).toBe("");
    expect(soul.reads).toBe(1);
  });

  test.each<[string, (session: Session) => Session]>([
    ["a block more", (session) => session.withContext("soul").withContext("memory")],
    ["another description", (session) => session.withContext("soul", { description: "Who you are" })],
    ["a limit", (session) => session.withContext("soul", { maxTokens: 50 })],
    ["another kind", (session) => session.withContext("soul", { provider: { get: async () => "Be kind." } })]
  ])("of other blocks is rendered again: a deploy with %s", async (_name, configure) => {
    const agent = open();
    const before = agent.session().withContext("soul").withCachedPrompt();
    await before.replaceContextBlock("soul", "Be kind.");
    const old = await before.freezeSystemPrompt();
    const deployed = configure(agent.restart().session()).withCachedPrompt();
    expect(await deployed.freezeSystemPrompt()).not.toBe(old);
    const again = configure(agent.restart().session()).withCachedPrompt();
    expect(await again.freezeSystemPrompt()).toBe(await deployed.freezeSystemPrompt());
  });

  test("shows a block that a feature adds at every start from the first turn on", async () => {
    const agent = open();
    const plain = agent.session().withContext("memory").withCachedPrompt();
    await plain.freezeSystemPrompt();
    const session = agent.restart().session().withContext("memory").withCachedPrompt();
    await session.addContext("extension_notes");
    expect(await session.freezeSystemPrompt()).toContain("EXTENSION_NOTES");
  });

  test("is not stored by an estimate", async () => {
    const agent = open();
    const session = agent.session().withContext("memory").withCachedPrompt();
    expect(await session.peekSystemPrompt()).toContain("MEMORY");
    expect(prompts(agent)).toBe(0);
    await session.freezeSystemPrompt();
    expect(prompts(agent)).toBe(1);
  });

  test("keeps sessions apart", async () => {
    const agent = open();
    for (const id of ["a", "b"]) {
      const session = agent.session().forSession(id).withContext("memory").withCachedPrompt();
      await session.replaceContextBlock("memory", `of ${id}`);
      await session.freezeSystemPrompt();
    }
    const session = agent.restart().session().forSession("a").withContext("memory").withCachedPrompt();
    expect(await session.freezeSystemPrompt()).toContain("of a");
  });

  test("that cannot be read from its row is rendered again", async () => {
    const agent = open();
    const configure = (session: Session) => session.withContext("memory").withCachedPrompt();
    const before = await configure(agent.session()).freezeSystemPrompt();
    agent.sql.run("UPDATE cf_context_prompts SET sections = '[{]'");
    expect(await configure(agent.restart().session()).freezeSystemPrompt()).toBe(before);
  });

  test("too large for a row holds for the life of the process", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const agent = open();
    const large = new NotedText("x".repeat(MAX_PROMPT_BYTES));
    const session = agent.session().withContext("large", { provider: large }).withCachedPrompt();
    await session.freezeSystemPrompt();
    await session.freezeSystemPrompt();
    expect([large.reads, prompts(agent), warn.mock.calls.length]).toEqual([1, 0, 1]);
  });
});

describe("a conversation that is cleared", () => {
  test("takes the stored prompt with it in the same transaction, for every way to clear it", async () => {
    const agent = open();
    const session = agent.session().withContext("memory").withCachedPrompt();
    await session.appendMessage(text("m1"));
    await session.freezeSystemPrompt();
    await session.replaceContextBlock("memory", "new");
    agent.store.clearMessages();
    expect(prompts(agent)).toBe(0);
    expect(await session.freezeSystemPrompt()).toContain("new");
  });

  test("or keeps both when the process dies in between", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    for (let write = 1; ; write += 1) {
      const agent = open();
      const session = agent.session().withContext("memory").withCachedPrompt();
      await session.appendMessage(text("m1"));
      await session.freezeSystemPrompt();
      agent.memory.crashAtWrite(write);
      try {
        agent.store.clearMessages();
        expect(write).toBeGreaterThan(1);
        break;
      } catch (error) {
        expect(error).toBeInstanceOf(Crash);
      }
      const restarted = agent.restart();
      expect(restarted.store.getHistory()).toHaveLength(1);
      expect(prompts(restarted)).toBe(1);
    }
  });

  test("while a prompt is being rendered does not freeze the text from before", async () => {
    const agent = open();
    const asked = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<string>();
    const first = () => {
      asked.resolve();
      return gate.promise;
    };
    const get = vi.fn<() => Promise<string>>().mockImplementationOnce(first).mockResolvedValue("after");
    const session = agent.session().withContext("soul", { provider: { get } }).withCachedPrompt();
    const rendering = session.freezeSystemPrompt();
    await asked.promise;
    agent.store.clearMessages();
    gate.resolve("before");
    expect(await rendering).toContain("before");
    expect(prompts(agent)).toBe(0);
    expect(await session.freezeSystemPrompt()).toContain("after");
  });
});

describe("a prompt in a store of the user's", () => {
  test("is returned unchanged if there is one, also an empty one", async () => {
    for (const stored of ["Stored before.", ""]) {
      const store = new NotedText(stored);
      const soul = new NotedText("Be kind.");
      const session = open().session().withContext("soul", { provider: soul }).withCachedPrompt(store);
      expect(await session.freezeSystemPrompt()).toBe(stored);
      expect(soul.calls).toEqual([]);
    }
  });

  test("is rendered again for other blocks, also when it was found without a fingerprint", async () => {
    const agent = open();
    const store = new NotedText("Stored before.");
    const start = () => agent.restart().session().withCachedPrompt(store);
    expect(await start().withContext("soul").freezeSystemPrompt()).toBe("Stored before.");
    expect(await start().withContext("soul").freezeSystemPrompt()).toBe("Stored before.");
    expect(await start().withContext("soul").withContext("memory").freezeSystemPrompt()).toContain("MEMORY");
    expect(store.content).toContain("MEMORY");
  });

  test("that is down costs the cache and not the turn", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const down = () => Promise.reject(new Error("down"));
    const soul = new NotedText("Be kind.");
    const session = open().session().withContext("soul", { provider: soul }).withCachedPrompt({ get: down, set: down });
    expect(await session.freezeSystemPrompt()).toContain("Be kind.");
    expect(await session.freezeSystemPrompt()).toContain("Be kind.");
    expect(soul.reads).toBe(1);
  });

  test("is replaced when a session over a provider of the user's is cleared", async () => {
    const { store: messages } = open();
    const store = new NotedText();
    const soul = new NotedText("Be kind.");
    const provider = new Proxy<typeof messages>(messages, { getPrototypeOf: () => Object.prototype, get: bound });
    const session = new Session(provider, { context: [{ label: "soul", provider: soul }], promptStore: store });
    await session.freezeSystemPrompt();
    soul.content = "Be rude.";
    await session.clearMessages();
    expect(store.content).toContain("rude");
  });
});

/** Methods of the real store, in an object that is none of its class. */
function bound(target: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name, target);
  return typeof value === "function" ? value.bind(target) : value;
}
