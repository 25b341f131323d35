// What the recovery tests share: a Think whose hooks are written by each test, and the ways its process dies. The script
// of the model and what the hooks saw live outside the class, so they outlive the process.
import type { ToolSet } from "ai";
import type { AgentEvent } from "../../src/observe/index.ts";
import { Think, type ChatResponseResult, type TurnConfig, type TurnContext } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  type RecordedCall,
  type Script,
  type Step,
  type TestHost,
  type TestSocket
} from "../../src/testing/index.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";
import type {
  ChatRecoveryConfig,
  ChatRecoveryContext,
  ChatRecoveryExhaustedContext,
  ChatRecoveryOptions
} from "../../src/think/chat-recovery.ts";
import type { ChannelPolicy, FeatureFactory } from "../../src/feature/feature.ts";
import { payloadsOf } from "../kit/events.ts";
import { type Frame, framesOf } from "../kit/frames.ts";
import { storedMessages, user } from "../kit/messages.ts";

type MaybePromise<T> = T | Promise<T>;

export interface Behaviour {
  recovery?: boolean | ChatRecoveryConfig;
  tools?: (agent: Patient) => ToolSet;
  beforeTurn?: (context: TurnContext, agent: Patient) => MaybePromise<TurnConfig | void>;
  recover?: (context: ChatRecoveryContext) => MaybePromise<ChatRecoveryOptions | void>;
  respond?: (result: ChatResponseResult) => MaybePromise<void>;
  /** What a channel changes about a turn, until the class has a name for it. */
  channelPolicy?: (channel: string) => ChannelPolicy;
}

/** What outlives the process. */
export interface Scene {
  script: Script;
  behaviour: Behaviour;
  /** What `onChatRecovery` was called with. */
  recoveries: ChatRecoveryContext[];
  /** What `onExhausted` was called with. */
  exhausted: ChatRecoveryExhaustedContext[];
  /** What `onChatResponse` was called with. */
  responses: ChatResponseResult[];
  events: AgentEvent[];
  /** Side effects, and whatever else a test wants to count. */
  effects: string[];
}

export const scene: Scene = emptyScene([], {});

function emptyScene(steps: Step[], behaviour: Behaviour): Scene {
  const script = createScript(steps);
  return { script, behaviour, recoveries: [], exhausted: [], responses: [], events: [], effects: [] };
}

export class Patient extends Think {
  override workspaceTools = false;

  override chatRecovery = recoverySetting();
  override observability = { emit: (event: AgentEvent) => void scene.events.push(event) };

  override getFeatures(): FeatureFactory[] {
    const { channelPolicy } = scene.behaviour;
    return channelPolicy ? [() => ({ name: "test-channels", roles: { channelPolicy } })] : [];
  }
  override getModel() {
    // The suite runs on both majors of the SDK; see vitest.config.ts.
    return installedModel(scene.script);
  }
  override getTools(): ToolSet {
    return scene.behaviour.tools?.(this) ?? {};
  }
  override async beforeTurn(context: TurnContext) {
    return scene.behaviour.beforeTurn?.(context, this);
  }
  override async onChatRecovery(context: ChatRecoveryContext) {
    scene.recoveries.push(context);
    return scene.behaviour.recover?.(context);
  }
  override async onChatResponse(result: ChatResponseResult) {
    scene.responses.push(result);
    await scene.behaviour.respond?.(result);
  }
  async talk(input: string) {
    await this.chat(input, { onStart: noop, onEvent: noop, onDone: noop, onError: noop });
  }
  /** The texts of the answers below a message, on all branches. */
  async answersTo(messageId: string): Promise<string[]> {
    const branches = await this.session.getBranches(messageId);
    return branches.map(({ parts }) => parts.map(({ type, text }) => (type === "text" ? String(text) : "")).join(""));
  }
  async shorten(fromMessageId: string, toMessageId: string) {
    await this.session.addCompaction("what was said", fromMessageId, toMessageId);
  }
  async remindIn(seconds: number) {
    await this.schedule(seconds, "note", "reminded");
  }
  async askIn(seconds: number) {
    await this.schedule(seconds, "askItself");
  }
  async askItself() {
    await this.saveMessages([user("scheduled")]);
  }
  note(what: string) {
    scene.effects.push(what);
  }
}

function recoverySetting(): boolean | ChatRecoveryConfig {
  const setting = scene.behaviour.recovery ?? true;
  if (typeof setting === "boolean") return setting;
  return { ...setting, onExhausted: (context) => void scene.exhausted.push(context) };
}

const noop = () => undefined;

/** A fresh server on which the model answers with these steps. */
export function open(steps: Step[], behaviour: Behaviour = {}) {
  Object.assign(scene, emptyScene(steps, behaviour));
  return createTestHost({ agents: { Patient } });
}

// ── Time and death ──

/** A process that died is noticed after at most this. */
export const HEARTBEAT_MS = 30_000;

/** SIGKILL, once what people have seen for a moment is stored, and a new process without a client. */
export async function die(host: TestHost<object>): Promise<void> {
  await host.advance(2_000);
  await host.restart();
}

/** Only the alarm wakes it. */
export const wake = (host: TestHost<object>) => host.advance(HEARTBEAT_MS);

/** Long enough for every pause between quick deaths. */
export const settleDown = (host: TestHost<object>) => host.advance(120_000);

// ── Clients ──

export const connect = (host: TestHost<object>) => host.connect("/agents/patient/a");

/** Connects, asks what there is to resume, and accepts what it is offered, now or later. */
export async function rejoin(host: TestHost<object>): Promise<TestSocket> {
  const socket = await connect(host);
  socket.send({ type: "cf_agent_stream_resume_request" });
  await host.idle();
  const accept = ({ type, id }: Frame) => {
    if (type === "cf_agent_stream_resuming") socket.send({ type: "cf_agent_stream_resume_ack", id });
  };
  // The same stream is offered on connecting and again when asked for.
  const known = socket.frames.length;
  const offer = framesOf(socket).findLast(({ type }) => type === "cf_agent_stream_resuming");
  if (offer) accept(offer);
  let receivedCount = 0;
  socket.listen((frame) => {
    receivedCount += 1;
    if (receivedCount > known) accept(frame as Frame);
  });
  await host.idle();
  return socket;
}

export const isTerminal =
  (id: string) =>
  ({ type, id: of, done }: Frame): boolean =>
    type === "cf_agent_use_chat_response" && of === id && done === true;

/** How a client was notified that a request ended. A client that has not yet accepted an offer is notified twice. */
export const endsOf = (socket: TestSocket, id: string): string[] => [
  ...new Set(
    framesOf(socket)
      .filter(isTerminal(id))
      .map(({ outcome, error, body }) => (error ? `error: ${body}` : String(outcome)))
  )
];

/** Each time clients were notified that an answer is being recovered, or no longer is. */
export const recoveringFrames = (socket: TestSocket): (boolean | undefined)[] =>
  framesOf(socket)
    .filter(({ type }) => type === "cf_agent_chat_recovering")
    .map(({ recovering }) => recovering);

// ── What is left ──

export const stored = (host: TestHost<object>) => storedMessages(host, "/agents/patient/a");

export const rolesOf = (call: RecordedCall | undefined): string[] => call?.prompt.map(({ role }) => role) ?? [];

export const eventsOf = (type: AgentEvent["type"]) => payloadsOf(scene.events, type);
