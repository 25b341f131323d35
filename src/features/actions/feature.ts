// Actions as a feature of an agent: their tools join every attempt, the turn's grant is decided once and kept with the
// turn, and a parked call ends its turn. What outlives a turn is runtime.ts.
import type { UIMessageChunk } from "ai";
import { getCurrentAgent } from "../../agent/context.ts";
import { grantOf, grantOfRecord, recordOfGrant } from "../../feature/approval-contract.ts";
import type { ActionGrant, ActionsFeature, ActionSet, ApprovalDecision } from "../../feature/approval-contract.ts";
import { ActionMapError } from "../../feature/errors.ts";
import { FEATURE, type TurnPart } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import { endingInPause } from "../../feature/paused-turn.ts";
import type { TurnView } from "../../turn/turn.ts";
import { isObject } from "../../util/json.ts";
import type { ActionMembers } from "./capability.ts";
import { describeAction, type Action, type ActionConfig } from "./descriptor.ts";
import { isPauseId, isPausedOutput } from "./parked.ts";
import { ActionRuntime, type CompiledActions } from "./runtime.ts";

/**
 * Describes a tool with side effects: run once per key, approved by a human, allowed by permissions.
 *
 * @example
 * getActions() {
 *   return {
 *     chargeInvoice: action({
 *       description: "Charge an invoice.",
 *       inputSchema: z.object({ invoiceId: z.string() }),
 *       idempotencyKey: ({ input }) => `invoice:${input.invoiceId}`,
 *       execute: async ({ invoiceId }) => charge(invoiceId)
 *     })
 *   };
 * }
 */
export function action<Input, Output>(config: ActionConfig<Input, Output>): Action<Input, Output> {
  return Object.freeze({ ...describeAction(config), [FEATURE]: openActions });
}

function openActions(host: ChatServices): ActionsFeature {
  const actions = new ActionRuntime(host);
  return {
    name: "actions",
    tables: ["ledger", "pauses", "results", "attachments"].map((name) => ({ name: `cf_action_${name}` })),
    ready: () => actions.resume(),
    nextWake: (nowMs) => actions.nextWake(nowMs),
    runDue: () => actions.runDue(),
    inTurn: (turn) => partIn(turn, { host, actions }),
    settled: ({ turnId }: TurnView) => actions.turnSettled(turnId),
    cleared: () => actions.conversationCleared(),
    calls: {
      runsTool: (toolName) => actions.isAction(toolName),
      lostOutcome: ({ toolName, ...call }) => actions.settledOutput({ ...call, action: toolName }),
      annotateRecovered: (chunk) =>
        chunk.type === "tool-output-available" && isPausedOutput(chunk.output)
          ? withDescriptor(chunk, actions.descriptorOf(chunk.output.executionId))
          : chunk
    },
    roles: { attachmentsOf: (turnId) => actions.attachmentsOf(turnId) },
    replyAttachments: (requestId) => actions.replyAttachments(requestId),
    approvals: {
      isInUse: true,
      owns: isPauseId,
      pendingApprovals: (executionId) => actions.pendingApprovals(executionId),
      approveExecution: (executionId, decision) => actions.approveExecution(executionId, byCaller(decision)),
      rejectExecution: (executionId, decision) => actions.rejectExecution(executionId, byCaller(decision))
    },
    listActionLedger: (options) => actions.listActionLedger(options),
    resolveActionLedger: (key, resolution) => actions.resolveActionLedger(key, resolution)
  };
}

/** With the client that calls, so that the continuation is its own stream. */
function byCaller<Decision extends ApprovalDecision>(decision?: Decision): Decision | ApprovalDecision {
  const { connection } = getCurrentAgent();
  return connection === undefined ? { ...decision } : { ...decision, origin: connection };
}

function partIn(
  turn: TurnView,
  { host, actions }: { host: ChatServices; actions: ActionRuntime }
): TurnPart | undefined {
  const { overrides, isOverridden } = host;
  // Only agents with these members have actions.
  const owner = host.agent as ActionMembers;
  let grant: ActionGrant = { allowed: true };
  const { turnId, requestId, messageId, signal } = turn;
  const described = { turnId, requestId, messageId, signal, grant: () => grant };
  const map: ActionSet = owner.getActions();
  if (!isObject(map)) throw new ActionMapError();
  const isEmpty = Object.values(map).every((one) => one === undefined);
  const compiled = isEmpty ? undefined : actions.compile(described, map);
  return {
    tools: compiled && { actions: compiled.tools },
    readResult: compiled?.readResult,
    async begin(context) {
      actions.beginTurn(turnId);
      if (!isOverridden("authorizeTurn")) return {};
      // Asked once per turn: what an earlier attempt was given holds.
      const recorded = turn.grant ?? recordOfGrant(grantOf(await overrides.authorizeTurn(context)));
      grant = grantOfRecord(recorded);
      return { grant: recorded };
    },
    ...endingInPause(isPausedOutput),
    annotate: (chunk) => annotated(chunk, compiled)
  };
}

/** The question carries what is asked, so that a client need not look it up. */
function annotated(chunk: UIMessageChunk, compiled: CompiledActions | undefined): UIMessageChunk {
  const isQuestion = chunk.type === "tool-approval-request";
  const isParked = chunk.type === "tool-output-available" && isPausedOutput(chunk.output);
  return isQuestion || isParked ? withDescriptor(chunk, compiled?.descriptorOf(chunk.toolCallId)) : chunk;
}

function withDescriptor(chunk: UIMessageChunk, approvalDescriptor: object | undefined): UIMessageChunk {
  return approvalDescriptor ? { ...chunk, ...{ approvalDescriptor } } : chunk;
}
