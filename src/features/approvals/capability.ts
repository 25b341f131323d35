// Approvals as a capability: who may decide, under which name, and the public names by which what waits is listed and decided.
import type {
  ActionAuthorizationDecision,
  ActionOutput,
  ApprovalAuthorizationContext,
  ApprovalDecision,
  PendingApproval
} from "../../feature/approval-contract.ts";
import { chatCapability } from "../../feature/capability.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";
import { Approvals } from "./approvals.ts";
import type { ApprovalCaller } from "./approver.ts";

export class ApprovalMembers {
  static readonly changes = ["approveExecution", "rejectExecution"] satisfies (keyof ApprovalMembers)[];
  static readonly callables = ["pendingApprovals", "approveExecution", "rejectExecution"];

  /**
   * Whether the caller may decide over a parked action. Default: every caller that can reach the agent.
   * @example
   * authorizeApproval({ by }: ApprovalAuthorizationContext) {
   *   return by !== null || { allowed: false, reason: "Log in to decide." };
   * }
   */
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

  /** What waits for a human: actions, then code, then questions of workflows. */
  pendingApprovals(executionId?: string): PendingApproval[] {
    return approvals.of(this).pending(executionId);
  }

  /** Runs a parked action once and goes on with the conversation. Answers its output; a second call changes nothing. */
  async approveExecution(executionId: string, decision?: ApprovalDecision): Promise<ActionOutput> {
    return approvals.of(this).decide(executionId, { ...decision, isApproved: true });
  }

  /** Decides against a parked action, which then never runs, and goes on with the conversation. */
  async rejectExecution(executionId: string, reason?: string, decision?: ApprovalDecision): Promise<ActionOutput> {
    // A client without a reason, but with a decision, sends null in its place.
    const given = { ...decision, ...(typeof reason === "string" && { reason }) };
    return approvals.of(this).decide(executionId, { ...given, isApproved: false });
  }
}

export const approvals = chatCapability({
  name: "approvals",
  members: ApprovalMembers,
  feature: (services) => new Approvals(services)
});
