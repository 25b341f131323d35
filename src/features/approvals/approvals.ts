// Approvals of an agent, from wherever they were asked: actions that are parked, code that waits, and questions of
// workflows. One list, one pair of decisions and one address for all of them.
import {
  noActions,
  type ActionOutput,
  type ApprovalDecision,
  type ApprovalSource,
  type PendingApproval
} from "../../feature/approval-contract.ts";
import type { Feature, Roles, RouteHandler } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import { approvalRefusal, askedInChat, type AskedApproval } from "./approval-check.ts";
import { approvalsResponse } from "./approvals-http.ts";
import { approverOf } from "./approver.ts";
import type { ApprovalMembers } from "./capability.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

type Decision = ApprovalDecision & { readonly reason?: string };

export class Approvals implements Feature {
  readonly name = "approvals";
  /** The address of what waits. An agent in which nothing has waited, or can, keeps the address for itself. */
  readonly routes: Readonly<Record<string, RouteHandler>> = {
    approvals: (request, rest) => this.#respond(request, rest)
  };
  /** Of calls that were asked about in the chat. */
  readonly roles: Partial<Roles> = {
    decisions: {
      approver: (given) => this.approver(given),
      refusal: (asked) => this.refusal(askedInChat(asked))
    }
  };
  readonly #services: ChatServices;
  readonly #agent: ApprovalMembers;

  constructor(services: ChatServices) {
    this.#services = services;
    // Only agents with these members open it.
    this.#agent = services.agent as ApprovalMembers;
  }

  /** The name of who decides now, as it is recorded. */
  approver(given: string | undefined): string | undefined {
    return approverOf(this.#agent, given);
  }

  /** Why the caller may not decide this; undefined when it may. Never throws. */
  refusal(asked: AskedApproval): MaybePromise<string | undefined> {
    return approvalRefusal(this.#agent, asked);
  }

  /** What waits: of actions, then of code, then of workflows. */
  pending(executionId: string | undefined): PendingApproval[] {
    return this.#sources().flatMap((source) => source.pendingApprovals(executionId));
  }

  async decide(
    executionId: string,
    { isApproved, by: given, ...rest }: Decision & { readonly isApproved: boolean }
  ): Promise<ActionOutput> {
    const by = this.approver(given);
    await this.restored();
    const decision = { ...rest, by };
    const sources = this.#sources();
    const source = sources.find((one) => one.owns(executionId)) ?? sources[0];
    if (!source) return noActions(executionId);
    return isApproved ? source.approveExecution(executionId, decision) : source.rejectExecution(executionId, decision);
  }

  /** Resolves when everything that waited before a restart is known again. */
  async restored(): Promise<void> {
    for (const { approvals } of this.#services.features.with("approvals")) await approvals.restored?.();
  }

  /** Those in use. Questions of workflows come last. */
  #sources(): ApprovalSource[] {
    const { features } = this.#services;
    features.bringAll();
    const sources = features.with("approvals").map(({ approvals }) => approvals);
    return sources
      .filter((one) => one.isInUse)
      .toSorted((first, second) => Number(first.isLast ?? false) - Number(second.isLast ?? false));
  }

  async #respond(request: Request, rest: string): Promise<Response | undefined> {
    await this.restored();
    if (this.#sources().length === 0) return undefined;
    return approvalsResponse(request, rest, {
      pendingApprovals: (executionId) => this.pending(executionId),
      approveExecution: (executionId, decision) => this.decide(executionId, { ...decision, isApproved: true }),
      rejectExecution: (executionId, decision) => this.decide(executionId, { ...decision, isApproved: false })
    });
  }
}
