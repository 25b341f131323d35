// What the tests of actions share: a Think whose actions and overrides are written by each test, a count of real side
// effects that outlives the process, and the entries through which people decide.
import type { AgentEvent } from "../../src/observe/index.ts";
import { Think, type ActionSet, type ChatResponseResult, type PendingApproval } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  scriptedModel,
  type Script,
  type Step,
  type TestHost,
  type TestSocket
} from "../../src/testing/index.ts";
import { payloadsOf } from "../kit/events.ts";
import { framesOf } from "../kit/frames.ts";
import { type StoredToolPart, storedMessages, toolParts, user } from "../kit/messages.ts";
import { promptOf } from "../kit/prompts.ts";

/** Methods and settings that a test gives the class. */
export type Overrides = Partial<
  Pick<
    Think,
    | "authorizeTurn"
    | "authorizeAction"
    | "authorizeApproval"
    | "renderAttachment"
    | "beforeToolCall"
    | "afterToolCall"
    | "actionLedgerPendingRetryLeaseMs"
    | "actionLedgerRetention"
    | "actionPendingApprovalTtlMs"
    | "chatRecovery"
    | "maxSteps"
  >
>;

export interface Behaviour {
  actions: (agent: Clerk) => ActionSet;
  overrides?: Overrides;
}

/** What outlives the process. */
export interface Scene {
  script: Script;
  behaviour: Behaviour;
  /** Side effects, in the order in which they happened. */
  effects: string[];
  responses: ChatResponseResult[];
  events: AgentEvent[];
}

export const scene: Scene = emptyScene([], { actions: () => ({}) });

function emptyScene(steps: Step[], behaviour: Behaviour): Scene {
  return { script: createScript(steps), behaviour, effects: [], responses: [], events: [] };
}

export class Clerk extends Think {
  override observability = { emit: (event: AgentEvent) => void scene.events.push(event) };

  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env);
    Object.assign(this, scene.behaviour.overrides);
  }
  override getModel() {
    return scriptedModel(scene.script);
  }
  override getActions(): ActionSet {
    return scene.behaviour.actions(this);
  }
  override onChatResponse(result: ChatResponseResult) {
    scene.responses.push(result);
  }
  async shorten(fromMessageId: string, toMessageId: string) {
    await this.session.addCompaction("what was said", fromMessageId, toMessageId);
  }
}

/** A fresh server on which the model answers with these steps. */
export function open(steps: Step[], actions: Behaviour["actions"] | ActionSet, overrides?: Overrides) {
  const listed = typeof actions === "function" ? actions : () => actions;
  Object.assign(scene, emptyScene(steps, { actions: listed, ...(overrides && { overrides }) }));
  return createTestHost({ agents: { Clerk } });
}

export type Host = ReturnType<typeof open>;

/** Between the last answer of a client and the continuation. */
export const soon = (host: TestHost<object>) => host.advance(1_000);

/** A side effect that is counted outside the process. */
export const effect = (what: string): void => void scene.effects.push(what);

// ── The people ──

export const connect = (host: TestHost<object>): Promise<TestSocket> => host.connect("/agents/clerk/a");

export const agentOf = (host: Host) => host.get(Clerk, "a");

/** One programmatic turn. */
export async function say(host: Host, id: string, body?: Record<string, unknown>) {
  return (await agentOf(host)).saveMessages([user(id)], body && { body });
}

export async function waiting(host: Host, executionId?: string): Promise<PendingApproval[]> {
  return (await agentOf(host)).pendingApprovals(executionId);
}

export async function firstWaiting(host: Host): Promise<PendingApproval> {
  const [first] = await waiting(host);
  if (!first) throw new Error("Nothing waits for a human.");
  return first;
}

/** How a person decides. */
export interface Entry {
  approve(host: Host, executionId: string): Promise<unknown>;
  reject(host: Host, executionId: string, reason?: string): Promise<unknown>;
}

export const stubEntry: Entry = {
  approve: async (host, executionId) => (await agentOf(host)).approveExecution(executionId),
  reject: async (host, executionId, reason) => (await agentOf(host)).rejectExecution(executionId, reason)
};

export const clientEntry: Entry = {
  approve: (host, executionId) => callFromClient(host, "approveExecution", executionId),
  reject: (host, executionId, reason) => callFromClient(host, "rejectExecution", executionId, reason)
};

export const httpEntry: Entry = {
  approve: async (host, executionId) => outputOf(await post(host, executionId, { decision: "approve" })),
  reject: async (host, executionId, reason) =>
    outputOf(await post(host, executionId, { decision: "reject", ...(reason !== undefined && { reason }) }))
};

export async function callFromClient(host: Host, method: string, ...args: unknown[]): Promise<unknown> {
  const socket = await connect(host);
  socket.send({ type: "rpc", id: "call", method, args });
  const answer = await socket.next<{ success: boolean; result?: unknown; error?: string }>("rpc");
  if (!answer.success) throw new Error(answer.error);
  return answer.result;
}

export function post(host: Host, executionId: string, body: unknown): Promise<Response> {
  return host.fetch(`/agents/clerk/a/approvals/${executionId}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body)
  });
}

async function outputOf(response: Response): Promise<unknown> {
  return ((await response.json()) as { output: unknown }).output;
}

// ── What an outsider sees ──

export interface Chunk {
  readonly type: string;
  readonly toolCallId?: string;
  readonly approvalDescriptor?: unknown;
  readonly [key: string]: unknown;
}

/** What was streamed to a client. */
export const chunksOf = (socket: TestSocket): Chunk[] =>
  framesOf(socket).flatMap(({ type, body }) =>
    type === "cf_agent_use_chat_response" && body ? [JSON.parse(body) as Chunk] : []
  );

export const stored = (host: TestHost<object>) => storedMessages(host, "/agents/clerk/a");

export async function storedPart(host: TestHost<object>, toolCallId = "c1"): Promise<StoredToolPart> {
  const part = toolParts(await stored(host)).find((one) => one.toolCallId === toolCallId);
  if (!part) throw new Error(`No stored part of the call "${toolCallId}".`);
  return part;
}

export const outputAt = async (host: TestHost<object>, toolCallId = "c1") =>
  (await storedPart(host, toolCallId)).output;

export const promptAt = (index: number): string => promptOf(scene.script.calls[index]);

export const eventsOf = (type: AgentEvent["type"]) => payloadsOf(scene.events, type);

interface LedgerRow {
  readonly key: string;
  readonly status: string;
}

export const ledger = (host: Host): LedgerRow[] =>
  host.sql<LedgerRow>(Clerk, "a", "SELECT key, status FROM cf_action_ledger ORDER BY id");
