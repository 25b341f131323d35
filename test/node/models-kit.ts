// What the tests of several models share: a Think whose models are scripts of their own, each under a provider of its own.
// Scripts and notes live outside the class, so they outlive the process.
import type { LanguageModel, ToolSet } from "ai";
import {
  Think,
  type ModelFailureContext,
  type ModelFailureDecision,
  type ModelFallbackOptions,
  type TurnConfig,
  type TurnContext
} from "../../src/index.ts";
import { chatServicesOf } from "../../src/feature/services.ts";
import type { JournalRecord, ReadableRecord } from "../../src/journal/records.ts";
import type { AgentEvent } from "../../src/observe/index.ts";
import { createScript, createTestHost, type Script, type Step, type TestHost } from "../../src/testing/index.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";
import type { ChatRecoveryConfig } from "../../src/think/chat-recovery.ts";
import { thinkRuntimeOf } from "../../src/think/runtime.ts";
import { payloadsOf } from "../kit/events.ts";
import { storedMessages } from "../kit/messages.ts";
import { parseJson } from "../../src/util/json.ts";

type MaybePromise<T> = T | Promise<T>;

export interface Settings {
  fallback?: ModelFallbackOptions;
  tools?: () => ToolSet;
  recovery?: boolean | ChatRecoveryConfig;
  stallMs?: number;
  onFailure?: (context: ModelFailureContext) => MaybePromise<ModelFailureDecision | void>;
  beforeTurn?: (context: TurnContext) => MaybePromise<TurnConfig | void>;
  /** Which of the scripts are listed, and in which order. Default: all. */
  order?: readonly string[];
}

/** What outlives the process. */
export interface Scene {
  scripts: Readonly<Record<string, Script>>;
  settings: Settings;
  events: AgentEvent[];
  failures: ModelFailureContext[];
  /** The models that were asked, in order. */
  asked: string[];
  /** And the signals that they were given. */
  signals: AbortSignal[];
  /** Side effects. */
  effects: string[];
}

export const scene: Scene = {
  scripts: {},
  settings: {},
  events: [],
  failures: [],
  asked: [],
  signals: [],
  effects: []
};

/** The model of a script: `a` is `a.chat/large`, of the provider `a`. */
export function modelOf(name: string, agent: object): LanguageModel {
  const { clock } = thinkRuntimeOf(agent as Think).agent;
  const script = scene.scripts[name];
  if (!script) throw new Error(`There is no script "${name}".`);
  const model = installedModel(script, { clock, provider: `${name}.chat`, modelId: "large" });
  const doStream = model.doStream.bind(model) as (options: object) => ReturnType<typeof model.doStream>;
  return Object.assign(model, {
    doStream: (options: { readonly abortSignal?: AbortSignal }) => {
      scene.asked.push(name);
      if (options.abortSignal) scene.signals.push(options.abortSignal);
      return doStream(options);
    }
  });
}

export class Fallback extends Think {
  override workspaceTools = false;
  override modelFallback = scene.settings.fallback ?? {};
  override chatRecovery = scene.settings.recovery ?? true;
  override chatStreamStallTimeoutMs = scene.settings.stallMs;
  override observability = { emit: (event: AgentEvent) => void scene.events.push(event) };

  override getModel(): LanguageModel {
    const [first] = this.getModels();
    if (first === undefined) throw new Error("There is no script.");
    return first;
  }
  override getModels(): LanguageModel[] {
    const { order = Object.keys(scene.scripts) } = scene.settings;
    return order.map((name) => modelOf(name, this));
  }
  override getTools(): ToolSet {
    return scene.settings.tools?.() ?? {};
  }
  override async beforeTurn(context: TurnContext) {
    return scene.settings.beforeTurn?.(context);
  }
  override async onModelFailure(context: ModelFailureContext) {
    scene.failures.push(context);
    return scene.settings.onFailure?.(context);
  }
  /** As text: the types of RPC cannot follow those of records. */
  async readRecords(): Promise<string> {
    const pages = [...chatServicesOf(this).journal.reader.pages()];
    return JSON.stringify(pages.flatMap(({ entries }) => entries.map(({ record }) => record)));
  }
  async ask(text: string) {
    const { status, error } = await this.saveMessages([{ id: text, role: "user", parts: [{ type: "text", text }] }]);
    return error === undefined ? status : `${status}: ${error}`;
  }
}

export function openScene(scripts: Readonly<Record<string, readonly Step[]>>, settings: Settings = {}) {
  const made = Object.entries(scripts).map(([name, steps]) => [name, createScript(steps)] as const);
  const fresh: Scene = {
    scripts: Object.fromEntries(made),
    settings,
    events: [],
    failures: [],
    asked: [],
    signals: [],
    effects: []
  };
  Object.assign(scene, fresh);
  return createTestHost({ agents: { Fallback } });
}

export const stored = (host: TestHost<object>) => storedMessages(host, "/agents/fallback/a");
export const agentOf = (host: ReturnType<typeof openScene>) => host.get(Fallback, "a");
export const eventsOf = (type: AgentEvent["type"]) => payloadsOf(scene.events, type);

/** The journal's records of one type. */
export async function recordsOf<Type extends JournalRecord["type"]>(host: ReturnType<typeof openScene>, type: Type) {
  const records = JSON.parse(await (await agentOf(host)).readRecords()) as ReadableRecord[];
  return records.filter((record): record is Extract<JournalRecord, { type: Type }> => record.type === type);
}

/** What is remembered of providers, from the table. */
export function memoryOf(host: ReturnType<typeof openScene>) {
  const tables = host.sql(Fallback, "a", "SELECT name FROM sqlite_master WHERE name = 'cf_failing_providers'");
  if (tables.length === 0) return [];
  return host.sql(Fallback, "a", "SELECT * FROM cf_failing_providers ORDER BY provider").map((row) => {
    const models = parseJson(String(row["models"]));
    return { ...row, models: models.ok ? models.value : undefined };
  });
}
