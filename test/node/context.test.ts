// Context blocks of a class, through whole turns: what the model is shown, what its tools do, and what a crash leaves.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Think } from "../../src/index.ts";
import { AgentSearchProvider, type Session } from "../../src/session/index.ts";
import {
  createScript,
  createTestHost,
  everyCrash,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script,
  type Step,
  type TestHost
} from "../../src/testing/index.ts";
import { user } from "../kit/messages.ts";

let script: Script;
let configure: (session: Session, agent: Scholar) => Session;
let documents: Record<string, string> = {};

class Scholar extends Think {
  override workspaceTools = false;
  override getModel() {
    return scriptedModel(script);
  }
  override getSystemPrompt() {
    return "You are a scholar.";
  }
  override configureSession(session: Session) {
    return configure(session, this);
  }
  content(label: string) {
    return this.session.getContextBlock(label)?.content;
  }
  async addBlock(label: string) {
    await this.session.addContext(label);
    await this.session.refreshSystemPrompt();
  }
  count() {
    return this.messages.length;
  }
  async loaded() {
    return [...(await this.session.getLoadedSkillKeys())];
  }
}

const library = {
  get: async () => Object.keys(documents).join("\n"),
  load: async (key: string) => documents[key] ?? null
};

function open(steps: Step[], how: (session: Session, agent: Scholar) => Session): TestHost<unknown> {
  script = createScript(steps);
  configure = how;
  return createTestHost({ agents: { Scholar } });
}

const system = (call: number) => {
  const first = script.calls[call]?.prompt[0];
  return first?.role === "system" ? String(first.content) : "";
};
const toolNames = (call: number) => script.calls[call]?.tools?.map(({ name }) => name) ?? [];

beforeEach(() => {
  documents = {};
});
afterEach(() => void vi.restoreAllMocks());

test("the user's blocks take the place of the base prompt, and their tools are offered", async () => {
  const host = open([reply(text("hi"))], (session) => session.withContext("memory", { description: "Facts" }));
  await (await host.get(Scholar, "a")).saveMessages([user("u1")]);
  expect(system(0)).toContain("MEMORY (Facts) [writable]");
  expect(system(0)).not.toContain("You are a scholar.");
  expect(toolNames(0)).toEqual(["set_context"]);
});

test("a block that was added only adds to the base prompt", async () => {
  const host = open([reply(text("hi"))], (session) => session);
  const scholar = await host.get(Scholar, "a");
  await scholar.addBlock("extension_notes");
  await scholar.saveMessages([user("u1")]);
  expect(system(0)).toContain("You are a scholar.\n\n");
  expect(system(0)).toContain("EXTENSION_NOTES");
});

test("what the model writes is stored at once and shown after a restart, or never in a cached prompt", async () => {
  const steps = () => [
    reply(toolCall("set_context", { label: "memory", content: "likes tea" })),
    reply(text("noted")),
    reply(text("hi"))
  ];
  for (const isCached of [false, true]) {
    const host = open(steps(), (session) => {
      const declared = session.withContext("memory");
      return isCached ? declared.withCachedPrompt() : declared;
    });
    const scholar = await host.get(Scholar, "a");
    await scholar.saveMessages([user("u1")]);
    expect(await scholar.content("memory")).toBe("likes tea");
    expect(system(1)).toBe(system(0));
    await host.restart();
    await (await host.get(Scholar, "a")).saveMessages([user("u2")]);
    expect(system(2).includes("likes tea")).toBe(!isCached);
  }
});

test("a loaded document stays whole for the model, and an unloaded one leaves the stored messages", async () => {
  documents = { guide: "g".repeat(3_000) };
  const input = { label: "skills", key: "guide" };
  const chat = Array.from({ length: 14 }, (_, index) => reply(text(`answer ${index}`)));
  const host = open(
    [reply(toolCall("load_context", input)), ...chat, reply(toolCall("unload_context", input)), reply(text("bye"))],
    (session) => session.withContext("skills", { provider: library })
  );
  const scholar = await host.get(Scholar, "a");
  for (let turn = 0; turn < 14; turn += 1) await scholar.saveMessages([user(`u${turn}`)]);
  expect(JSON.stringify(script.calls[14]?.prompt)).toContain(documents["guide"]);
  expect(await scholar.loaded()).toEqual(["skills:guide"]);
  await scholar.saveMessages([user("last")]);
  expect(await scholar.loaded()).toEqual([]);
  const stored = JSON.stringify(await scholar.getMessages());
  expect(stored).toContain("[skill unloaded: guide]");
  expect(stored).not.toContain("ggg");
});

test("a document loaded and unloaded in one answer does not stay in it", async () => {
  documents = { guide: "g".repeat(3_000) };
  const input = { label: "skills", key: "guide" };
  const host = open(
    [reply(toolCall("load_context", input)), reply(toolCall("unload_context", input)), reply(text("bye"))],
    (session) => session.withContext("skills", { provider: library })
  );
  const scholar = await host.get(Scholar, "a");
  await scholar.saveMessages([user("u1")]);
  await host.idle();
  expect(JSON.stringify(await scholar.getMessages())).not.toContain("ggg");
  await host.restart();
  expect(await (await host.get(Scholar, "a")).loaded()).toEqual([]);
});

test("clearing the conversation keeps the blocks and renders the prompt anew", async () => {
  const steps = [
    reply(toolCall("set_context", { label: "memory", content: "likes tea" })),
    reply(text("noted")),
    reply(text("hi"))
  ];
  const host = open(steps, (session) => session.withContext("memory").withCachedPrompt());
  const scholar = await host.get(Scholar, "a");
  await scholar.saveMessages([user("u1")]);
  await scholar.clearMessages();
  await host.restart();
  await (await host.get(Scholar, "a")).saveMessages([user("u2")]);
  expect(system(2)).toContain("likes tea");
});

test("an agent without blocks writes and reads nothing for them", async () => {
  const host = open([reply(text("hi"))], (session) => session);
  await (await host.get(Scholar, "a")).saveMessages([user("u1")]);
  expect(toolNames(0)).toEqual([]);
  for (const table of ["cf_context_blocks", "cf_context_prompts", "cf_context_entries"]) {
    expect(host.sql(Scholar, "a", `SELECT * FROM ${table}`)).toEqual([]);
  }
});

test("a crash at any point leaves every block written once or not at all, and a prompt of the declared blocks", async () => {
  // What the killed processes had to say.
  for (const level of ["error", "warn"] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
  const write = toolCall("set_context", { label: "memory", content: "likes tea" }, { id: "c1" });
  const index = { label: "docs", content: "We deploy on Friday.", metadata: { title: "deploy" } };
  const { points } = await everyCrash({
    create: () => {
      const host = open([], (session, agent) =>
        session
          .withContext("memory")
          .withContext("docs", { provider: new AgentSearchProvider(agent) })
          .withCachedPrompt()
      );
      script = createScript([reply(write, toolCall("set_context", index, { id: "c2" })), reply(text("noted"))], {
        advance: "at-end",
        onExhausted: "repeat-last"
      });
      return host;
    },
    script: async (host) => (await host.get(Scholar, "a")).saveMessages([user("u1")]),
    finish: async (host) => {
      await host.advance(120_000);
      const scholar = await host.get(Scholar, "a");
      if ((await scholar.count()) === 0) await scholar.saveMessages([user("u1")]);
    },
    inspect: (host) => {
      const [memory] = host.sql(Scholar, "a", "SELECT content FROM cf_context_blocks WHERE label = 'memory'");
      const entries = host.sql(Scholar, "a", "SELECT entry_key, content FROM cf_context_entries");
      const found = host.sql(
        Scholar,
        "a",
        "SELECT rowid FROM cf_context_entries_fts WHERE cf_context_entries_fts MATCH 'friday'"
      );
      const [prompt] = host.sql(Scholar, "a", "SELECT sections FROM cf_context_prompts");
      const isWhole = memory === undefined || memory["content"] === "likes tea";
      return {
        isWhole,
        isIndexed: entries.length === found.length,
        sections: String(prompt?.["sections"]).length > 100
      };
    },
    points: "both"
  });
  expect(points).toBeGreaterThan(10);
});
