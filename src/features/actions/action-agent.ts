// What a class gets for actions: declarations only. What they do is in src/actions.
import { assertCallerMayChange } from "../../agent/connections/readonly.ts";
import {
  authorizeByGrant,
  type ActionAuthorizationContext,
  type ActionAuthorizationDecision,
  type ActionLedgerEntry,
  type ActionLedgerRetention,
  type ActionOutput,
  type ActionSet,
  type ApprovalAuthorizationContext,
  type ApprovalDecision,
  type LedgerResolution,
  type LedgerResolutionResult,
  type ListLedgerOptions,
  type PendingApproval,
  type ReplyAttachment
} from "./contract.ts";
import { approverOf, type ApprovalCaller } from "../approvals/approver.ts";
import type { ChannelText } from "../channels/channels.ts";
import { renderAttachment } from "./render-attachment.ts";
import { ScheduledTaskAgent } from "../tasks/scheduled-task-agent.ts";
import { actionsOf, decideApproval, pendingApprovals } from "../approvals/approvals.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

export abstract class ActionAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends ScheduledTaskAgent<Env, State, Props> {
  /** After this long without a sign of life, an action with an explicit key may run again; false: never. */
  actionLedgerPendingRetryLeaseMs: number | false = 300_000;

  /** How long the ledger of actions keeps its rows. */
  actionLedgerRetention: ActionLedgerRetention = {};

  /** How long a parked action waits for a human; false: for ever. */
  actionPendingApprovalTtlMs: number | false = 30 * 24 * 3_600_000;

  /** Server-side tools with a ledger, approvals and permissions; see `action()`. */
  getActions(): ActionSet {
    return {};
  }

  /** Whether one call of an action may run. Default: what `authorizeTurn` granted covers what the action requires. */
  authorizeAction(context: ActionAuthorizationContext): MaybePromise<ActionAuthorizationDecision> {
    return authorizeByGrant(context);
  }

  /** Whether the caller may decide over a parked action. Default: every caller that can reach the agent. */
  authorizeApproval(_context: ApprovalAuthorizationContext): MaybePromise<ActionAuthorizationDecision> {
    return true;
  }

  /**
   * Who decides over an approval, by the connection or request that the decision came with. The name is recorded with the
   * decision, in place of one that the client sent. One that looks like a messenger's user is recorded with `app:` in front.
   * Default: not known; a name that the client sent is recorded as its claim, with `unverified:` in front.
   *
   * @example
   * identifyApprover({ connection }: ApprovalCaller) {
   *   return (connection?.state as { user?: string } | null)?.user;
   * }
   */
  identifyApprover(_caller: ApprovalCaller): string | undefined {
    return undefined;
  }

  /** A reply attachment as text, for channels that deliver text. Nothing: it is left out. */
  renderAttachment(attachment: ReplyAttachment): MaybePromise<ChannelText | undefined> {
    return renderAttachment(attachment);
  }

  /** What waits for a human: actions, then code, then questions of workflows. */
  pendingApprovals(executionId?: string): PendingApproval[] {
    return pendingApprovals(this, executionId);
  }

  /** Runs a parked action once and goes on with the conversation. Answers its output; a second call changes nothing. */
  async approveExecution(executionId: string, decision?: ApprovalDecision): Promise<ActionOutput> {
    assertCallerMayChange(this);
    return decideApproval(this, executionId, { ...decision, isApproved: true });
  }

  /** Decides against a parked action, which then never runs, and goes on with the conversation. */
  async rejectExecution(executionId: string, reason?: string, decision?: ApprovalDecision): Promise<ActionOutput> {
    assertCallerMayChange(this);
    // A client without a reason, but with a decision, sends null in its place.
    const given = { ...decision, ...(typeof reason === "string" && { reason }) };
    return decideApproval(this, executionId, { ...given, isApproved: false });
  }

  /** What actions attached to the reply of a turn, by its request; without one, of the latest turn. Kept for 8 turns. */
  replyAttachments(requestId?: string): ReplyAttachment[] {
    return actionsOf(this)?.replyAttachments(requestId) ?? [];
  }

  /** What the ledger knows of actions, newest first. */
  listActionLedger(options?: ListLedgerOptions): ActionLedgerEntry[] {
    return actionsOf(this)?.listActionLedger(options) ?? [];
  }

  /** An operator's word about an action whose outcome is not known: its output, or that it may run again. */
  resolveActionLedger(key: string, resolution: LedgerResolution): LedgerResolutionResult {
    assertCallerMayChange(this);
    const by = "by" in resolution ? approverOf(this, resolution.by) : undefined;
    const said = "output" in resolution ? { output: resolution.output, ...(by !== undefined && { by }) } : resolution;
    return actionsOf(this)?.resolveActionLedger(key, said) ?? { ok: false, reason: "not-found" };
  }
}
