// What the tests of overflow, silence and passing failures share: a Think whose settings and hooks are written by each
// test, and the entries through which it is asked. Script and notes live outside the class, so they outlive the process.
import type { ModelMessage, ToolSet, UIMessage } from "ai";
import { vi } from "vitest";
import {
  Think,
  type ChatErrorContext,
  type ChatResponseResult,
  type Session,
  type StepConfig,
  type TurnConfig,
  type TurnContext
} from "../../src/index.ts";
import { unpairedCallIds } from "../../src/model/index.ts";
import type { AgentEvent } from "../../src/observe/index.ts";
import type { CompactFunction } from "../../src/session/index.ts";
import {
  createScript,
  createTestHost,
  type Script,
  type Steps,
  type TestHost,
  type TestSocket
} from "../../src/testing/index.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";
import type { ChatRecoveryConfig, ChatRecoveryContext } from "../../src/think/chat-recovery.ts";
import type { ContextOverflowOptions } from "../../src/feature/settings.ts";
import { thinkRuntimeOf } from "../../src/think/runtime.ts";
import { payloadsOf } from "../kit/events.ts";
import { message, storedMessages, textOf, user } from "../kit/messages.ts";

type Classifier = Think["classifyChatError"];
type MaybePromise<T> = T | Promise<T>;

export interface Settings {
  recovery?: boolean | ChatRecoveryConfig;
  overflow?: ContextOverflowOptions;
  stallMs?: number;
  stallIncludesTools?: boolean;
  maxTurnTokens?: number;
  tools?: (agent: Subject) => ToolSet;
  classify?: Classifier;
  compact?: CompactFunction;
  beforeTurn?: (context: TurnContext) => MaybePromise<TurnConfig | void>;
  beforeStep?: (context: { stepNumber: number; messages: ModelMessage[] }) => StepConfig | void;
}

export interface Failure extends Pick<ChatErrorContext, "stage" | "classification" | "messagesPersisted"> {
  readonly message: string;
}

/** What outlives the process. */
export interface Scene {
  script: Script;
  settings: Settings;
  events: AgentEvent[];
  failures: Failure[];
  responses: ChatResponseResult[];
  recoveries: ChatRecoveryContext[];
  /** The callbacks that a caller of `chat()` got, and side effects. */
  notified: string[];
  effects: string[];
}

function emptyScene(steps: Steps, settings: Settings): Scene {
  const script = createScript(steps);
  return { script, settings, events: [], failures: [], responses: [], recoveries: [], notified: [], effects: [] };
}

export const scene: Scene = emptyScene([], {});

/** The suite runs on both majors of the SDK; see vitest.config.ts. */

export class Subject extends Think {
  override chatRecovery = scene.settings.recovery ?? true;
  override contextOverflow = scene.settings.overflow;
  override chatStreamStallTimeoutMs = scene.settings.stallMs;
  override chatStreamStallIncludesTools = scene.settings.stallIncludesTools;
  override maxTurnTokens = scene.settings.maxTurnTokens ?? Infinity;
  override observability = { emit: (event: AgentEvent) => void scene.events.push(event) };

  override configureSession(session: Session) {
    const { compact } = scene.settings;
    return compact ? session.onCompaction(compact) : session;
  }
  override getModel() {
    const { clock } = thinkRuntimeOf(this).agent;
    return installedModel(scene.script, { clock });
  }
  override getTools(): ToolSet {
    return scene.settings.tools?.(this) ?? {};
  }
  override async beforeTurn(context: TurnContext) {
    return scene.settings.beforeTurn?.(context);
  }
  override beforeStep(context: { stepNumber: number; messages: ModelMessage[] }) {
    return scene.settings.beforeStep?.(context);
  }
  override onChatError(error: unknown, context: ChatErrorContext) {
    const { stage, classification, messagesPersisted } = context;
    const message = error instanceof Error ? error.message : String(error);
    scene.failures.push({
      stage,
      message,
      ...(classification && { classification }),
      ...(messagesPersisted !== undefined && { messagesPersisted })
    });
    return new Error("sorry");
  }
  override async onChatRecovery(context: ChatRecoveryContext) {
    scene.recoveries.push(context);
  }
  override async onChatResponse(result: ChatResponseResult) {
    scene.responses.push(result);
  }

  /** `isPatient`: the caller has no `onInterrupted`, and stays to the end. */
  async talk(input: string, isPatient = false) {
    await this.chat(input, {
      onStart: () => undefined,
      onEvent: () => undefined,
      onDone: () => void scene.notified.push("done"),
      onError: (text) => void scene.notified.push(`error: ${text}`),
      ...(!isPatient && { onInterrupted: () => void scene.notified.push("interrupted") })
    });
  }
  async save(input: string) {
    const { status, error } = await this.saveMessages([user(input)]);
    return error === undefined ? status : `${status}: ${error}`;
  }
  async goOn() {
    return (await this.continueLastTurn()).status;
  }
  async stopAll() {
    this.cancelAllChats();
  }
  /** Takes this long on the clock of the host. */
  async take(ms: number) {
    await thinkRuntimeOf(this).agent.clock.sleep(ms);
  }
}

/** With its own word on failures. */
export class Judge extends Subject {
  constructor(...init: ConstructorParameters<typeof Subject>) {
    super(...init);
    const { classify } = scene.settings;
    if (classify) this.classifyChatError = classify;
  }
}

/** The same as a method. */
export class MethodJudge extends Subject {
  override classifyChatError(...args: Parameters<Classifier>) {
    return scene.settings.classify?.(...args);
  }
}

/** A fresh server on which the model answers with these steps. */
export function open(steps: Steps, settings: Settings = {}) {
  Object.assign(scene, emptyScene(steps, settings));
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  return createTestHost({ agents: { Subject, Judge, MethodJudge } });
}

export type Server = ReturnType<typeof open>;
type AgentClass = typeof Subject;

export const warnings = (): string[] => vi.mocked(console.warn).mock.calls.map(([text]) => String(text));

const pathOf = (agent: AgentClass) => `/agents/${agent.name.replace(/(?<=.)[A-Z]/, "-$&").toLowerCase()}/a`;

export const connect = (host: TestHost<object>, agent: AgentClass = Judge): Promise<TestSocket> =>
  host.connect(pathOf(agent));

export const stored = (host: TestHost<object>, agent: AgentClass = Judge) => storedMessages(host, pathOf(agent));

/** What was said in turns, without the history a test began with. */
export const said = (messages: readonly UIMessage[]): string[] =>
  messages.filter(({ id }) => !/^(h\d|compaction)/.test(id)).map((message) => `${message.role}:${textOf(message)}`);

export const PADDING = "and so on ".repeat(40);

/** A history worth compacting. */
export async function fill(host: Server, agent: AgentClass = Judge, count = 6): Promise<void> {
  const messages = Array.from({ length: count }, (_, index): UIMessage => {
    const role = index % 2 === 0 ? "user" : "assistant";
    return message(role, `h${index}`, `OLD${index} ${PADDING}`);
  });
  await (await host.get(agent, "a")).addMessages(messages);
}

/** Everything but the newest two messages becomes a summary. */
export const summarize =
  (summary = "SUMMARY"): CompactFunction =>
  (messages) => {
    const [first, last] = [messages[0], messages.at(-3)];
    return first && last ? { fromMessageId: first.id, toMessageId: last.id, summary } : null;
  };

// ── What came of it ──

export const eventsOf = (type: AgentEvent["type"]) => payloadsOf(scene.events, type);

/** Calls without a result and results without a call, in each prompt. */
export const unpaired = (): string[] =>
  // The provider's prompt has the shape of the SDK's messages, as far as calls go.
  scene.script.calls.flatMap(({ prompt }) => unpairedCallIds(prompt as readonly object[] as ModelMessage[]));

/** How long the results of tools are in the prompt of a call. */
export const resultLengths = (index: number): number[] =>
  (scene.script.calls[index]?.prompt ?? []).flatMap(({ role, content }) =>
    role === "tool" && Array.isArray(content) ? content.map((part) => lengthOf(part)) : []
  );

function lengthOf(part: object): number {
  const { output } = part as { output?: { value?: unknown } };
  return typeof output?.value === "string" ? output.value.length : JSON.stringify(output?.value ?? null).length;
}
