// Skills, executed code and extensions in the shapes in which documentation and users' code have them: they compile as they
// stand, and do what they say.
import { tool, type ToolSet } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { createExecuteTool } from "../../src/features/execute/index.ts";
import { ExtensionManager } from "../../src/features/extensions/index.ts";
import { createExtensionTools } from "../../src/features/extensions/tools/index.ts";
import { skills, Think, type ExtensionConfig, type SkillRunContext, type SkillSource } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  createTestLoader,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script
} from "../../src/testing/index.ts";
import { user } from "../kit/messages.ts";

interface Env {
  LOADER: WorkerLoader;
  SKILLS_BUCKET: R2Bucket;
}

let script: Script;

class Scripted extends Think<Env> {
  override getModel() {
    return scriptedModel(script);
  }
  async ask(id: string) {
    await this.saveMessages([user(id)]);
  }
  async outputOf(toolCallId: string): Promise<string> {
    const parts = this.messages.flatMap((message) => message.parts as object[]);
    const found = parts.find((part) => Reflect.get(part, "toolCallId") === toolCallId);
    return JSON.stringify(Reflect.get(found ?? {}, "output")) ?? "";
  }
  async file(path: string) {
    return this.workspace.readFile(path);
  }
}

const bundled: SkillSource = skills.fromManifest({ id: "bundle", fingerprint: "1", skills: [] });

class Skilled extends Scripted {
  override getSkills() {
    return [bundled, skills.r2(this.env.SKILLS_BUCKET, { prefix: "skills/" })];
  }
  override getSkillScriptRunner() {
    return skills.runner({ loader: this.env.LOADER, workspaceInstance: this.workspace });
  }
}

/** A script of a skill: what a tool returns can be written without a cast. */
async function run(input: unknown, ctx: SkillRunContext) {
  const guide = ctx.files["references/style-guide.md"];
  const summary = await ctx.tools.call("summarize", { input, guide });
  await ctx.output.writeFile("notes.md", summary);
  return { ok: true };
}

const add = tool({ inputSchema: z.object({ a: z.number() }), execute: ({ a }) => a + 1 });
const ownTools: ToolSet = { add };

class Coding extends Scripted {
  override getTools() {
    return { execute: createExecuteTool({ tools: ownTools, loader: this.env.LOADER }) };
  }
}

class Extending extends Scripted {
  readonly extensions = new ExtensionManager({ loader: this.env.LOADER });

  override getTools() {
    return { ...createExtensionTools({ manager: this.extensions }), ...this.extensions.getTools() };
  }
}

const LOGGER = `({
  tools: {},
  hooks: {
    beforeToolCall: async (snapshot, host) => {},
    afterToolCall: async (snapshot, host) => {
      await host?.writeFile(\`logs/\${snapshot.toolName}.json\`, JSON.stringify(snapshot));
    },
    onStepFinish: async (snapshot, host) => {}
  }
})`;

class Logging extends Scripted {
  override extensionLoader = this.env.LOADER;

  override getExtensions(): ExtensionConfig[] {
    const hooks = ["afterToolCall", "onStepFinish"] as const;
    const permissions = { workspace: "read-write", network: false } as const;
    return [{ manifest: { name: "logger", version: "1.0.0", permissions, hooks }, source: LOGGER }];
  }
  override getTools() {
    return ownTools;
  }
}

const open = () =>
  createTestHost({
    agents: { Skilled, Coding, Extending, Logging },
    env: { LOADER: createTestLoader(), SKILLS_BUCKET: { list: async () => ({ objects: [], truncated: false }) } }
  });

test("a class whose sources have no skill just now answers", async () => {
  script = createScript([reply(text("Hello."))]);
  const agent = await open().get(Skilled, "a");
  await agent.ask("hello");
  expect(script.calls[0]?.tools.map(({ name }) => name)).not.toContain("run_skill_script");
  const written: string[] = [];
  const output = { writeFile: async (_name: string, content: string) => void written.push(content) };
  const tools = { call: async (name: string) => `${name} of it` };
  await run({}, { files: {}, tools, output } as never);
  expect(written).toEqual(["summarize of it"]);
});

test("code is executed with tools and a loader, without naming the agent", async () => {
  script = createScript([
    reply(toolCall("execute", { code: "await tools.add({ a: 1 })" }, { id: "c" })),
    reply(text("2"))
  ]);
  const agent = await open().get(Coding, "a");
  await agent.ask("add");
  expect(JSON.parse(await agent.outputOf("c"))).toMatchObject({ status: "completed", result: 2 });
});

test("a manager of one's own loads what the model wrote, and the next turn can use it", async () => {
  const source = `({ tools: { shout: { parameters: { words: { type: "string" } }, execute: ({ words }) => words.toUpperCase() } } })`;
  script = createScript([
    reply(toolCall("load_extension", { name: "voice", version: "1.0.0", source }, { id: "l" })),
    reply(text("Loaded.")),
    reply(toolCall("voice_shout", { words: "hello" }, { id: "s" })),
    reply(text("Done."))
  ]);
  const agent = await open().get(Extending, "a");
  await agent.ask("write");
  await agent.ask("use");
  expect([JSON.parse(await agent.outputOf("l")), await agent.outputOf("s")]).toMatchObject([
    { loaded: true },
    '"HELLO"'
  ]);
});

test("hooks of an extension write what they saw into the agent's files", async () => {
  script = createScript([reply(toolCall("add", { a: 1 }, { id: "c" })), reply(text("2"))]);
  const agent = await open().get(Logging, "a");
  await agent.ask("add");
  expect(JSON.parse((await agent.file("/logs/add.json")) ?? "{}")).toMatchObject({ toolName: "add", output: 2 });
});
