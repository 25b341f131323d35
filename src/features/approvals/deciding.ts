// How a question is decided, whatever asked it and through whatever the decision came: who may decide is asked first, the
// first decision wins, and a decision that is sent again is the same decision. What is done then is the source's.
import type { Clock, Sql } from "../../host/ports.ts";
import {
  grantOf,
  type ActionOutput,
  type ApprovalSource,
  type ApprovalVotes,
  type ApproversRule,
  type Decision,
  type FoundQuestion,
  type Question
} from "../../feature/approval-contract.ts";
import { ToolAnswerError, type AnswerRefusal } from "../../turn/errors.ts";
import { errorMessage } from "../../util/errors.ts";
import { isObject, sameJson } from "../../util/json.ts";
import { isThenable, whenDone, type MaybePromise } from "../../util/maybe-promise.ts";
import { err, ok, type Result } from "../../util/result.ts";
import { truncateText } from "../../util/truncate-value.ts";
import { shownApprover } from "./approver.ts";
import type { ApprovalMembers } from "./capability.ts";
import { isAmong, ruleNow, withEscalation } from "./escalation.ts";
import { DecisionLog, describeDecision, isSameDecision, type RecordedDecision } from "./decision-log.ts";

/** What a decision came to. */
export type AnswerResult =
  | { readonly is: "taken"; readonly decision: Decision }
  /** More people must approve. */
  | { readonly is: "counted"; readonly votes: ApprovalVotes }
  /** It is the first decision, sent again. */
  | { readonly is: "repeated" }
  | { readonly is: "refused"; readonly error: ToolAnswerError; readonly issues?: readonly InputIssue[] };

/** What is wrong with a changed input. */
export interface InputIssue {
  /** Where, as names and numbers; empty: all of it. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** A question that a decision is about, and how the decision is written. */
export interface Asked {
  readonly question: Question;
  readonly isWaiting: boolean;
  /** Absent: the input cannot be changed. */
  readonly checkInput?: ((input: unknown) => MaybePromise<Result<unknown, unknown> | "fixed">) | undefined;
  /** Who must approve, and whether the question waits still. */
  readonly rule?: ApproversRule | undefined;
  isOpen?(): boolean;
  idle?(): Promise<void> | undefined;
  /** Takes the decision with the input that the schema made of a changed one. False: another decision was first. */
  take(decision: Decision, record: () => void): boolean;
}

/** The agent whose questions are decided, as far as it is used. */
interface DecidingHost {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly agent: object;
}

export class Deciding {
  readonly log: DecisionLog;
  readonly #clock: Clock;
  readonly #agent: Pick<ApprovalMembers, "authorizeApproval">;

  constructor(host: DecidingHost) {
    this.#clock = host.clock;
    this.log = new DecisionLog(host);
    // Only agents with these members open what asks.
    this.#agent = host.agent as ApprovalMembers;
  }

  /** Never throws for what a caller can do wrong: answers `{ status: "error" }`. */
  async decide(source: ApprovalSource, executionId: string, decision: Decision): Promise<ActionOutput> {
    const found = await source.find(executionId, decision);
    if (found.is === "unknown") return { status: "error", executionId, error: unknownText(decision) };
    if (found.is === "refused") return this.#refusedOutput(found, executionId, decision);
    const rule = source.ruleOf?.(found.question);
    const question = withEscalation(found.question, rule, this.#clock.now());
    const outcome = await this.answer(
      {
        question,
        isWaiting: found.is === "waiting",
        checkInput: source.checkInput && ((input) => source.checkInput?.(question, input) ?? ok(input)),
        rule: ruleNow(rule, question),
        isOpen: () => source.isWaiting?.(question) ?? true,
        idle: () => source.idle?.(executionId),
        take: (taken, record) => source.take(question, taken, record)
      },
      decision
    );
    if (outcome.is === "taken") return source.carryOut(question, outcome.decision);
    if (outcome.is === "counted") return { status: "waiting", executionId, votes: outcome.votes };
    return outcome.is === "repeated" ? source.outcomeOf(question) : errorOutput(question, outcome);
  }

  /** What comes at once is decided at once. */
  answer(asked: Asked, given: Decision): MaybePromise<AnswerResult> {
    const { question, isWaiting } = asked;
    const decision = withoutSameInput(question, given);
    // What was decided may have run with another input than the one that was asked about.
    const hash = (isWaiting ? undefined : this.#first(question)?.inputHash) ?? question.inputHash;
    if (decision.inputHash !== undefined && decision.inputHash !== hash) return refused("not-open", OTHER_INPUT);
    return whenDone(
      isWaiting ? checkedDecision(asked, decision) : ok(decision),
      (checked): MaybePromise<AnswerResult> => {
        if (!checked.ok) return checked.error;
        return whenDone(this.#refusal(question, checked.value), (refusal): MaybePromise<AnswerResult> => {
          if (refusal !== undefined) return refused("not-allowed", refusal);
          if (!isWaiting) return this.#decidedBefore(question, decision);
          const outside = asked.rule && ruleRefusal(asked.rule, decision);
          if (outside !== undefined) return refused("not-allowed", outside);
          return whenDone(asked.idle?.(), () => this.#take(asked, checked.value, decision));
        });
      }
    );
  }

  /** `given`: with the input as it was sent, which is what a repetition sends. */
  #take({ question, take, rule, isOpen }: Asked, decision: Decision, given: Decision): AnswerResult {
    if (rule && decision.isApproved) {
      const votes = this.#vote(question, { rule, isOpen: isOpen?.() ?? true }, given);
      if (votes) return { is: "counted", votes };
    }
    const record = () => this.log.add(question, given);
    return take(decision, record) ? { is: "taken", decision } : this.#decidedBefore(question, given);
  }

  /** Approvals so far, if this one does not decide: a person counts once. Undefined: it decides, or comes too late. */
  #vote(
    question: Question,
    { rule, isOpen }: { readonly rule: ApproversRule; readonly isOpen: boolean },
    decision: Decision
  ): ApprovalVotes | undefined {
    const { required = 1 } = rule;
    const { by = "" } = decision;
    if (required <= 1 || !isOpen) return undefined;
    const voted = this.log.votes(question);
    if (voted.includes(by)) return { required, by: voted };
    if (voted.length + 1 >= required) return undefined;
    this.log.addVote(question, decision);
    return { required, by: [...voted, by] };
  }

  /** A question that waits, with what its rule says of it. */
  shown(question: Question, rule: ApproversRule | undefined): Question {
    const asked = withEscalation(question, rule, this.#clock.now());
    const { required = 1 } = ruleNow(rule, asked) ?? {};
    return required > 1 ? { ...asked, votes: { required, by: this.log.votes(question) } } : asked;
  }

  #decidedBefore(question: Question, again: Decision): AnswerResult {
    const first = this.#first(question);
    if (first && isSameDecision(first, again)) return { is: "repeated" };
    const error = first ? `Nothing was done: ${NOT_PENDING}: ${describeDecision(first)}.` : unknownText(again);
    return refused("not-open", error);
  }

  /** Of the questions that a run of code asks, the decision over this one. */
  #first({ executionId, inputHash, source }: Question): RecordedDecision | undefined {
    return this.log.find(executionId, source === "codemode" ? inputHash : undefined);
  }

  async #refusedOutput(
    { error, question, more }: Extract<FoundQuestion, { is: "refused" }>,
    executionId: string,
    decision: Decision
  ): Promise<ActionOutput> {
    const refusal = question && (await this.#refusal(question, decision));
    if (refusal !== undefined) return { status: "error", executionId, error: refusal };
    return { status: "error", executionId, error, ...more };
  }

  /** Why the caller may not decide this; undefined when it may. Never throws: a class that fails refuses. */
  #refusal(question: Question, { isApproved, by, input }: Decision): MaybePromise<string | undefined> {
    const { messageId: _, escalatesAt: __, descriptor, ...asked } = question;
    try {
      const answer: unknown = this.#agent.authorizeApproval({
        ...asked,
        // The class decides over the call that would run, with what it would run with.
        descriptor: input === undefined ? descriptor : { ...descriptor, input: shownInput(input) },
        decision: isApproved ? "approve" : "reject",
        ...shownApprover(by ?? null)
      });
      return isThenable(answer) ? Promise.resolve(answer).then(refusalOf).catch(failure) : refusalOf(answer);
    } catch (error) {
      return failure(error);
    }
  }
}

const OTHER_INPUT = "Nothing was done: what waits for approval has another input than the one that was decided about.";
const NOT_PENDING = "it is no longer pending";
const NOT_KEPT =
  "it is not pending, and no outcome of it is kept; what came of a decided action is in the conversation";

function unknownText({ inputHash }: Decision): string {
  return `Nothing was done: ${inputHash === undefined ? NOT_PENDING : NOT_KEPT}.`;
}

/** The output of a decision that changed nothing. */
export function errorOutput(
  { executionId, source, descriptor }: Question,
  { error, issues }: Pick<Extract<AnswerResult, { is: "refused" }>, "error" | "issues">
): ActionOutput {
  const { action } = descriptor;
  const { code, message, reason } = error;
  const isOfInput = reason === "bad-input" || reason === "fixed-input";
  const named = { ...(isOfInput && { code }), ...(issues && { issues: [...issues] }) };
  return { status: "error", executionId, ...(source === "action" && { action }), error: message, ...named };
}

function refused(reason: AnswerRefusal, message?: string): Extract<AnswerResult, { is: "refused" }> {
  return { is: "refused", error: new ToolAnswerError(reason, message) };
}

/** Why a rule does not let this person decide. Never throws: a function that fails lets no one. */
function ruleRefusal({ required = 1, from }: ApproversRule, { by: given, input }: Decision): string | undefined {
  if (required <= 1 && from === undefined) return undefined;
  const { by, approver } = shownApprover(given ?? null);
  // A client can claim any name, and so be several people.
  if (by === null || approver === null) return "Nothing was done: only people whom the agent knows may decide this.";
  if (required > 1 && input !== undefined) return "Nothing was done: what several people approve is approved as it is.";
  try {
    return isAmong(from, by, approver) ? undefined : "Nothing was done: you are not among those who decide this.";
  } catch (error) {
    console.error("approvals.from of an action failed: the decision is refused.", error);
    return "Nothing was done: whether you may decide this could not be found out.";
  }
}

/** A rejection has no input, and the one that was asked about is no change. */
export function withoutSameInput({ descriptor, source }: Question, decision: Decision): Decision {
  const { input, ...rest } = decision;
  const isSame = !rest.isApproved || (source !== "codemode" && sameJson(input, descriptor.input));
  return input !== undefined && isSame ? rest : decision;
}

/** The decision with what the schema made of its input. */
function checkedDecision({ checkInput }: Asked, decision: Decision): MaybePromise<Result<Decision, AnswerResult>> {
  const { input } = decision;
  if (input === undefined) return ok(decision);
  if (!checkInput) return err(refused("fixed-input"));
  return whenDone(checkInput(input), (checked) =>
    checked === "fixed"
      ? err(refused("fixed-input"))
      : checked.ok
        ? ok({ ...decision, input: checked.value })
        : err(badInput(checked.error))
  );
}

function badInput(error: unknown): AnswerResult {
  const issues = issuesIn(error);
  const text = issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`));
  const message = `Nothing was done: the changed input is not valid: ${text.join("; ")}`;
  return { is: "refused", error: new ToolAnswerError("bad-input", truncateText(message, MAX_ISSUE_CHARS)), issues };
}

/** Issues of a schema of the standard, such as Zod's; else the error's own words. */
function issuesIn(error: unknown, depth = 0): InputIssue[] {
  const { issues, cause } =
    isObject(error) || error instanceof Error ? (error as { issues?: unknown; cause?: unknown }) : {};
  if (Array.isArray(issues)) return issues.slice(0, MAX_ISSUES).flatMap((one: unknown) => readIssue(one));
  if (cause !== undefined && depth < 3) return issuesIn(cause, depth + 1);
  return [{ path: [], message: typeof error === "string" ? error : errorMessage(error) }];
}

function readIssue(issue: unknown): InputIssue[] {
  if (!isObject(issue) || typeof issue["message"] !== "string") return [];
  const path: unknown[] = Array.isArray(issue["path"]) ? issue["path"] : [];
  const keys = path.map((key) => (isObject(key) ? key["key"] : key));
  return [{ path: keys.map((key) => (typeof key === "number" ? key : String(key))), message: issue["message"] }];
}

const MAX_ISSUES = 20;
const MAX_ISSUE_CHARS = 2_000;

/** An input as a descriptor shows it. */
function shownInput(input: unknown): object {
  return isObject(input) || Array.isArray(input) ? input : { value: input };
}

function refusalOf(answer: unknown): string | undefined {
  const { allowed, reason } = grantOf(answer);
  return allowed ? undefined : (reason ?? "Nothing was done: you may not decide this.");
}

/** What failed is the developer's to know. */
function failure(error: unknown): string {
  console.error("authorizeApproval() failed: the decision is refused.", error);
  return "Nothing was done: whether you may decide this could not be found out.";
}
