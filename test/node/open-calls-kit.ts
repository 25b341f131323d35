// What the tests of open calls share: a Think with every kind of call that can wait, and the people who ask, answer and
// decide. Effects and the model's script live outside the class, so they outlive the process.
import { tool, type ToolSet, type UIMessage } from "ai";
import { z } from "zod";
import { action, Think, type ActionSet } from "../../src/index.ts";
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
import { framesOf } from "../kit/frames.ts";
import { storedMessages, type StoredToolPart, textOf, toolParts, user } from "../kit/messages.ts";

type MessagePart = UIMessage["parts"][number];

export interface Scene {
  script: Script;
  /** Side effects, in the order in which they happened. */
  effects: string[];
  /** Awaited in the middle of each effect. */
  pause: () => Promise<void>;
  /** Undefined: as the class has it. */
  allowClientToolOverrides?: boolean | undefined;
  /** Whether turns fail before they reach the model. */
  failsTurns?: boolean;
  /** Awaited before that. */
  beforeTurn?: () => Promise<void>;
  failsTools?: boolean;
  /** As `chatRecovery`. */
  recovers?: boolean;
  repair?: (part: MessagePart) => MessagePart | undefined;
}

export const scene: Scene = { script: createScript([]), effects: [], pause: async () => {} };

async function effect(what: string): Promise<void> {
  scene.effects.push(what);
  await scene.pause();
}

export class Teller extends Think {
  override chatRecovery = scene.recovers ?? true;

  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env);
    if (scene.allowClientToolOverrides !== undefined) this.allowClientToolOverrides = scene.allowClientToolOverrides;
  }

  override getModel() {
    // The suite runs on both majors of the SDK; see vitest.config.ts.
    return installedModel(scene.script);
  }

  override async beforeTurn() {
    await scene.beforeTurn?.();
    if (scene.failsTurns) throw new Error("No turn today.");
  }

  override getTools(): ToolSet {
    if (scene.failsTools) throw new Error("No tools today.");
    const amount = z.object({ amount: z.number() });
    return {
      look: tool({
        inputSchema: z.object({}),
        execute: async () => {
          await effect("look");
          return "seen";
        }
      }),
      pay: tool({
        inputSchema: amount,
        needsApproval: true,
        execute: async ({ amount: paid }) => {
          await effect(`pay ${paid}`);
          return { paid };
        }
      }),
      // Without `execute`: a client answers.
      ask_user: tool({ inputSchema: z.object({ prompt: z.string() }) }),
      sign: tool({ inputSchema: z.object({}), needsApproval: true })
    };
  }

  override getActions(): ActionSet {
    return {
      remove: action({
        description: "Delete an account.",
        inputSchema: z.object({ who: z.string() }),
        approval: true,
        execute: async ({ who }) => {
          await effect(`remove ${who}`);
          return { removed: who };
        }
      }),
      wire: action({
        description: "Wire money.",
        inputSchema: z.object({ to: z.string() }),
        kind: "durable-pause",
        execute: async ({ to }) => {
          await effect(`wire ${to}`);
          return { wired: to };
        }
      }),
      note: action({
        description: "Write it down.",
        inputSchema: z.object({}),
        execute: async () => {
          await effect("note");
          return "noted";
        }
      })
    };
  }

  override repairInterruptedToolPart(part: MessagePart): MessagePart {
    return scene.repair?.(part) ?? super.repairInterruptedToolPart(part);
  }

  async askIn(seconds: number) {
    await this.schedule(seconds, "askItself");
  }
  async askItself() {
    await this.saveMessages([user("u-scheduled")]);
  }
  /** A summary in place of these messages. */
  async shorten(fromMessageId: string, toMessageId: string) {
    await this.session.addCompaction("what was said", fromMessageId, toMessageId);
  }
  giveUpTurns() {
    this.resetTurnState();
  }
  async goOn() {
    return this.continueLastTurn();
  }
  isWaiting(): boolean {
    return this.hasPendingInteraction();
  }
}

/** A fresh server on which the model answers with these steps. */
export function open(steps: Step[], settings: Partial<Scene> = {}): Host {
  const defaults = {
    effects: [],
    pause: async () => {},
    allowClientToolOverrides: undefined,
    failsTurns: false,
    beforeTurn: undefined,
    failsTools: false,
    recovers: true,
    repair: () => undefined
  };
  Object.assign(scene, defaults, settings, { script: createScript(steps) });
  return createTestHost({ agents: { Teller } });
}

/** An effect that stays in its middle until it is let go. */
export function held(): { pause: () => Promise<void>; reached: Promise<void>; letGo: () => void } {
  const [reached, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const pause = () => {
    reached.resolve();
    return opened.promise;
  };
  return { pause, reached: reached.promise, letGo: opened.resolve };
}

export type Host = TestHost<{ Teller: DurableObjectNamespace<Teller> }>;

/** Between the last answer of a client and the continuation. */
export const soon = (host: Host) => host.advance(1_000);

export const agentOf = (host: Host) => host.get(Teller, "a");

// ── The people ──

export const connect = (host: Host): Promise<TestSocket> => host.connect("/agents/teller/a");

export const approve = (socket: TestSocket, toolCallId: string, approved = true) =>
  socket.send({ type: "cf_agent_tool_approval", toolCallId, approved, autoContinue: true });

export const answer = (socket: TestSocket, toolCallId: string, output: unknown, more: object = {}) =>
  socket.send({ type: "cf_agent_tool_result", toolCallId, toolName: "", output, autoContinue: true, ...more });

// ── What an outsider sees ──

/** The codes of what this client was refused. */
export const refusalsOf = (socket: TestSocket): string[] =>
  framesOf(socket).flatMap(({ type, code }) => (type === "cf_agent_session_error" && code ? [code] : []));

export const stored = (host: Host) => storedMessages(host, "/agents/teller/a");

export const words = async (host: Host): Promise<string[]> =>
  (await stored(host)).map((message) => `${message.role}:${textOf(message)}`);

export async function partOf(host: Host, toolCallId = "c1"): Promise<StoredToolPart> {
  const parts = toolParts(await stored(host)).filter((one) => one.toolCallId === toolCallId);
  if (parts.length !== 1) throw new Error(`${parts.length} stored parts of the call "${toolCallId}".`);
  return parts[0]!;
}

/** What the model read. */
export interface PromptCall {
  readonly id: string;
  /** As JSON; undefined while it is not known. */
  readonly result: string | undefined;
}

/** The calls of a prompt and their results. Throws where a provider would refuse: unpaired or repeated calls. */
export function promptCalls(call: RecordedCall | undefined): PromptCall[] {
  const results = new Map<string, string>();
  const ids: string[] = [];
  for (const { role, content } of call?.prompt ?? []) {
    if (role === "system" || typeof content === "string") continue;
    for (const part of content) {
      if (part.type === "tool-call") ids.push(part.toolCallId);
      if (part.type === "tool-result") results.set(part.toolCallId, JSON.stringify(part.output));
    }
  }
  if (new Set(ids).size !== ids.length) throw new Error(`A call stands twice in the prompt: ${ids.join(", ")}`);
  const unpaired = ids.filter((id) => !results.has(id)).concat([...results.keys()].filter((id) => !ids.includes(id)));
  if (unpaired.length > 0) throw new Error(`Unpaired calls in the prompt: ${unpaired.join(", ")}`);
  return ids.map((id) => ({ id, result: results.get(id) }));
}

export const lastCall = (): RecordedCall | undefined => scene.script.calls.at(-1);
