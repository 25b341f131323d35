// What happens to one call of an action, in this order: the approved input is the input; the permissions are there; a
// durable pause parks; the effect runs under the ledger. Whatever goes wrong on the way is an output the model reads:
// an action never fails the turn.
import type { ModelMessage, Tool, ToolSet } from "ai";
import { grantOf } from "../../feature/approval-contract.ts";
import type { ActionApprovalDescriptor, ActionGrant } from "../../feature/approval-contract.ts";
import { withHidden } from "../../util/hidden-fields.ts";
import type { ActionContext, AnyAction } from "./descriptor.ts";
import type { Effects } from "./effect.ts";
import { errorEnvelope, isRefusal, actionErrors } from "./errors.ts";
import { hashedInput } from "./json-copy.ts";
import type { Parked } from "./parked.ts";
import { readEscalationTime } from "../approvals/escalation.ts";
import { ledgerKey, needsHuman, requiredPermissions, type AskedCall } from "./policies.ts";
import type { ActionMembers } from "./capability.ts";
import type { ActionsHost, ActionTurn } from "./runtime.ts";

export interface RunPorts {
  readonly host: Pick<ActionsHost, "agent" | "env" | "actionFailed" | "features">;
  readonly effects: Effects;
  readonly parked: Parked;
}

/** One call, as the SDK makes it. */
interface IncomingCall {
  readonly name: string;
  readonly action: AnyAction;
  readonly input: unknown;
  readonly toolCallId: string;
  readonly messages: ReadonlyArray<ModelMessage>;
  readonly signal: AbortSignal | undefined;
  readonly turn: ActionTurn;
  /** Called with the descriptor when the call parks. */
  readonly onParked: (descriptor: ActionApprovalDescriptor) => void;
}

/** The model's answer to the call. Never throws. */
async function runAction(ports: RunPorts, call: IncomingCall): Promise<unknown> {
  try {
    return await attempt(ports, call);
  } catch (error) {
    // A call that was stopped, and one that was refused, have not failed.
    if (!call.signal?.aborted && !isRefusal(error))
      ports.host.actionFailed(error, { action: call.name, requestId: call.turn.requestId });
    return errorEnvelope(error);
  }
}

/** Whether the SDK must ask a human before the call runs, and what the human is asked. */
async function approvalFor(
  ports: RunPorts,
  call: IncomingCall
): Promise<{ needed: false } | { needed: true; descriptor: ActionApprovalDescriptor | undefined }> {
  try {
    // The SDK asks again when an answered call is resumed; one major denies the call if the answer has changed.
    if (approvalIn(call)) return { needed: true, descriptor: undefined };
    const asked = askedCall(ports, call);
    const permissions = await requiredPermissions(asked);
    await authorize(ports, call, permissions);
    if (!(await needsHuman(asked))) return { needed: false };
    return { needed: true, descriptor: describeApproval(call, permissions) };
  } catch {
    // No human is asked about a call that will not run: the same failure ends it in `runAction`.
    return { needed: false };
  }
}

async function attempt(ports: RunPorts, call: IncomingCall): Promise<unknown> {
  const { name, action, input, turn, toolCallId } = call;
  const approval = approvalIn(call);
  const { hash } = hashedInput(name, input);
  if (approval && hashedInput(name, approval.input).hash !== hash) throw actionErrors.ActionApprovalInputError(name);
  call.signal?.throwIfAborted();
  const asked = askedCall(ports, call);
  const permissions = await requiredPermissions(asked);
  const grant = await authorize(ports, call, permissions);
  if (action.kind !== "server" && approval?.approved !== true && (await needsHuman(asked))) {
    if (action.kind === "approval-gated") throw actionErrors.ActionNotApprovedError(name);
    const descriptor = describeApproval(call, permissions);
    const escalateAfterMs = readEscalationTime(action.config.approvals?.escalate?.after);
    const paused = ports.parked.park({ turn, descriptor, grant, escalateAfterMs });
    call.onParked(descriptor);
    return paused;
  }
  const key = await ledgerKey(asked);
  const { output } = await ports.effects.run({
    ...asked,
    record: key && {
      key: key.key,
      keyIsExplicit: key.isExplicit,
      action: name,
      inputHash: hash,
      requestId: turn.requestId,
      toolCallId,
      // The SDK does not say who answered.
      approver: null
    },
    attachTo: turn,
    turnSignal: call.signal
  });
  return output;
}

/** Throws ActionAuthorizationError; otherwise the turn's grant, to be kept with what outlives the turn. */
async function authorize(ports: RunPorts, call: IncomingCall, required: readonly string[]): Promise<ActionGrant> {
  const { agent, env } = ports.host;
  const { name, action, input, turn, toolCallId, messages } = call;
  const grant = grantOf(await turn.grant());
  const context = {
    requestId: turn.requestId,
    toolCallId,
    action: name,
    kind: action.kind,
    input,
    requiredPermissions: required,
    grantedPermissions: grant.grantedPermissions,
    grant,
    messages
  };
  // The agent and its environment cannot be copied; the rest of the context can.
  const asked = withHidden(context, { agent, env });
  const { allowed, reason } = grantOf(await (agent as ActionMembers).authorizeAction(asked));
  if (!allowed) throw actionErrors.ActionAuthorizationError(name, required, reason);
  return grant;
}

function askedCall(ports: RunPorts, call: IncomingCall): AskedCall {
  const { name, action, input, toolCallId, messages, turn } = call;
  const signal = call.signal ?? turn.signal;
  return {
    name,
    action,
    input,
    ctx: contextOf(ports.host, { requestId: turn.requestId, toolCallId, messages, signal })
  };
}

/** The context of every callback; the execution gives it a way to attach. */
export function contextOf(
  host: Pick<ActionsHost, "agent" | "env" | "features">,
  call: Pick<ActionContext, "requestId" | "toolCallId" | "messages" | "signal">
): ActionContext {
  return {
    // Only a Think has actions, with itself and its own environment.
    agent: host.agent as ActionContext["agent"],
    env: host.env as ActionContext["env"],
    ...call,
    attachReply: () => undefined,
    spend: async (amount, id = "") => {
      const { requestId, toolCallId } = call;
      await host.features.role("budgets")?.spend(amount, { id: `${requestId}:${toolCallId}:${id}`, name: "action" });
    }
  };
}

function describeApproval(call: IncomingCall, permissions: readonly string[]): ActionApprovalDescriptor {
  const { approvalSummary, approvalRisk, description } = call.action.config;
  return {
    requestId: call.turn.requestId,
    toolCallId: call.toolCallId,
    action: call.name,
    summary: approvalSummary ?? description,
    // The input of a tool is an object: providers know nothing else.
    input: call.input as object,
    permissions: [...permissions],
    risk: approvalRisk,
    kind: call.action.kind
  };
}

interface CallApproval {
  readonly approved: boolean;
  /** What the human was shown. */
  readonly input: unknown;
}

/**
 * The human's answer about a call, read from the messages the model call was made with: that is where both majors of the
 * SDK keep it when an approved call is resumed. Only an answer at the very end counts, as for the SDK: one further back
 * was about an earlier call, and some providers give the same id to several. Undefined: not asked, or not answered. Pure.
 */
function approvalIn({ messages, toolCallId }: IncomingCall): CallApproval | undefined {
  const last = messages.at(-1);
  if (last?.role !== "tool") return undefined;
  const { input, approvalIds } = askedAbout(messages, toolCallId);
  for (const part of last.content) {
    if (part.type === "tool-approval-response" && approvalIds.has(part.approvalId)) {
      return { approved: part.approved, input };
    }
  }
  return undefined;
}

/** The newest call of that id, and the questions asked about it. */
function askedAbout(
  messages: ReadonlyArray<ModelMessage>,
  toolCallId: string
): { input: unknown; approvalIds: ReadonlySet<string> } {
  const approvalIds = new Set<string>();
  for (const message of messages.toReversed()) {
    if (message.role !== "assistant" || typeof message.content === "string") continue;
    const call = message.content.find((part) => part.type === "tool-call" && part.toolCallId === toolCallId);
    for (const part of message.content) {
      if (part.type === "tool-approval-request" && part.toolCallId === toolCallId) approvalIds.add(part.approvalId);
    }
    if (call?.type === "tool-call") return { input: call.input, approvalIds };
  }
  return { input: undefined, approvalIds };
}

export interface CompiledTools {
  readonly tools: ToolSet;
  readonly descriptors: ReadonlyMap<string, ActionApprovalDescriptor>;
}

/** What both majors give a tool about its call. */
interface CallOptions {
  readonly toolCallId: string;
  readonly messages: ModelMessage[];
  readonly abortSignal?: AbortSignal | undefined;
}

/**
 * Descriptors as tools of one attempt of a turn. A tool asks a human through the SDK only if its kind says so; a durable
 * pause never does, it answers with an output instead.
 */
export function compileActions(
  ports: RunPorts,
  turn: ActionTurn,
  actions: ReadonlyMap<string, AnyAction>
): CompiledTools {
  const descriptors = new Map<string, ActionApprovalDescriptor>();
  const tools: Record<string, Tool> = {};
  for (const [name, action] of actions) {
    const incoming = (input: unknown, options: CallOptions): IncomingCall => ({
      name,
      action,
      input,
      toolCallId: options.toolCallId,
      messages: options.messages,
      signal: options.abortSignal ?? turn.signal,
      turn,
      onParked: (descriptor) => void descriptors.set(options.toolCallId, descriptor)
    });
    const isGated = action.kind === "approval-gated";
    const tool: Tool<unknown, unknown> = {
      description: action.config.description,
      inputSchema: action.config.inputSchema,
      execute: (input: unknown, options: CallOptions) => runAction(ports, incoming(input, options)),
      ...(isGated && {
        needsApproval: async (input: unknown, options: CallOptions) => {
          const answer = await approvalFor(ports, incoming(input, options));
          if (answer.needed && answer.descriptor) descriptors.set(options.toolCallId, answer.descriptor);
          return answer.needed;
        }
      })
    };
    tools[name] = tool;
  }
  return { tools, descriptors };
}
