// Skills as a class has them: the catalogue in the prompt, the tools in every turn, and what stays active over compaction,
// restarts and crashes.
import type { UIMessage } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi, type MockInstance } from "vitest";
import { skills, Think, type Session, type SkillSource } from "../../src/index.ts";
import { createCompactFunction } from "../../src/session/index.ts";
import {
  createScript,
  createTestHost,
  everyCrash,
  planModel,
  reply,
  text,
  toolCall,
  type Script,
  type Step
} from "../../src/testing/index.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";
import { manifestOf, MemoryBucket, skillFile } from "../../src/features/skills/skills.test-support.ts";
import { user } from "../kit/messages.ts";

// The crash run starts an agent per point.
vi.setConfig({ testTimeout: 60_000 });

const BODY = `Greet like this. ${"A long rule. ".repeat(300)}END OF RULES`;

let script: Script;
let sources: () => readonly SkillSource[] | Promise<readonly SkillSource[]>;
let warn: MockInstance;

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  sources = () => [source()];
});
afterEach(() => void vi.restoreAllMocks());

const source = (changes: object = {}) => {
  const manifest = manifestOf({ "references/guide.md": "The guide." });
  return skills.fromManifest({ ...manifest, skills: [{ ...manifest.skills[0]!, body: BODY, ...changes }] });
};

const manyOf = (names: readonly string[], body: (name: string) => string) =>
  skills.fromManifest({
    id: "many",
    fingerprint: "1",
    skills: names.map((name) => ({ name, description: `What ${name} is for.`, body: body(name) }))
  });

class Plain extends Think {
  override getModel() {
    return installedModel(script);
  }

  override getSystemPrompt() {
    return "You are the base.";
  }

  async ask(words: string) {
    const { status } = await this.saveMessages([said(words)]);
    return status;
  }

  async rows() {
    return this.ctx.storage.sql
      .exec("SELECT name FROM sqlite_master WHERE name = 'cf_active_skills'")
      .toArray()
      .map(() => [...this.ctx.storage.sql.exec("SELECT name FROM cf_active_skills ORDER BY id")])[0];
  }
}

class Skilled extends Plain {
  override getSkills() {
    return sources();
  }

  override configureSession(session: Session) {
    return session.onCompaction(
      createCompactFunction({ summarize: async () => "SUMMARY", protectHead: 1, tailTokenBudget: 0 })
    );
  }

  async fill(count: number) {
    await this.addMessages(Array.from({ length: count }, (_, index) => said(`m${index} ${"words ".repeat(30)}`)));
  }

  /** A message beside the first answer: what follows it is another branch. */
  async branch(words: string) {
    await this.session.appendMessage(said(words), this.messages[0]?.id ?? null);
  }

  async compact() {
    return (await this.session.compact()) !== null;
  }

  async write(path: string, content: string) {
    await this.workspace.writeFile(path, content);
  }
}

let count = 0;
const said = (words: string): UIMessage => user(`u${(count += 1)}`, words);

async function open(steps: readonly Step[]) {
  script = createScript([...steps]);
  const host = createTestHost({ agents: { Plain, Skilled } });
  return { host, agent: await host.get(Skilled, "a") };
}

const activate = () => reply(toolCall("activate_skill", { name: "greet" }));
const answer = () => reply(text("answer"));
const prompts = () => script.calls.map(({ prompt }) => systemOf(prompt));
const systemOf = (prompt: readonly { role: string; content: unknown }[]) =>
  prompt.flatMap(({ role, content }) => (role === "system" ? [String(content)] : [])).join("\n");
/** What the model was shown besides the system prompt. */
const spoken = (at: number) => JSON.stringify(script.calls[at]?.prompt.filter(({ role }) => role !== "system"));
const toolsOf = (at: number) => (script.calls[at]?.tools ?? []).map(({ name }) => name);

describe("in a turn", () => {
  test("the prompt has the class's own text and the catalogue behind it; no body is in it", async () => {
    const { agent } = await open([answer()]);
    await agent.ask("hello");
    const [prompt = ""] = prompts();
    expect(prompt.indexOf("You are the base.")).toBeLessThan(prompt.indexOf("- greet: What greet is for."));
    expect(prompt).not.toContain("END OF RULES");
    expect(toolsOf(0)).toEqual(expect.arrayContaining(["activate_skill", "read_skill_resource"]));
    expect(toolsOf(0)).not.toContain("run_skill_script");
  });

  test("a class without skills, and one whose list is empty, have no text, no tool and no row of it", async () => {
    sources = () => [];
    const { host, agent } = await open([answer(), answer()]);
    await agent.ask("hello");
    const plain = await host.get(Plain, "p");
    await plain.ask("hello");
    for (const at of [0, 1]) {
      expect(prompts()[at]).not.toContain("activate_skill");
      expect(toolsOf(at).filter((name) => name.includes("skill"))).toEqual([]);
    }
    expect(await agent.rows()).toBeUndefined();
  });

  test("an activated skill is given to the model in full, also many messages later", async () => {
    const { agent } = await open([activate(), answer(), answer()]);
    await agent.ask("greet them");
    expect(spoken(1)).toContain("END OF RULES");
    await agent.fill(14);
    await agent.ask("and now?");
    expect(spoken(2)).toContain("END OF RULES");
    expect(prompts()[2]).not.toContain("END OF RULES");
  });

  test("getSkills that throws leaves a working agent, and is logged once", async () => {
    sources = () => Promise.reject(new Error("no skills today"));
    const { agent } = await open([answer(), answer(), answer()]);
    expect([await agent.ask("a"), await agent.ask("b")]).toEqual(["completed", "completed"]);
    expect(warn.mock.calls.flat().filter((line) => String(line).includes("no skills today"))).toHaveLength(1);
    sources = () => [source()];
    await agent.ask("c");
    expect(prompts()[2]).toContain("- greet:");
  });

  test("a source that listed once and then fails keeps its skills in prompt and tools", async () => {
    const bucket = new MemoryBucket().put("greet/SKILL.md", skillFile("greet"));
    sources = () => [skills.r2(bucket, { refreshIntervalMs: 0 })];
    const { agent } = await open([answer(), answer()]);
    expect(bucket.lists).toBe(0);
    await agent.ask("a");
    bucket.failure = new Error("R2 is down");
    expect(await agent.ask("b")).toBe("completed");
    expect(prompts()[1]).toBe(prompts()[0]);
    expect(toolsOf(1)).toContain("activate_skill");
    expect(String(warn.mock.calls.flat())).toContain("R2 is down");
  });

  test("a broken skill is named in the log with file and line, once, and the others are there", async () => {
    const bucket = new MemoryBucket()
      .put("bad/SKILL.md", "---\nname: bad\ndescription: [\n---\n")
      .put("greet/SKILL.md", skillFile("greet"));
    sources = () => [skills.r2(bucket)];
    const { agent } = await open([answer(), answer()]);
    await agent.ask("a");
    await agent.ask("b");
    expect(prompts()[0]).toContain("- greet:");
    const lines = warn.mock.calls.flat().filter((line) => String(line).includes("bad/SKILL.md:"));
    expect(lines).toHaveLength(1);
  });

  test("a skill that the agent wrote into its workspace is in the prompt of the next turn", async () => {
    script = createScript([answer(), answer()]);
    class Learner extends Skilled {
      override getSkills() {
        return [skills.workspace(this.workspace, "/skills")];
      }
    }
    const host = createTestHost({ agents: { Learner } });
    const agent = await host.get(Learner, "a");
    await agent.ask("a");
    expect(prompts()[0]).not.toContain("activate_skill");
    await agent.write("/skills/learned/SKILL.md", skillFile("learned"));
    await agent.ask("b");
    expect(prompts()[1]).toContain("- learned: What learned is for.");
  });
});

describe("over restarts and changes", () => {
  test("an unchanged source gives a prompt that is the same to the byte after a restart; a changed one is seen", async () => {
    const { host, agent } = await open([answer(), answer(), answer(), answer()]);
    await agent.ask("a");
    await host.restart();
    await (await host.get(Skilled, "a")).ask("b");
    expect(prompts()[1]).toBe(prompts()[0]);
    sources = () => [source({ description: "New words." })];
    await host.restart();
    await (await host.get(Skilled, "a")).ask("c");
    expect(prompts()[2]).toContain("- greet: New words.");
    sources = () => [];
    await host.restart();
    await (await host.get(Skilled, "a")).ask("d");
    expect(prompts()[3]).not.toContain("greet");
  });

  test("a skill stays active when a compaction takes the call away, also after a restart", async () => {
    const { host, agent } = await open([activate(), answer(), answer(), answer(), answer()]);
    await agent.ask("first");
    await agent.fill(12);
    expect(await agent.compact()).toBe(true);
    await agent.ask("go on");
    expect(spoken(2)).toContain("SUMMARY");
    expect(prompts()[2]).toContain("END OF RULES");
    expect(prompts()[2]!.match(/END OF RULES/g)).toHaveLength(1);
    await host.restart();
    await (await host.get(Skilled, "a")).ask("still?");
    expect(prompts()[3]).toBe(prompts()[2]);
    // The version of now: what is shown is not the transcript's.
    sources = () => [source({ body: "Other rules." })];
    await host.restart();
    await (await host.get(Skilled, "a")).ask("and now?");
    expect(prompts()[4]).toContain("Other rules.");
  });

  test("what is put back is bounded: 20,000 characters of a skill, 60,000 of all, the newest first", async () => {
    const names = ["s0", "s1", "s2", "s3", "s4"];
    sources = () => [manyOf(names, (name) => `BEGIN ${name} ${"x".repeat(30_000)} END ${name}`)];
    const steps = names.map((name) => reply(toolCall("activate_skill", { name })));
    const { agent } = await open([...steps, answer(), answer()]);
    await agent.ask("all of them");
    await agent.fill(12);
    await agent.compact();
    await agent.ask("go on");
    const prompt = prompts().at(-1) ?? "";
    expect(names.filter((name) => prompt.includes(`BEGIN ${name}`))).toEqual(["s3", "s4"]);
    expect(prompt).not.toContain("END s");
    expect(prompt.length).toBeLessThan(62_000);
  });

  test("32 skills stay active; the one that was activated longest ago gives way", async () => {
    const names = Array.from({ length: 34 }, (_, at) => `s${at}`);
    sources = () => [manyOf(names, (name) => `Do ${name}.`)];
    const { agent } = await open([reply(...names.map((name) => toolCall("activate_skill", { name }))), answer()]);
    await agent.ask("all of them");
    expect(await agent.rows()).toHaveLength(32);
  });

  test("a skill that was activated on another branch is not active on this one", async () => {
    const { agent } = await open([activate(), answer(), answer()]);
    await agent.ask("first");
    await agent.branch("another question");
    await agent.ask("go on");
    expect(`${prompts()[2]} ${spoken(2)}`).not.toContain("END OF RULES");
    expect(spoken(2)).toContain("another question");
    expect(await agent.rows()).toHaveLength(1);
  });

  test("a cleared conversation has no active skills", async () => {
    const { agent } = await open([activate(), answer(), answer()]);
    await agent.ask("first");
    expect(await agent.rows()).toHaveLength(1);
    await agent.clearMessages();
    expect(await agent.rows()).toEqual([]);
    await agent.ask("again");
    expect(prompts()[2]).not.toContain("END OF RULES");
  });

  test("after a crash at any write, what the transcript shows as activated stays active over a compaction", async () => {
    let seen = "";
    const model = planModel({
      first: [{ calls: [{ tool: "activate_skill", input: { name: "greet" } }] }, { text: "answer" }],
      second: (prompt) => {
        seen = systemOf(prompt);
        return [{ text: "done" }];
      }
    });
    class Planned extends Skilled {
      override getModel() {
        return model;
      }

      async shown(): Promise<string> {
        return JSON.stringify(this.messages);
      }

      async once(words: string) {
        await this.saveMessages([said(words)], { idempotencyKey: words });
      }
    }
    const result = await everyCrash({
      create: () => {
        count = 0;
        seen = "";
        return createTestHost({ agents: { Planned } });
      },
      script: async (host) => (await host.get(Planned, "a")).once("first"),
      finish: async (host) => {
        await (await host.get(Planned, "a")).once("first");
        await host.advance(120_000);
      },
      inspect: async (host) => {
        const agent = await host.get(Planned, "a");
        const shown = await agent.shown();
        const isActive = shown.includes("END OF RULES");
        const isAnswered = shown.includes('"answer"');
        await agent.fill(12);
        await agent.compact();
        await agent.once("second");
        return { isAnswered, isKept: !isActive || seen.split("END OF RULES").length === 2 };
      },
      points: "writes"
    });
    expect(result.points).toBeGreaterThan(8);
  });
});
