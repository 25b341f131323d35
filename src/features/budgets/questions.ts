// Turns that wait for a person to grant more budget. The question is durable before its turn ends; the decision is durable
// before anything comes of it; the grant is one row of the tree's account; and the turn that goes on is admitted with the end
// of the question, in one transaction. So a process that dies anywhere in between goes on from there, and the turn goes on once.
import { sha256 } from "../../host/blobs.ts";
import type {
  ActionOutput,
  ApprovalSource,
  Decision,
  FoundQuestion,
  Question
} from "../../feature/approval-contract.ts";
import { AWAITING_BUDGET } from "../../feature/budget-contract.ts";
import type { ChatServices } from "../../feature/services.ts";
import { DecisionLog } from "../approvals/decision-log.ts";
import { trailingUserIds, type Admission } from "../../turn/admit.ts";
import { rootOf, type TurnOutcome, type TurnView } from "../../turn/turn.ts";
import { canonicalJson, isObject } from "../../util/json.ts";
import { err, ok, type Result } from "../../util/result.ts";
import { SETTLED, type RunEnd } from "../../work/kind.ts";
import { Work } from "../../work/work.ts";
import { amountOf, isAmount, showAmount, unitsOf, type Amount } from "./amount.ts";
import type { BudgetBook } from "./book.ts";
import type { KeptLimit } from "./limits.ts";
import type { BudgetRefusal } from "./turn-meter.ts";

/** The kind of work that questions are. */
export const BUDGET_QUESTION = "budget-question";
const ID_PREFIX = "budget_";
/** How long a question waits for a person. */
const QUESTION_MS = 30 * 24 * 3_600_000;
/** What could not be carried out is tried again after this, and then ever later. */
const RETRY = { baseMs: 1_000, maxMs: 60_000 };
/** Questions at once; a further turn stops instead. */
export const MAX_QUESTIONS = 100;
/** How long a decision that is sent again gets its first answer. */
const SETTLED_KEPT_MS = 24 * 3_600_000;

interface StoredQuestion {
  readonly state: "parked" | "approved" | "rejected";
  readonly turnId: string;
  readonly requestId: string;
  readonly messageId: string;
  readonly inputMessageIds: readonly string[];
  readonly channel: string | null;
  /** The turn is a run for a parent, which waits for its end. */
  readonly isRun?: boolean;
  /** As the turn that goes on has them: it is the same turn to its budgets. */
  readonly limits: readonly KeptLimit[];
  readonly account: string;
  readonly asked: Amount;
  readonly summary: string;
  /** Of one that is approved. */
  readonly granted: Amount | null;
  readonly decidedBy: string | null;
}

export interface QuestionsInit {
  readonly services: ChatServices;
  readonly book: BudgetBook;
  /** Part of the transaction that admits the turn which goes on. */
  keepLimits(turnId: string, limits: readonly KeptLimit[]): void;
}

export class BudgetQuestions implements ApprovalSource {
  readonly isInUse = true;
  readonly work: Work<StoredQuestion>;
  readonly #init: QuestionsInit;
  readonly #decisions: DecisionLog;

  constructor(init: QuestionsInit) {
    this.#init = init;
    this.#decisions = new DecisionLog(init.services);
    this.work = new Work(init.services, {
      name: BUDGET_QUESTION,
      codec: { encode: (question) => question, decode },
      retry: { backoff: RETRY },
      concurrency: MAX_QUESTIONS,
      retentionMs: SETTLED_KEPT_MS,
      keepsPayload: true,
      run: ({ key, payload }) => this.#run(key, payload)
    });
  }

  /** Asks once for a turn. Undefined: too many wait. */
  ask(turn: TurnView, refusal: BudgetRefusal, limits: readonly KeptLimit[]): string | undefined {
    const { clock, ids, emit } = this.#init.services;
    const { turnId, requestId, messageId, inputMessageIds, channel = null } = turn;
    const known = this.#ofTurn(turnId).find(({ payload }) => payload.state === "parked");
    if (known) return known.payload.summary;
    if (this.work.holdsAtLeast(MAX_QUESTIONS)) return undefined;
    const { limit, account, explanation } = refusal;
    const asked = amountOf(limit.unit, Math.max(refusal.asked, limit.grant));
    const summary = `needs ${showAmount(asked)} more; ${explanation}`;
    const executionId = `${ID_PREFIX}${ids.next()}`;
    this.work.add({
      key: executionId,
      lane: turnId,
      dueAt: clock.now() + QUESTION_MS,
      payload: {
        ...{ state: "parked", turnId, requestId, messageId, inputMessageIds, channel, limits, account, summary },
        isRun: rootOf(turn).trigger === "agent-tool",
        asked,
        granted: null,
        decidedBy: null
      }
    });
    emit("budget:asked", { requestId, executionId, account, ...asked });
    return summary;
  }

  /** A process may have died between the end of a turn and the word about it. */
  ready(): void {
    for (const { key, payload } of this.work.items({ states: OPEN })) {
      if (payload.state === "parked" && this.#hasEndedOtherwise(payload)) this.work.cancel(key);
    }
    this.work.ready();
  }

  /** As far as it is known. */
  #hasEndedOtherwise({ requestId }: StoredQuestion): boolean {
    const outcome = this.#init.services.turns.outcomeOf(requestId);
    return outcome !== undefined && outcome.reason !== AWAITING_BUDGET;
  }

  /** What was granted while the turn was ending goes on now; a turn that ended otherwise has no question any more. */
  turnSettled({ turnId }: TurnView, { reason }: TurnOutcome): void {
    for (const { key, payload } of this.#ofTurn(turnId)) {
      if (payload.state === "parked" && reason !== AWAITING_BUDGET) this.work.cancel(key);
      else if (payload.state !== "parked") this.work.schedule(key, this.#init.services.clock.now());
    }
  }

  /** What a turn waits for; undefined: for nothing, or not any more. */
  waitingFor(turnId: string): string | undefined {
    return this.#ofTurn(turnId).find(({ payload }) => payload.state !== "rejected")?.payload.summary;
  }

  drop(turnId: string): void {
    for (const { key } of this.#ofTurn(turnId)) this.work.cancel(key);
  }

  cleared(): void {
    for (const { key } of this.work.items({ states: OPEN })) this.work.cancel(key);
  }

  // ── As approvals see them ──

  owns(executionId: string): boolean {
    return executionId.startsWith(ID_PREFIX);
  }

  questions(executionId?: string): Question[] {
    const items =
      executionId === undefined ? [...this.work.items({ states: OPEN })] : [this.work.find(executionId) ?? []].flat();
    return items.flatMap(({ key, payload, dueAt, settledAt }) =>
      payload.state === "parked" && settledAt === null ? [questionOf(key, payload, dueAt)] : []
    );
  }

  find(executionId: string): FoundQuestion {
    const item = this.work.find(executionId);
    if (!item) return { is: "unknown" };
    const isWaiting = item.payload.state === "parked" && item.settledAt === null;
    if (isWaiting && (item.dueAt ?? Infinity) <= this.#init.services.clock.now())
      return { is: "refused", error: "Nothing was done: it waited too long and has expired." };
    return { is: isWaiting ? "waiting" : "decided", question: questionOf(executionId, item.payload, item.dueAt) };
  }

  isWaiting({ executionId }: Question): boolean {
    return this.find(executionId).is === "waiting";
  }

  /** A person may grant another amount, in the unit that was asked for. */
  checkInput({ executionId }: Question, input: unknown): Result<unknown, string> {
    const asked = this.work.find(executionId)?.payload.asked;
    if (!asked) return err("It is not known any more.");
    const given = isObject(input) ? { unit: asked.unit, amount: input["amount"] } : undefined;
    if (isObject(input) && input["unit"] !== undefined && input["unit"] !== asked.unit)
      return err(`Its unit is "${asked.unit}".`);
    return isAmount(given) && given.amount > 0 ? ok(given) : err("It must be { amount } above zero.");
  }

  take({ executionId }: Question, { isApproved, by, input }: Decision, record: () => void): boolean {
    const { conversation, clock } = this.#init.services;
    return conversation.atomically(() => {
      const item = this.work.find(executionId);
      if (item?.payload.state !== "parked" || item.settledAt !== null) return false;
      const granted = isApproved ? (isAmount(input) ? input : item.payload.asked) : null;
      const state = isApproved ? "approved" : "rejected";
      const decided: StoredQuestion = { ...item.payload, state, granted, decidedBy: by ?? null };
      if (!this.work.schedule(executionId, clock.now(), decided)) return false;
      record();
      return true;
    });
  }

  async carryOut(question: Question): Promise<ActionOutput> {
    // Also before the start is over.
    this.work.ready();
    return this.outcomeOf(question);
  }

  outcomeOf({ executionId }: Question): ActionOutput {
    const payload = this.work.find(executionId)?.payload;
    if (payload?.state === "approved") return { status: "granted", executionId, ...(payload.granted ?? payload.asked) };
    if (payload?.state === "rejected") return { status: "rejected", executionId };
    return { status: "error", executionId, error: "Nothing was done: it is no longer pending." };
  }

  // ── What comes of a decision ──

  async #run(key: string, question: StoredQuestion): Promise<RunEnd<StoredQuestion>> {
    const { services, book } = this.#init;
    if (question.state === "parked") {
      const also = () => this.#decisions.addExpired(questionOf(key, question, null));
      return { ...SETTLED, also, afterwards: () => this.#notGranted(question) };
    }
    const { turnId, granted, account, decidedBy: by } = question;
    if (question.state === "approved" && granted) {
      await book.grant({ id: key, account, unit: granted.unit, amount: unitsOf(granted, "up"), by });
    }
    // Its end looks again.
    if (services.turns.isTurnOpen(turnId)) return { end: "postponed", until: services.clock.now() + RETRY.maxMs };
    // A question outlives the records of its turn. That of a turn which ended otherwise is cancelled while they are there.
    const goesOn = question.state === "approved" && !this.#hasEndedOtherwise(question);
    if (!goesOn) return { ...SETTLED, afterwards: () => this.#notGranted(question) };
    return { ...SETTLED, also: () => this.#goOn(question) };
  }

  #notGranted({ turnId, isRun }: StoredQuestion): void {
    if (isRun) this.#init.services.features.role("ownRuns")?.notGranted(turnId);
  }

  /** Part of the transaction that ends the question. */
  #goOn(question: StoredQuestion): void {
    const { services, keepLimits } = this.#init;
    const { turnId, requestId } = services.turns.admit(this.#continuation(question));
    keepLimits(turnId, question.limits);
    if (question.isRun) services.features.role("ownRuns")?.goesOn(question.turnId, { turnId, requestId });
  }

  /** The answer goes on where it stopped; in a conversation that went on meanwhile, at its end. */
  #continuation({ messageId, inputMessageIds, channel, isRun }: StoredQuestion): Admission {
    const { transcript, turns, ids } = this.#init.services;
    const shared = {
      requestId: ids.next(),
      trigger: isRun ? "agent-tool" : "auto-continuation",
      input: [],
      body: turns.body,
      clientTools: turns.clientTools,
      ...(channel !== null && { channel })
    } as const;
    const { leafId } = transcript;
    if (leafId === messageId) return { ...shared, continuation: true, extendsMessageId: messageId };
    const asked = trailingUserIds(transcript.path());
    const isUnanswered = asked.some((id) => inputMessageIds.includes(id));
    if (isUnanswered) return { ...shared, continuation: false, inputMessageIds: asked };
    return { ...shared, continuation: true, continuesMessageId: messageId };
  }

  #ofTurn(lane: string) {
    return [...this.work.items({ states: OPEN, lane })];
  }
}

const OPEN = ["waiting", "claimed", "parked"] as const;

function questionOf(executionId: string, question: StoredQuestion, dueAt: number | null): Question {
  const { requestId, messageId, account, asked, summary, state } = question;
  return {
    executionId,
    source: "budget",
    descriptor: {
      requestId,
      toolCallId: executionId,
      action: "budget",
      summary,
      input: { ...asked, account },
      permissions: [],
      kind: "durable-pause"
    },
    inputHash: sha256(canonicalJson({ executionId, asked, account })),
    messageId,
    grant: { allowed: true },
    ...(dueAt !== null && state === "parked" && { expiresAt: dueAt })
  };
}

/** An error when anything is not what `ask` stored: what a person would agree to is not known. */
function decode(stored: unknown): Result<StoredQuestion, string> {
  if (!isObject(stored)) return err("it is not an object");
  const texts = ["turnId", "requestId", "messageId", "account", "summary"];
  if (!texts.every((name) => typeof stored[name] === "string")) return err("a text of it is missing");
  if (!["parked", "approved", "rejected"].includes(String(stored["state"]))) return err("its state is not known");
  if (!isAmount(stored["asked"]) || !Array.isArray(stored["limits"]) || !Array.isArray(stored["inputMessageIds"]))
    return err("its amount or limits are not what was stored");
  // Every field that is used was looked at; the rest is what `ask` stored beside them.
  return ok(stored as object as StoredQuestion);
}
