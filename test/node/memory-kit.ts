// What the tests of memory share: the companion of the memory page with a scripted model, whose blocks and limits each
// test deploys as it likes. The script, the summaries and the deployed class's settings outlive the process.
import type { ToolSet, UIMessage } from "ai";
import { Think } from "../../src/index.ts";
import { AgentSearchProvider, createCompactFunction, type Session } from "../../src/session/index.ts";
import {
  createScript,
  createTestHost,
  scriptedModel,
  type RecordedCall,
  type Script,
  type ScriptOptions,
  type Steps,
  type TestHost,
  type TestSocket
} from "../../src/testing/index.ts";
import { storedMessages, user } from "../kit/messages.ts";
import { sendChat } from "../kit/frames.ts";

export interface Deployment {
  /** `compactAfter`, in tokens. */
  threshold: number;
  tailTokens: number;
  blocks: (session: Session, agent: Companion) => Session;
  tools: ToolSet;
}

interface Scene extends Deployment {
  script: Script;
  /** What the summarizing model was asked. */
  summarized: string[];
}

export const withUsualBlocks: Deployment["blocks"] = (session, agent) =>
  session
    .withContext("persona", { provider: { get: async () => "You are a patient companion." } })
    .withContext("memory", { description: "What you learned about the user", maxTokens: 2000 })
    .withContext("library", { description: "Things to look up", provider: new AgentSearchProvider(agent) })
    .withCachedPrompt();

const USUAL: Deployment = { threshold: 100_000, tailTokens: 0, blocks: withUsualBlocks, tools: {} };

export const scene: Scene = { ...USUAL, script: createScript([]), summarized: [] };

/** Another version of the class; the next start runs it. */
export const deploy = (changes: Partial<Deployment>): void => void Object.assign(scene, changes);

export class Companion extends Think {
  /** Without files, what is evicted stays with its message. */
  override workspaceTools = false;

  override getModel() {
    return scriptedModel(scene.script);
  }

  override getTools() {
    return scene.tools;
  }

  override configureSession(session: Session) {
    return scene
      .blocks(session, this)
      .onCompaction(
        createCompactFunction({
          summarize: async (prompt) => {
            scene.summarized.push(prompt);
            return `SUMMARY ${scene.summarized.length}`;
          },
          protectHead: 1,
          tailTokenBudget: scene.tailTokens
        })
      )
      .compactAfter(scene.threshold);
  }

  async say(words: string) {
    const { status, error } = await this.saveMessages([user(words)]);
    return error === undefined ? status : `${status}: ${error}`;
  }

  async write(label: string, content: string) {
    await this.session.replaceContextBlock(label, content);
  }

  async refresh() {
    await this.session.refreshSystemPrompt();
  }

  async find(words: string) {
    return (await this.session.search(words)).map(({ id }) => id);
  }

  content(label: string) {
    return this.session.getContextBlock(label)?.content ?? null;
  }

  /** Texts of what a message says, also where a summary stands for it. */
  async textOf(messageId: string) {
    const message = await this.session.getMessage(messageId);
    return message === null ? null : message.parts.map(({ text }) => (typeof text === "string" ? text : "")).join("");
  }

  async cover(fromMessageId: string, toMessageId: string) {
    await this.session.addCompaction("SUMMARY 0", fromMessageId, toMessageId);
  }

  async versionsBelow(messageId: string) {
    return (await this.session.getBranches(messageId)).length;
  }

  async answersTo(messageId: string) {
    const branches = await this.session.getBranches(messageId);
    return Promise.all(branches.map(({ id }) => this.textOf(id)));
  }

  async pathLength() {
    return this.session.getPathLength();
  }

  async fill(from: number, count: number) {
    await this.addMessages(Array.from({ length: count }, (_, index) => user(`m${from + index}`)));
  }

  async append(from: number, count: number) {
    for (let index = from; index < from + count; index += 1) await this.session.appendMessage(user(`s${index}`));
  }

  async count() {
    return this.messages.length;
  }
}

/** A fresh server on which the model answers with these steps. */
export function open(steps: Steps, changes: Partial<Deployment> = {}, options: ScriptOptions = {}) {
  Object.assign(scene, USUAL, { script: createScript(steps, options), summarized: [] }, changes);
  return createTestHost({ agents: { Companion } });
}

export type Server = ReturnType<typeof open>;

export const companion = (host: TestHost<object>) => host.get(Companion, "a");

export const say = async (host: TestHost<object>, words: string): Promise<string> => (await companion(host)).say(words);

// ── Clients ──

export const connect = (host: TestHost<object>): Promise<TestSocket> => host.connect("/agents/companion/a");

export function post(socket: TestSocket, id: string, messages: readonly UIMessage[], extra: object = {}): void {
  sendChat(socket, id, messages, extra);
}

export const shown = (host: TestHost<object>) => storedMessages(host, "/agents/companion/a");

// ── What the model saw ──

export const lastCall = (): RecordedCall | undefined => scene.script.calls.at(-1);

/** What was said, without the system prompt and without calls. */
export const promptTexts = (call: RecordedCall | undefined): string[] =>
  (call?.prompt ?? []).flatMap(({ role, content }) =>
    role === "system" || typeof content === "string"
      ? []
      : content.flatMap((part) => (part.type === "text" ? [part.text] : []))
  );
