// An agent with something of everything an inspector can see: a tool, an action that waits for a person, a child, memory,
// files, settings with a secret.
import { tool, type LanguageModel, type UIMessage } from "ai";
import { z } from "zod";
import { action, agentTool, Think, type ActionSet, type Session } from "../../src/index.ts";
import { createCompactFunction } from "../../src/session/index.ts";
import {
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  type Script,
  type Step,
  type TestHost
} from "../../src/testing/index.ts";
import { message } from "../kit/messages.ts";

export const KEY = "a-key-of-the-operator-0123";

export const scene: {
  script: Script;
  child: Script;
  effects: string[];
  models: Script | undefined;
  acts: Think["inspectionActs"];
  discovery: Think["toolDiscovery"];
} = {
  script: createScript([]),
  child: createScript([]),
  effects: [],
  models: undefined,
  acts: "development",
  discovery: false
};

export class Subject extends Think<{ EVERTHINK_INSPECTION_KEY?: string }> {
  override inspectionActs = scene.acts;
  override toolDiscovery = scene.discovery;
  override getModel() {
    return scriptedModel(scene.script);
  }
  override inspectionModels(): Record<string, LanguageModel> {
    return scene.models ? { other: scriptedModel(scene.models) } : {};
  }
  override getSystemPrompt() {
    return "Be brief.";
  }
  override getTools() {
    return {
      look: tool({
        description: "Looks at a place.",
        inputSchema: z.object({ at: z.string() }),
        execute: async ({ at }) => {
          scene.effects.push(`look ${at}`);
          return `seen ${at}`;
        }
      }),
      research: agentTool(Reader, { description: "Asks a reader.", inputSchema: z.object({ input: z.string() }) })
    };
  }
  override getActions(): ActionSet {
    return {
      pay: action({
        description: "Pays somebody.",
        inputSchema: z.object({ euros: z.number() }),
        approval: true,
        kind: "durable-pause",
        approvalSummary: "Pay this sum?",
        execute: async ({ euros }: { euros: number }) => {
          scene.effects.push(`pay ${euros}`);
          return { paid: euros };
        }
      }),
      ship: action({
        description: "Ships a parcel.",
        inputSchema: z.object({ to: z.string() }),
        approval: true,
        approvalSummary: "Ship it?",
        approvalRisk: "high",
        execute: async ({ to }: { to: string }) => {
          scene.effects.push(`ship ${to}`);
          return "shipped";
        }
      })
    };
  }
  override configureSession(session: Session) {
    return session
      .withContext("memory", { description: "What the user likes.", maxTokens: 200 })
      .withCachedPrompt()
      .onCompaction(createCompactFunction({ summarize: async () => "SUMMARY", protectHead: 1, tailTokenBudget: 0 }));
  }
  async compact() {
    return (await this.session.compact())?.fromMessageId ?? null;
  }
  async fill(count: number) {
    const messages = Array.from({ length: count }, (_, index): UIMessage =>
      said(`m${index}`, `words of ${index} `.repeat(20))
    );
    await this.addMessages(messages);
  }
  async shownRoles() {
    return this.messages.map(({ role, parts }) => `${role}: ${parts.some(({ type }) => type === "text")}`);
  }
  async prepare() {
    this.configure({ region: "eu", apiKey: "very-secret-value" });
    await this.workspace.writeFile("/notes.md", "first");
    await this.workspace.writeFile("/notes.md", "second");
    await this.schedule(3600, "wake", {});
  }
  wake() {}
}

export class Reader extends Think {
  override getModel() {
    return scriptedModel(scene.child);
  }
}

export type Host = TestHost<{ Subject: DurableObjectNamespace<Subject> }>;

export function open(
  steps: readonly Step[],
  { key = KEY, child = [] as readonly Step[], env: variables = {} } = {}
): Host {
  Object.assign(scene, {
    script: createScript([...steps]),
    child: createScript([...child]),
    effects: [],
    models: undefined,
    acts: "development",
    discovery: false
  });
  const env = { ...variables, ...(key !== "" && { EVERTHINK_INSPECTION_KEY: key }) };
  return createTestHost({ agents: { Subject }, exports: [Reader], env }) as Host;
}

export function said(id: string, words: string, role: "user" | "assistant" = "user"): UIMessage {
  return message(role, id, words);
}

/** A view as its JSON; `token` null: without one. */
export async function look<View>(host: Host, view: string, token: string | null = KEY): Promise<View> {
  const response = await request(host, view, token);
  if (response.status !== 200) throw new Error(`${view}: ${response.status} ${await response.text()}`);
  return (await response.json()) as View;
}

export function request(host: Host, view: string, token: string | null = KEY, body?: unknown): Promise<Response> {
  const headers = {
    ...(token !== null && { Authorization: `Bearer ${token}` }),
    ...(body !== undefined && { "Content-Type": "application/json" })
  };
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  return host.fetch(`/agents/subject/a/inspect/v1/${view}`, { headers, ...init });
}

export async function ask(host: Host, words: string): Promise<void> {
  const agent = await host.get(Subject, "a");
  await agent.saveMessages([said(`u-${words}`, words)]);
  await host.idle();
}

export const echo: Step = reply(text("done"));
