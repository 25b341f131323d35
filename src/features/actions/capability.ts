// Actions as a capability: settings, override points and public names. What they do comes with the first action, which
// carries the feature.
import { featureErrors } from "../../feature/errors.ts";
import {
  authorizeByGrant,
  type ActionAuthorizationContext,
  type ActionAuthorizationDecision,
  type ActionLedgerEntry,
  type ActionLedgerRetention,
  type ActionsFeature,
  type ActionSet,
  type LedgerResolution,
  type LedgerResolutionResult,
  type ListLedgerOptions,
  type ReplyAttachment
} from "../../feature/approval-contract.ts";
import { chatCapability } from "../../feature/capability.ts";
import { isOverridden } from "../../feature/members.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";
import { approvals } from "../approvals/capability.ts";
import type { ChannelText } from "../../feature/channel-text.ts";
import { renderAttachment } from "./render-attachment.ts";

export class ActionMembers {
  static readonly changes = ["resolveActionLedger"] satisfies (keyof ActionMembers)[];

  /**
   * After this long without a sign of life, an action with an explicit key may run again; false: never.
   * @example
   * actionLedgerPendingRetryLeaseMs = 15 * 60_000;
   */
  actionLedgerPendingRetryLeaseMs: number | false = 300_000;

  /**
   * How long the ledger of actions keeps its rows.
   * @example
   * actionLedgerRetention = { settledMs: 90 * 24 * 3_600_000 };
   */
  actionLedgerRetention: ActionLedgerRetention = {};

  /**
   * How long a parked action waits for a human; false: for ever.
   * @example
   * actionPendingApprovalTtlMs = 24 * 3_600_000;
   */
  actionPendingApprovalTtlMs: number | false = 30 * 24 * 3_600_000;

  /**
   * Server-side tools with a ledger, approvals and permissions; see `action()`.
   * @example
   * getActions(): ActionSet {
   *   const inputSchema = z.object({ order: z.string() });
   *   const execute = ({ order }: { order: string }) => this.refund(order);
   *   return { refund: action({ description: "Refunds an order.", inputSchema, approval: true, execute }) };
   * }
   */
  getActions(): ActionSet {
    return {};
  }

  /**
   * Whether one call of an action may run. Default: what `authorizeTurn` granted covers what the action requires.
   * @example
   * authorizeAction(context: ActionAuthorizationContext) {
   *   if (context.action === "refund" && this.isClosed) return { allowed: false, reason: "The shop is closed." };
   *   return super.authorizeAction(context);
   * }
   */
  authorizeAction(context: ActionAuthorizationContext): MaybePromise<ActionAuthorizationDecision> {
    return authorizeByGrant(context);
  }

  /**
   * A reply attachment as text, for channels that deliver text. Nothing: it is left out.
   * @example
   * renderAttachment(attachment: ReplyAttachment) {
   *   if (attachment.type === "chart") return `Chart: ${String(attachment["url"])}`;
   *   return super.renderAttachment(attachment);
   * }
   */
  renderAttachment(attachment: ReplyAttachment): MaybePromise<ChannelText | undefined> {
    return renderAttachment(attachment);
  }

  /** What actions attached to the reply of a turn, by its request; without one, of the latest turn. Kept for 8 turns. */
  replyAttachments(requestId?: string): ReplyAttachment[] {
    return actions.find(this)?.replyAttachments(requestId) ?? [];
  }

  /** What the ledger knows of actions, newest first. */
  listActionLedger(options?: ListLedgerOptions): ActionLedgerEntry[] {
    return actions.find(this)?.listActionLedger(options) ?? [];
  }

  /** An operator's word about an action whose outcome is not known: its output, or that it may run again. */
  resolveActionLedger(key: string, resolution: LedgerResolution): LedgerResolutionResult {
    const by = "by" in resolution ? approvals.of(this).approver(resolution.by) : undefined;
    const said = "output" in resolution ? { output: resolution.output, by } : resolution;
    return actions.find(this)?.resolveActionLedger(key, said) ?? { ok: false, reason: "not-found" };
  }
}

export const actions = chatCapability<ActionsFeature, ActionMembers, readonly [typeof approvals]>({
  name: "actions",
  requires: [approvals],
  members: ActionMembers,
  isUsed: (agent) => isOverridden(agent, "getActions"),
  carried: {
    method: "getActions",
    // Only agents with these members are asked.
    read: (agent) => (agent as ActionMembers).getActions(),
    refuse: () => featureErrors.ActionMapError()
  }
});
