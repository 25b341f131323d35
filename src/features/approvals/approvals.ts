// Approvals of an agent, from wherever they were asked: actions that are parked, code that waits, and questions of
// workflows. One list, one pair of decisions and one address for all of them.
import {
  noActions,
  type ActionOutput,
  type ApprovalDecision,
  type ApprovalSource,
  type Decision,
  type PendingApproval
} from "../../feature/approval-contract.ts";
import { currentContext } from "../../agent/context.ts";
import type { Feature, Roles, RouteHandler } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { ChatDecision, EarlierApproval } from "../../turn/hooks.ts";
import { approvalRefusal, askedInChat, callInChat, hashOf, type AskedApproval } from "./approval-check.ts";
import { DECISION_TABLES, DecisionLog, isSameDecision } from "./decision-log.ts";
import { approvalsResponse } from "./approvals-http.ts";
import { approverOf, surfaceOf } from "./approver.ts";
import type { ApprovalMembers } from "./capability.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

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
      refusal: (asked) => this.refusal(askedInChat(asked)),
      record: (decided) => this.#log.add(callInChat(decided), this.#decisionIn(decided)),
      earlier: (again) => this.#earlier(again)
    }
  };
  readonly tables = DECISION_TABLES;
  readonly #log: DecisionLog;
  readonly #services: ChatServices;
  readonly #agent: ApprovalMembers;

  constructor(services: ChatServices) {
    this.#services = services;
    this.#log = new DecisionLog(services);
    // Only agents with these members open it.
    this.#agent = services.agent as ApprovalMembers;
  }

  cleared(): void {
    this.#log.deleteAll();
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
    { args, input = args, by: given, origin, ...rest }: Decision & Pick<ApprovalDecision, "args">
  ): Promise<ActionOutput> {
    const by = this.approver(given);
    // The continuation is the stream of the client that decides.
    const decision = { ...rest, input, by, surface: surfaceOf(by), origin: currentContext().connection ?? origin };
    await this.restored();
    const sources = this.#sources();
    const source = sources.find((one) => one.owns(executionId)) ?? sources[0];
    return source ? source.decide(executionId, decision) : noActions(executionId);
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

  #decisionIn({ approved, by, reason, part }: ChatDecision): Decision {
    return { isApproved: approved, by, surface: surfaceOf(by), reason, inputHash: hashOf(part) };
  }

  #earlier(again: ChatDecision): EarlierApproval | undefined {
    const { messageId, part } = again;
    const [first] = this.#log.list({ messageId, callIds: new Set([part.toolCallId]) }, 1);
    if (first?.source !== "tool") return undefined;
    // Of two clients without a name it is not known whether they are one person.
    const isSame = again.by !== undefined && isSameDecision(first, this.#decisionIn(again));
    return { isSame, told: `it was ${first.answer} before` };
  }

  async #respond(request: Request, rest: string): Promise<Response | undefined> {
    await this.restored();
    if (this.#sources().length === 0) return undefined;
    return approvalsResponse(request, rest, {
      pendingApprovals: (executionId) => this.pending(executionId),
      decide: (executionId, decision) => this.decide(executionId, decision)
    });
  }
}
