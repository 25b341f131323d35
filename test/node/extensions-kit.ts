// What the tests of extensions on a class share: a Think whose extensions are written by each test.
import type { ToolSet } from "ai";
import { Think, type Session, type ToolCallContext, type ToolCallDecision, type TurnConfig } from "../../src/index.ts";
import type { ExtensionConfig, ExtensionManifest } from "../../src/features/extensions/index.ts";
import {
  createScript,
  createTestHost,
  createTestLoader,
  scriptedModel,
  type Script,
  type Step
} from "../../src/testing/index.ts";
import { storedMessages, user } from "../kit/messages.ts";

interface Scene {
  script: Script;
  extensions: ExtensionConfig[];
  tools: (agent: Extended) => ToolSet;
  session: (session: Session) => Session;
  beforeTurn: () => TurnConfig | void;
  beforeToolCall: (call: ToolCallContext) => ToolCallDecision | void;
  hookTimeout: number;
}

export const scene: Scene = {
  script: createScript([]),
  extensions: [],
  tools: () => ({}),
  session: (session) => session,
  beforeTurn: () => undefined,
  beforeToolCall: () => undefined,
  hookTimeout: 5_000
};

export class Extended extends Think<{ LOADER: ReturnType<typeof createTestLoader> }> {
  override extensionLoader = this.env.LOADER;
  override hookTimeout = scene.hookTimeout;
  override workspaceBash = false;
  override getModel() {
    return scriptedModel(scene.script);
  }
  override getExtensions() {
    return scene.extensions;
  }
  override getSystemPrompt() {
    return "the prompt of the class";
  }
  override getTools(): ToolSet {
    return scene.tools(this);
  }
  override configureSession(session: Session) {
    return scene.session(session);
  }
  override beforeTurn() {
    return scene.beforeTurn();
  }
  override beforeToolCall(call: ToolCallContext) {
    return scene.beforeToolCall(call);
  }
  async load(manifest: ExtensionManifest, source: string) {
    return this.extensionManager?.load(manifest, source);
  }
  async replace(manifest: ExtensionManifest, source: string) {
    return this.extensionManager?.replace(manifest, source);
  }
  async unload(name: string) {
    return this.extensionManager?.unload(name);
  }
  async extensions() {
    return this.extensionManager?.list().map(({ name, version, status }) => `${name} ${version} ${status}`) ?? null;
  }
  async putStored(key: string, value: object) {
    await this.ctx.storage.put(key, value);
  }
  async storedKeys() {
    return [...(await this.ctx.storage.list({ prefix: "ext:" })).keys()];
  }
  async file(path: string) {
    return this.workspace.readFile(path);
  }
  async workspaceWrite(path: string, content: string) {
    await this.workspace.writeFile(path, content);
  }
  async workspaceDelete(path: string) {
    await this.workspace.rm(path);
  }
  /** Runs a tool of an extension as a turn would. */
  async run(name: string, input: object = {}): Promise<string> {
    const options = { toolCallId: "c", messages: [], context: {} } as never;
    try {
      const value: unknown = await this.extensionManager?.getTools()[name]?.execute?.(input as never, options);
      return JSON.stringify(value) ?? "undefined";
    } catch (error) {
      return String(error);
    }
  }
  async prompt() {
    return (await this.explainPrompt()).sections.map(({ text }) => text).join("\n");
  }
  async refreshed() {
    return this.session.refreshSystemPrompt();
  }
  async contextTools() {
    return JSON.stringify(await this.session.tools());
  }
  async inChild(name: string): Promise<string> {
    return (await this.subAgent(Child, "c")).run(name);
  }
}

/** The same as a sub-agent. */
export class Child extends Extended {}

export type Host = ReturnType<typeof open>;

export function open(steps: Step[] = [], changes: Partial<Scene> = {}) {
  Object.assign(scene, {
    script: createScript(steps),
    extensions: [],
    tools: () => ({}),
    session: (session: Session) => session,
    beforeTurn: () => undefined,
    beforeToolCall: () => undefined,
    hookTimeout: 5_000,
    ...changes
  });
  return createTestHost({ agents: { Extended }, exports: [Child], env: { LOADER: createTestLoader() } });
}

export const agentOf = (host: Host) => host.get(Extended, "a");

export const say = async (host: Host, text: string) => (await agentOf(host)).saveMessages([user(text)]);

export const messages = (host: Host) => storedMessages(host, "/agents/extended/a");

export const extension = (name: string, source: string, changes: Partial<ExtensionManifest> = {}): ExtensionConfig => ({
  manifest: { name, version: "1.0.0", ...changes },
  source
});
