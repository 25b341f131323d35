// The providers that come with the package: entries in the agent's SQLite, and documents in a bucket.
import { DatabaseSync } from "node:sqlite";
import { describe, expect, expectTypeOf, test } from "vitest";
import { CONVERSATION_TABLES } from "../../journal/conversation.ts";
import { Crash, createTables, MemorySql } from "../../journal/memory-sql.test-support.ts";
import { moveOriginalSession } from "../take-over.ts";
import { tablesOf } from "../../host/schema.ts";
import { AgentSearchProvider, MAX_ENTRIES, MAX_ENTRY_BYTES } from "./agent-search-provider.ts";
import { openAgent, type AgentSession } from "./context.test-support.ts";
import { MAX_DOCUMENT_BYTES, MAX_LISTED, R2SkillProvider, type SkillBucket } from "./r2-skill-provider.ts";

const open = () => openAgent(new DatabaseSync(":memory:"));

function provider({ agent }: AgentSession, label = "docs", sessionId = ""): AgentSearchProvider {
  const created = new AgentSearchProvider(agent);
  created.init(label, sessionId);
  return created;
}

describe("entries in the agent's SQLite", () => {
  test("are counted, found by any of their words, and best first", async () => {
    const docs = provider(open());
    expect(await docs.get()).toBeNull();
    await docs.set("far", "We deploy the site. Never on a Friday.");
    await docs.set("near", "deploy friday");
    await docs.set("other", "Nothing of that.");
    expect(await docs.get()).toBe("3 entries indexed.");
    expect(await docs.search("friday deployed")).toBe(
      "[near]\ndeploy friday\n\n[far]\nWe deploy the site. Never on a Friday."
    );
    expect(await docs.search("friday monday")).toBeNull();
  });

  test.each(["", "   ", '"', "AND", "a* OR b", "NEAR(a b)", "col:x", "(", "-x", "\0"])(
    "take %j for words and not for an expression",
    async (query) => {
      const docs = provider(open());
      await docs.set("key", "entry");
      await expect(docs.search(query)).resolves.toBeNull();
    }
  );

  test("forget their old words when they are written again, and all when they are emptied", async () => {
    const agent = open();
    const docs = provider(agent);
    await docs.set("key", "old words");
    await docs.set("key", "new words");
    expect(await docs.search("old")).toBeNull();
    expect(await docs.search("new")).toBe("[key]\nnew words");
    await docs.set("key", "");
    await docs.set("nobody", "");
    expect(await docs.search("words")).toBeNull();
    expect(await docs.get()).toBeNull();
    expect(agent.sql.all("SELECT * FROM cf_context_entries_fts WHERE cf_context_entries_fts MATCH 'words'")).toEqual(
      []
    );
  });

  test("of other labels and other sessions are not found", async () => {
    const agent = open();
    await provider(agent, "docs").set("key", "word of docs");
    await provider(agent, "notes").set("key", "word of notes");
    await provider(agent, "docs", "x").set("key", "word of x");
    expect(await provider(agent, "docs").search("word")).toBe("[key]\nword of docs");
    expect(await provider(agent, "docs", "x").search("word")).toBe("[key]\nword of x");
  });

  test("show the best ten", async () => {
    const docs = provider(open());
    for (let count = 0; count < 12; count += 1) await docs.set(`k${count}`, "word");
    expect((await docs.search("word"))?.split("\n\n")).toHaveLength(10);
  });

  test("have limits, and known ones can still be written at them", async () => {
    const agent = open();
    const docs = provider(agent);
    await expect(docs.set("key", "x".repeat(MAX_ENTRY_BYTES + 1))).rejects.toThrow(
      expect.objectContaining({ code: "block-too-large" })
    );
    await expect(docs.set("k".repeat(1_000), "x")).rejects.toThrow(
      expect.objectContaining({ code: "block-too-large" })
    );
    await docs.set("first", "x");
    agent.sql.run(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MAX_ENTRIES - 1})
       INSERT INTO cf_context_entries (session_id, label, entry_key, content) SELECT '', 'docs', 'k' || i, 'x' FROM n`
    );
    await expect(docs.set("one more", "x")).rejects.toThrow(expect.objectContaining({ code: "too-many-entries" }));
    await docs.set("first", "changed");
    expect(await docs.search("changed")).toContain("[first]");
  });

  test("need a label", async () => {
    await expect(new AgentSearchProvider(open().agent).get()).rejects.toThrow(
      expect.objectContaining({ code: "context-label-missing" })
    );
  });

  test.each<[string, (docs: AgentSearchProvider) => Promise<void>]>([
    ["a new entry", (docs) => docs.set("new", "fresh words")],
    ["a changed entry", (docs) => docs.set("key", "other words")],
    ["a removed entry", (docs) => docs.set("key", "")]
  ])("%s is all or nothing wherever the process dies", async (_name, write) => {
    const prepare = async () => {
      const agent = open();
      await provider(agent).set("key", "old words");
      return agent;
    };
    const picture = async (agent: AgentSession) => ({
      entries: agent.memory.all("SELECT entry_key, content FROM cf_context_entries ORDER BY entry_key"),
      found: await provider(agent).search("words")
    });
    const plain = await prepare();
    const before = await picture(plain);
    const first = plain.memory.writes;
    await write(provider(plain));
    const writes = plain.memory.writes - first;
    const after = await picture(plain);
    expect(writes).toBeGreaterThan(1);
    for (let at = 1; at <= writes; at += 1) {
      const killed = await prepare();
      killed.memory.crashAtWrite(at);
      await expect(write(provider(killed))).rejects.toThrow(Crash);
      const restarted = killed.restart();
      expect(await picture(restarted)).toEqual(before);
      await write(provider(restarted));
      expect(await picture(restarted)).toEqual(after);
    }
  });
});

function bucket(objects: Record<string, { text: string; description?: string; size?: number }>, pageSize = 2) {
  const calls: string[] = [];
  const puts: unknown[][] = [];
  const fake: SkillBucket = {
    async list({ prefix = "", cursor = "0" }) {
      calls.push(`list ${prefix} ${cursor}`);
      const keys = Object.keys(objects).filter((key) => key.startsWith(prefix));
      const from = Number(cursor);
      const page = keys.slice(from, from + pageSize).map((key) => {
        const description = objects[key]?.description;
        return { key, ...(description !== undefined && { customMetadata: { description } }) };
      });
      return from + pageSize < keys.length
        ? { objects: page, truncated: true, cursor: String(from + pageSize) }
        : { objects: page, truncated: false };
    },
    async get(key) {
      calls.push(`get ${key}`);
      const found = objects[key];
      return found === undefined ? null : { size: found.size ?? found.text.length, text: async () => found.text };
    },
    async put(...put) {
      puts.push(put);
    }
  };
  return { fake, calls, puts };
}

describe("documents in a bucket", () => {
  const objects = {
    "skills/": { text: "" },
    "skills/a": { text: "text of a", description: "About a" },
    "skills/b": { text: "text of b" },
    "skills/c": { text: "text of c" },
    "other/d": { text: "text of d" }
  };

  test("are listed over all pages, without their prefix", async () => {
    const { fake } = bucket(objects);
    expect(await new R2SkillProvider(fake, { prefix: "skills/" }).get()).toBe("- a: About a\n- b\n- c");
    expect(await new R2SkillProvider(fake).get()).toContain("- other/d");
    expect(await new R2SkillProvider(fake, { prefix: "nothing/" }).get()).toBeNull();
  });

  test("are loaded by their key", async () => {
    const { fake } = bucket({ ...objects, "skills/huge": { text: "", size: MAX_DOCUMENT_BYTES + 1 } });
    const skills = new R2SkillProvider(fake, { prefix: "skills/" });
    expect(await skills.load("a")).toBe("text of a");
    expect(await skills.load("nobody")).toBeNull();
    await expect(skills.load("huge")).rejects.toThrow(expect.objectContaining({ code: "block-too-large" }));
  });

  test("that are not allowed are neither listed nor fetched", async () => {
    const { fake, calls } = bucket(objects);
    const skills = new R2SkillProvider(fake, { prefix: "skills/", keys: ["b"] });
    expect(await skills.get()).toBe("- b");
    calls.length = 0;
    expect(await skills.load("a")).toBeNull();
    expect(calls).toEqual([]);
    expect(await new R2SkillProvider(fake, { prefix: "skills/", keys: [] }).load("a")).toBe("text of a");
  });

  test("are written under their prefix, with what they are about", async () => {
    const { fake, puts } = bucket({});
    const skills = new R2SkillProvider(fake, { prefix: "skills/" });
    await skills.set("a", "text", "About a");
    await skills.set("b", "text");
    expect(puts).toEqual([
      ["skills/a", "text", { customMetadata: { description: "About a" } }],
      ["skills/b", "text", {}]
    ]);
    await expect(skills.set("c", "x".repeat(MAX_DOCUMENT_BYTES + 1))).rejects.toThrow(
      expect.objectContaining({ code: "block-too-large" })
    );
  });

  test("too many to list are said to be more", async () => {
    const many = Object.fromEntries(Array.from({ length: MAX_LISTED + 9 }, (_, index) => [`k${index}`, { text: "" }]));
    const { fake, calls } = bucket(many, 1_000);
    const lines = (await new R2SkillProvider(fake).get())?.split("\n") ?? [];
    expect(lines).toHaveLength(MAX_LISTED + 1);
    expect(lines.at(-1)).toMatch(/more documents/);
    expect(calls).toHaveLength(MAX_LISTED / 1_000 + 1);
  });

  test("a bucket of the platform is one of these", () => {
    expectTypeOf<R2Bucket>().toExtend<SkillBucket>();
  });
});

describe("tables that another program left", () => {
  test("become ours: blocks of every session, entries with their words, and no frozen prompts", () => {
    const sql = new MemorySql(new DatabaseSync(":memory:"));
    for (const statement of CONVERSATION_TABLES.flatMap(({ create }) => create)) sql.run(statement);
    for (const id of ["", "chat"]) {
      sql.run("INSERT INTO cf_conversations VALUES (?, 0, NULL, 1, 0, 0, '[]', '[]', NULL, NULL, NULL, NULL)", id);
    }
    sql.run(
      "CREATE TABLE cf_agents_context_blocks (label TEXT PRIMARY KEY, content TEXT NOT NULL, updated_at INTEGER)"
    );
    sql.run(
      `INSERT INTO cf_agents_context_blocks VALUES ('memory', 'of all', 1), ('memory_chat', 'of chat', 2),
       ('_system_prompt', 'old', 3), ('_system_prompt_chat', 'old', 4), ('empty', '', 5), ('_chat', 'odd', 6)`
    );
    sql.run("CREATE TABLE cf_agents_search_entries (label TEXT, key TEXT, content TEXT, PRIMARY KEY (label, key))");
    sql.run("INSERT INTO cf_agents_search_entries VALUES ('docs', 'k', 'deploy on friday')");
    sql.run("CREATE VIRTUAL TABLE cf_agents_search_fts USING fts5(label UNINDEXED, key UNINDEXED, content)");
    createTables(sql);
    moveOriginalSession(sql);
    expect(sql.all("SELECT session_id, label, content FROM cf_context_blocks ORDER BY 1, 2")).toEqual([
      { session_id: "", label: "_chat", content: "odd" },
      { session_id: "", label: "memory", content: "of all" },
      { session_id: "", label: "memory_chat", content: "of chat" },
      { session_id: "chat", label: "memory", content: "of chat" }
    ]);
    expect(
      sql.all(
        "SELECT entry_key FROM cf_context_entries WHERE id IN (SELECT rowid FROM cf_context_entries_fts('deploying'))"
      )
    ).toEqual([{ entry_key: "k" }]);
    expect(sql.all("SELECT name FROM sqlite_master WHERE name LIKE 'cf_agents%'")).toEqual([]);
    expect(tablesOf(sql)).not.toContain("cf_context_prompts");
  });
});
