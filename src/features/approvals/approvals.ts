// Approvals of an agent, from wherever they were asked: actions that are parked, code that waits, and questions of
// workflows. One list, one pair of decisions and one address for all of them.
import {
  noActions,
  type ActionOutput,
  type ApprovalDecision,
  type ApprovalSource,
  type ApproversRule,
  type Decision,
  type PendingApproval,
  type Question
} from "../../feature/approval-contract.ts";
import { currentContext } from "../../agent/context.ts";
import type { Feature, Roles, RouteHandler } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { AnswerOutcome } from "../../turn/answers.ts";
import { ToolAnswerError } from "../../turn/errors.ts";
import type { ChatDecision, TakenDecision } from "../../turn/hooks.ts";
import { sameJson, type Json } from "../../util/json.ts";
import { whenDone, type MaybePromise } from "../../util/maybe-promise.ts";
import { approvalsResponse } from "./approvals-http.ts";
import { approverOf, surfaceOf } from "./approver.ts";
import type { ApprovalMembers } from "./capability.ts";
import { ChatQuestions, chatQuestion, isOfOtherQuestion } from "./chat-questions.ts";
import { Deciding, withoutSameInput, type AnswerResult } from "./deciding.ts";
import { DECISION_TABLES, describeDecision, isSameDecision } from "./decision-log.ts";

export class Approvals implements Feature {
  readonly name = "approvals";
  /** The address of what waits. An agent in which nothing has waited, or can, keeps the address for itself. */
  readonly routes: Readonly<Record<string, RouteHandler>> = {
    approvals: (request, rest) => this.#respond(request, rest)
  };
  readonly roles: Partial<Roles> = { decideCall: (decision, take) => this.#decideCall(decision, take) };
  readonly tables = DECISION_TABLES;
  /** Questions about calls inside an answer. */
  readonly chat: ChatQuestions;
  readonly #deciding: Deciding;
  readonly #services: ChatServices;
  readonly #agent: ApprovalMembers;

  constructor(services: ChatServices) {
    this.#services = services;
    this.chat = new ChatQuestions(services);
    this.#deciding = new Deciding(services);
    // Only agents with these members open it.
    this.#agent = services.agent as ApprovalMembers;
  }

  cleared(): void {
    this.#deciding.log.deleteAll();
  }

  /** The name of who decides now, as it is recorded. */
  approver(given: string | undefined): string | undefined {
    return approverOf(this.#agent, given);
  }

  /** What waits: of actions, then of code, then of workflows. With an id also a call inside an answer. */
  pending(executionId: string | undefined): PendingApproval[] {
    const parked = this.#sources().flatMap((source) => this.#withRules(source, source.questions(executionId)));
    const questions = parked.length > 0 || executionId === undefined ? parked : this.chat.waiting([executionId]);
    return questions.map(shown);
  }

  #withRules(source: ApprovalSource, questions: readonly Question[]): Question[] {
    // The class is asked for its actions once for all that it asks.
    const rules = new Map<string, ApproversRule | undefined>();
    return questions.map((question) => {
      const { action } = question.descriptor;
      if (!rules.has(action)) rules.set(action, source.ruleOf?.(question));
      return this.#deciding.shown(question, rules.get(action));
    });
  }

  async decide(
    executionId: string,
    { args, input = args, ...given }: Decision & Pick<ApprovalDecision, "args">
  ): Promise<ActionOutput> {
    // The continuation is the stream of the client that decides.
    const origin = currentContext().connection ?? given.origin;
    await this.restored();
    const sources = this.#sources();
    const source = sources.find((one) => one.owns(executionId));
    const asked = source ? undefined : this.chat.find(executionId);
    // The turn engine asks for the name.
    if (asked) return this.chat.decide(asked, { ...given, input, origin });
    const taking = source ?? sources[0];
    if (!taking) return noActions(executionId);
    const by = this.approver(given.by);
    return this.#deciding.decide(taking, executionId, { ...given, input, by, surface: surfaceOf(by), origin });
  }

  /** Resolves when everything that waited before a restart is known again. */
  async restored(): Promise<void> {
    for (const feature of this.#services.features.with("approvalsRestored")) await feature.approvalsRestored();
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

  /** A decision over a call inside an answer, of a page or of any other surface. */
  #decideCall(given: ChatDecision, take: (taken: TakenDecision) => AnswerOutcome): MaybePromise<AnswerOutcome> {
    const { part, message, approved: isApproved, reason, inputHash, input } = given;
    const question = chatQuestion(message.id, part);
    const by = this.approver(given.by);
    const decision = withoutSameInput(question, {
      isApproved,
      by,
      reason,
      inputHash,
      input,
      surface: given.surface ?? surfaceOf(by)
    });
    if (part.state !== "approval-requested") return this.#decidedBefore(given, decision, take({}));
    if (isOfOtherQuestion(given)) return { changed: false, refused: new ToolAnswerError("not-open"), message };
    let answered: AnswerOutcome = { changed: false };
    const outcome = this.#deciding.answer(
      {
        question,
        isWaiting: true,
        checkInput: (changed) => this.chat.checkInput(question, changed),
        take: (taken, record) => (answered = take({ by, ...changedInput(taken.input, decision.input), record })).changed
      },
      decision
    );
    return whenDone(outcome, (result: AnswerResult) => {
      if (result.is !== "refused") return answered;
      return { changed: false, refused: result.error, message };
    });
  }

  /** A decision that is sent again is the same decision; the sender of another one gets to know which won. */
  #decidedBefore({ part, message, approvalId }: ChatDecision, again: Decision, answered: AnswerOutcome): AnswerOutcome {
    const [first] = this.#deciding.log.list({ messageId: message.id, callIds: new Set([part.toolCallId]) }, 1);
    if (answered.changed || first?.source !== "tool") return answered;
    // Of two clients without a name that name no question, it is not known whether they are one person.
    const isNamed = again.by !== undefined || again.inputHash !== undefined || approvalId !== undefined;
    if (isNamed && isSameDecision(first, { ...again, inputHash: again.inputHash ?? first.inputHash }))
      return { changed: false, message };
    const text = `This call does not wait for a decision any more: ${describeDecision(first)}. Nothing was changed.`;
    return { changed: false, refused: new ToolAnswerError("not-open", text), message };
  }

  async #respond(request: Request, rest: string): Promise<Response | undefined> {
    await this.restored();
    const isOfChat = this.chat.find(rest.slice(1)) !== undefined;
    if (this.#sources().length === 0 && !isOfChat) return undefined;
    return approvalsResponse(request, rest, {
      pending: (executionId) => this.pending(executionId),
      decide: (executionId, decision) => this.decide(executionId, decision)
    });
  }
}

/** What a schema makes of JSON is stored as JSON. */
function changedInput(input: unknown, given: unknown): Pick<TakenDecision, "input" | "givenInput"> {
  return { input: input as Json | undefined, givenInput: sameJson(input, given) ? undefined : (given as Json) };
}

/** As callers see it. */
function shown({ messageId: _messageId, grant: _grant, escalatesAt: _at, ...question }: Question): PendingApproval {
  return question;
}
