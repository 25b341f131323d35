// The tools a model is given for its blocks: which there are, what they say, what they answer, and that they never throw.
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { SessionMessage } from "../session-message.ts";
import { text } from "../session.test-support.ts";
import { AgentSearchProvider } from "./agent-search-provider.ts";
import type { SessionContextOptions } from "./block.ts";
import { NotedDocuments, NotedText, openAgent } from "./context.test-support.ts";
import { unloadedMarker } from "./document-calls.ts";
import type { ContextToolName } from "./tools.ts";

const open = () => openAgent(new DatabaseSync(":memory:"));

function withBlocks(blocks: Record<string, SessionContextOptions>, agent = open()) {
  const session = agent.session();
  for (const [label, options] of Object.entries(blocks)) session.withContext(label, options);
  const call = async (name: ContextToolName, input: unknown) => {
    const tool = (await session.tools())[name];
    if (tool === undefined) throw new Error(`there is no ${name}`);
    return tool.execute(input);
  };
  return { agent, session, call };
}

afterEach(() => void vi.restoreAllMocks());

describe("which tools there are", () => {
  const get = async () => "";
  test.each<[string, Record<string, SessionContextOptions>, ContextToolName[]]>([
    ["no blocks", {}, []],
    ["a read-only block", { a: { provider: { get } } }, []],
    ["a writable block", { a: {} }, ["set_context"]],
    ["documents", { a: { provider: { get, load: get } } }, ["load_context", "unload_context"]],
    [
      "writable documents",
      { a: { provider: new NotedDocuments() } },
      ["set_context", "load_context", "unload_context"]
    ],
    ["a searchable collection", { a: { provider: { get, search: get } } }, ["search_context"]]
  ])("for %s", async (_name, blocks, expected) => {
    expect(Object.keys(await withBlocks(blocks).session.tools())).toEqual(expected);
  });
});

describe("what they say of themselves", () => {
  test("the blocks they are for, and nothing about others", async () => {
    const agent = open();
    const { session } = withBlocks(
      {
        memory: { description: "Learned facts" },
        soul: { provider: { get: async () => "Be kind." } },
        skills: { provider: new NotedDocuments(), description: "How to" },
        docs: { provider: new AgentSearchProvider(agent.agent) }
      },
      agent
    );
    const { set_context, load_context, search_context } = await session.tools();
    expect(set_context?.description).toContain('- "memory" (writable): Learned facts');
    expect(set_context?.description).toContain('- "skills" (skill collection, keyed entries): How to');
    expect(set_context?.description).toContain('- "docs" (searchable, keyed entries)');
    expect(set_context?.description).not.toContain("soul");
    expect(set_context?.inputSchema).toMatchObject({
      properties: {
        label: { enum: ["memory", "skills", "docs"] },
        action: { enum: ["replace", "append"] },
        metadata: {}
      },
      required: ["label", "content"]
    });
    expect(load_context?.inputSchema).toMatchObject({ properties: { label: { enum: ["skills"] } } });
    expect(search_context?.inputSchema).toMatchObject({ properties: { label: { enum: ["docs"] } } });
  });

  test("without keyed blocks no title is asked for", async () => {
    const { set_context } = await withBlocks({ memory: {} }).session.tools();
    expect(set_context?.inputSchema["properties"]).not.toHaveProperty("metadata");
  });
});

describe("set_context", () => {
  test("writes and appends, and says how full the block is", async () => {
    const { call, session } = withBlocks({ memory: { maxTokens: 10 }, notes: {} });
    expect(await call("set_context", { label: "memory", content: "abcd efgh" })).toBe(
      "Written to memory. Usage: 30% (3/10 tokens)"
    );
    expect(await call("set_context", { label: "notes", content: "a" })).toBe("Written to notes. Usage: 2 tokens");
    await call("set_context", { label: "notes", content: "b", action: "append" });
    expect(session.getContextBlock("notes")?.content).toBe("a\nb");
    await call("set_context", { label: "notes", content: "c", action: "replace" });
    expect(session.getContextBlock("notes")?.content).toBe("c");
  });

  test.each<[string, unknown, string]>([
    [
      "over the limit",
      { label: "memory", content: "x".repeat(80) },
      'Error: Block "memory" exceeds maxTokens: 20 > 10'
    ],
    ["on a read-only block", { label: "soul", content: "x" }, 'Error: Block "soul" is readonly'],
    ["on an unknown block", { label: "nobody", content: "x" }, 'Error: Block "nobody" not found'],
    ["without a text", { label: "memory" }, 'Error: "content" must be a text.'],
    ["with no input at all", undefined, 'Error: "label" must be a text.']
  ])("%s answers with an error and changes nothing", async (_name, input, expected) => {
    const soul = { get: async () => "Be kind." };
    const { call, session } = withBlocks({ memory: { maxTokens: 10 }, soul: { provider: soul } });
    await session.replaceContextBlock("memory", "kept");
    expect(await call("set_context", input)).toBe(expected);
    expect(session.getContextBlock("memory")?.content).toBe("kept");
  });

  test("keeps entries of a collection under their titles, with what they are about", async () => {
    const skills = new NotedDocuments();
    const { call, session } = withBlocks({ skills: { provider: skills } });
    const write = (content: string, metadata?: object) => call("set_context", { label: "skills", content, metadata });
    expect(await write("v1", { title: "How to Deploy" })).toBe('Indexed "how-to-deploy" in skills.');
    await write("v2", { title: "How to Deploy", description: "Steps" });
    await write("untitled");
    expect(skills.writes).toEqual([
      ["how-to-deploy", "v1", "How to Deploy"],
      ["how-to-deploy", "v2", "Steps"],
      [expect.stringMatching(/^untitled-/), "untitled", undefined]
    ]);
    expect(session.getContextBlock("skills")?.content).toContain("- how-to-deploy");
  });

  test("a provider that fails is a result and not a throw", async () => {
    const memory = new NotedText();
    const { call } = withBlocks({ memory: { provider: memory } });
    vi.spyOn(memory, "set").mockRejectedValue(new Error("disk full"));
    expect(await call("set_context", { label: "memory", content: "x" })).toBe("Error: disk full");
  });
});

describe("search_context", () => {
  test("gives what the provider found, or says that it found nothing", async () => {
    const agent = open();
    const { call } = withBlocks({ docs: { provider: new AgentSearchProvider(agent.agent) } }, agent);
    await call("set_context", { label: "docs", content: "We deploy on Friday.", metadata: { title: "deploy" } });
    expect(await call("search_context", { label: "docs", query: "friday deploying" })).toBe(
      "[deploy]\nWe deploy on Friday."
    );
    expect(await call("search_context", { label: "docs", query: "monday" })).toBe("No results found.");
    expect(await call("search_context", { label: "nobody", query: "x" })).toBe('Error: Block "nobody" not found');
  });
});

const part = (name: string, key: string, output: string, shape: "static" | "dynamic" = "static") => ({
  type: shape === "static" ? `tool-${name}` : "dynamic-tool",
  ...(shape === "dynamic" && { toolName: name }),
  toolCallId: `${name} ${key} ${output.length}`,
  state: "output-available",
  input: { label: "skills", key },
  output
});
const answer = (id: string, ...parts: SessionMessage["parts"]): SessionMessage => ({ id, role: "assistant", parts });
const outputs = (message: SessionMessage | null) => message?.parts.map(({ output }) => output);

describe("documents", () => {
  const documents = () => ({ skills: { provider: new NotedDocuments({ a: "text of a", b: "text of b" }) } });

  test("are loaded, listed, and refused in words", async () => {
    const { call, session } = withBlocks(documents());
    expect(await call("load_context", { label: "skills", key: "a" })).toBe("text of a");
    expect(await call("load_context", { label: "skills", key: "nobody" })).toBe("Not found: nobody");
    expect(await call("load_context", { label: "skills", key: "broken" })).toMatch(/^Error: .*The bucket is down\.$/);
    expect(await session.getLoadedSkillKeys()).toEqual(new Set(["skills:a"]));
    expect((await session.tools()).unload_context?.description).toContain("Loaded now: skills:a.");
    expect(await call("unload_context", { label: "skills", key: "a" })).toBe('Unloaded "a" from skills.');
    expect(await call("unload_context", { label: "skills", key: "a" })).toContain("not currently loaded");
    expect((await session.tools()).unload_context?.description).toContain("Loaded now: none.");
  });

  test.each(["static", "dynamic"] as const)(
    "loaded before a restart are known after it, in %s parts",
    async (shape) => {
      const before = withBlocks(documents());
      await before.session.appendMessage(text("u1"));
      await before.session.appendMessage(answer("a1", part("load_context", "a", "text of a", shape)));
      await before.session.appendMessage(answer("a2", part("load_context", "b", "text of b", shape)));
      await before.session.appendMessage(answer("a3", part("unload_context", "b", "Unloaded.", shape)));
      const { session } = withBlocks(documents(), before.agent.restart());
      expect(await session.getLoadedSkillKeys()).toEqual(new Set(["skills:a"]));
    }
  );

  test("are taken out of the newest message that holds them", async () => {
    const { session, agent } = withBlocks(documents());
    await session.appendMessage(answer("a1", part("load_context", "a", "text of a")));
    await session.appendMessage(answer("a2", part("load_context", "a", "text of a, again")));
    await session.appendMessage(text("u2"));
    expect(await session.unloadSkill("skills", "a")).toBe(true);
    expect(await session.unloadSkill("skills", "a")).toBe(false);
    expect(outputs(await session.getMessage("a1"))).toEqual(["text of a"]);
    expect(outputs(await session.getMessage("a2"))).toEqual([unloadedMarker("a")]);
    const restarted = withBlocks(documents(), agent.restart());
    expect(await restarted.session.getLoadedSkillKeys()).toEqual(new Set());
    expect(await restarted.call("load_context", { label: "skills", key: "a" })).toBe("text of a");
  });

  test("unloaded while their answer still streams are taken out when it is stored, however often", async () => {
    const { session, call, agent } = withBlocks(documents());
    await call("load_context", { label: "skills", key: "a" });
    await call("unload_context", { label: "skills", key: "a" });
    const whole = answer("a1", part("load_context", "a", "text of a"), part("unload_context", "a", "Unloaded."));
    for (const store of ["appendMessage", "updateMessage"] as const) {
      agent.store[store](whole);
      await settled();
      expect(outputs(await session.getMessage("a1"))).toEqual([unloadedMarker("a"), "Unloaded."]);
    }
    agent.store.appendMessage(text("u2"));
    await settled();
    agent.sql.reset();
    agent.store.appendMessage(text("u3"));
    await settled();
    expect(agent.sql.statements.filter((query) => query.includes("m.content"))).toEqual([]);
  });

  test("that a crash kept from being taken out are taken out when the messages are read", async () => {
    const agent = open();
    agent.store.appendMessage(
      answer("a1", part("load_context", "a", "text of a"), part("unload_context", "a", "Unloaded."))
    );
    const { session } = withBlocks(documents(), agent.restart());
    expect(await session.getLoadedSkillKeys()).toEqual(new Set());
    expect(outputs(await session.getMessage("a1"))).toEqual([unloadedMarker("a"), "Unloaded."]);
  });

  test("are forgotten with the conversation, and with their block", async () => {
    const { session, call } = withBlocks(documents());
    await call("load_context", { label: "skills", key: "a" });
    await session.clearMessages();
    expect(await session.getLoadedSkillKeys()).toEqual(new Set());
    await call("load_context", { label: "skills", key: "a" });
    session.removeContext("skills");
    expect(await session.getLoadedSkillKeys()).toEqual(new Set());
    expect(await session.unloadSkill("skills", "a")).toBe(false);
  });

  test("a branch that never loaded them does not list them", async () => {
    const { session } = withBlocks(documents());
    await session.appendMessage(text("u1"));
    await session.appendMessage(answer("a1", part("load_context", "a", "text of a")));
    expect(await session.getLoadedSkillKeys()).toEqual(new Set(["skills:a"]));
    await session.appendMessage(answer("a2", part("load_context", "b", "text of b")), "u1");
    expect(await session.getLoadedSkillKeys()).toEqual(new Set(["skills:b"]));
    await session.deleteMessages(["a2"]);
    expect(await session.getLoadedSkillKeys()).toEqual(new Set(["skills:a"]));
  });

  test("without a block of them no message is read at all", async () => {
    const { session, agent } = withBlocks({ memory: {} });
    await session.appendMessage(answer("a1", part("load_context", "a", "text of a")));
    agent.sql.reset();
    await session.tools();
    await session.freezeSystemPrompt();
    expect(agent.sql.statements.filter((query) => query.includes("assistant_messages"))).toEqual([]);
  });

  test("are looked for once: later turns read no message, however long the conversation is", async () => {
    const { session, agent } = withBlocks(documents());
    for (let index = 0; index < 200; index += 1) agent.store.appendMessage(answer(`a${index}`));
    await session.tools();
    agent.sql.reset();
    agent.store.appendMessage(text("u1"));
    await session.tools();
    await session.freezeSystemPrompt();
    expect(agent.sql.rowsRead).toBeLessThan(10);
  });

  test("a storage that cannot be read costs the list and not the turn", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const { session, agent } = withBlocks(documents());
    await session.appendMessage(text("u1"));
    vi.spyOn(Object.getPrototypeOf(Object.getPrototypeOf(session.store)), "getHistoryRowStats").mockImplementation(
      () => {
        throw new Error("unreadable");
      }
    );
    expect(Object.keys(await session.tools())).toContain("load_context");
    expect(warn).toHaveBeenCalled();
    expect(agent.setAside).toEqual([]);
  });
});

/** Until everything that was put off to a later tick is done. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
