// Budgets in the life of an agent: the limits of each turn, the meter of its model calls, the questions of turns that wait, and,
// at the root of a tree, its accounts. A turn keeps the limits it began with: who asked is not known any more after a restart.
import type { LanguageModel, UIMessageChunk } from "ai";
import { currentContext } from "../../agent/context.ts";
import { runtimeOf } from "../../agent/runtime.ts";
import type { BudgetRole, TurnCost } from "../../feature/budget-contract.ts";
import type { Feature, Roles, TurnPart } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import { TableSet } from "../../host/table-set.ts";
import { pathKey } from "../../host/path.ts";
import { installedSdk, meterModel, type MeteredCall, type MeteredRun, type ModelObject } from "../../model/index.ts";
import type { TurnOutcome, TurnView } from "../../turn/turn.ts";
import { isObject, parseJson, type Json } from "../../util/json.ts";
import { amountOf, dollars, showAmount, unitsOf, type Amount } from "./amount.ts";
import { BudgetBook, OwnBook, type BookCommand } from "./book.ts";
import type { BudgetContext, BudgetMembers } from "./capability.ts";
import { BudgetAskedError, BudgetReachedError } from "./errors.ts";
import { BudgetLedger } from "./ledger.ts";
import { countingOf, inherited, readInherited, readLimits, type KeptLimit } from "./limits.ts";
import { BudgetQuestions } from "./questions.ts";
import type { CostReport } from "./report.ts";
import { BUDGET_TABLES, TURN_LIMIT_TABLES } from "./tables.ts";
import { TurnMeter, type BudgetRefusal, type TurnMeterInit } from "./turn-meter.ts";

/** Under which the limits of a parent's turn are kept. */
const PARENTS = "";

export class BudgetsFeature implements Feature {
  readonly name = "budgets";
  readonly tables = [...BUDGET_TABLES, ...TURN_LIMIT_TABLES];
  readonly approvals: BudgetQuestions;
  readonly roles: Partial<Roles>;
  readonly #services: ChatServices;
  readonly #agent: BudgetMembers & { readonly sendUsage?: boolean };
  readonly #epoch: string;
  readonly #ledger: BudgetLedger;
  readonly #own: OwnBook;
  readonly #book: BudgetBook;
  readonly #limits: TableSet;

  constructor(services: ChatServices) {
    this.#services = services;
    // Only agents with these members open it.
    this.#agent = services.agent as BudgetMembers;
    this.#epoch = services.ids.next();
    this.#ledger = new BudgetLedger({ sql: services.sql, clock: services.clock, epoch: this.#epoch });
    this.#own = new OwnBook(this.#ledger, services.clock);
    this.#book = new BudgetBook(services.agent, this.#own);
    this.#limits = new TableSet(services.sql, TURN_LIMIT_TABLES);
    this.approvals = new BudgetQuestions({
      services,
      book: this.#book,
      keepLimits: (turnId, limits) => this.#keep(turnId, limits)
    });
    const role: BudgetRole = {
      meter: (call) => this.#meterCall(call),
      limitsOf: (turnId) => this.#handDown(turnId),
      spend: (amount, spent) => this.spend(amount, spent),
      costOf: (turnId) => this.#costOf(turnId),
      waitingFor: (turnId) => this.approvals.waitingFor(turnId),
      dropQuestion: (turnId) => this.approvals.drop(turnId)
    };
    this.roles = { budgets: role };
  }

  start(): void {
    if (this.#ledger.exists) this.#ledger.takeUp();
    this.approvals.work.start();
  }

  ready(): void {
    this.#sweep();
    this.approvals.ready();
  }

  /** Of turns whose end was recorded by a process that died before it was said here. */
  #sweep(): void {
    for (const { turn_id: id } of this.#limits.all<{ turn_id: string }>("SELECT turn_id FROM cf_budget_limits")) {
      if (id !== PARENTS && !this.#services.turns.isTurnOpen(id))
        this.#limits.change("DELETE FROM cf_budget_limits WHERE turn_id = ?", id);
    }
  }

  stop(): void {
    this.approvals.work.stop();
  }

  nextWake(): number | null {
    return this.approvals.work.nextWake();
  }

  runDue(): Promise<void> {
    return this.approvals.work.runDue();
  }

  async inTurn(turn: TurnView): Promise<TurnPart | undefined> {
    // A preview calls no model.
    if (turn.turnId === "") return undefined;
    const limits = await this.#limitsOf(turn);
    if (limits.length === 0) return undefined;
    // What earlier attempts of it have spent.
    let spent = await this.#book.spent(countedAccount(limits));
    const meter = this.#newMeter(turn, limits, {
      refuse: (refusal) => this.#asked(turn, refusal, limits),
      counted: (sums) => (spent = sums)
    });
    return {
      meter: (call) => meter.begin(call),
      annotate: (chunk) => (this.#agent.sendUsage === true ? withCost(chunk, dollars(spent.usd)) : chunk)
    };
  }

  settled(turn: TurnView, outcome: TurnOutcome): void {
    this.approvals.turnSettled(turn, outcome);
    this.#limits.change("DELETE FROM cf_budget_limits WHERE turn_id = ?", turn.turnId);
  }

  cleared(): void {
    this.approvals.cleared();
    this.#limits.change("DELETE FROM cf_budget_limits WHERE turn_id <> ?", PARENTS);
  }

  /** From an agent of the tree. */
  answer(command: BookCommand): Promise<unknown> {
    return this.#own.ask(command);
  }

  /** Undefined: the turn had no limits. Also after its limits are gone: the account stays. */
  async #costOf(turnId: string): Promise<TurnCost | undefined> {
    // Without it no turn of this agent has had limits.
    if (!this.#limits.exists) return undefined;
    const { usd, tokens } = await this.#book.spent(`turn:${turnId}`);
    return tokens === 0 && usd === 0 ? undefined : { usd: dollars(usd), tokens };
  }

  /** The limits of a parent hold for every turn of this agent. */
  inherit(limits: Json): void {
    this.#keep(PARENTS, readInherited(limits));
  }

  report(): Promise<CostReport> {
    return this.#book.report();
  }

  /** The same model, each call of which counts. */
  budgeted(model: LanguageModel): ModelObject {
    const own = typeof model === "string" ? this.#services.overrides.resolveModel(model) : undefined;
    return meterModel(installedSdk().resolveModel(own ?? model), (call) => this.#meterCall(call));
  }

  /** A call that no step of a turn makes. */
  async #meterCall(call: MeteredCall): Promise<MeteredRun | undefined> {
    const turn = this.#services.turns.current();
    const limits = await this.#limitsOf(turn);
    return limits.length === 0 ? undefined : this.#newMeter(turn, limits).begin(call);
  }

  /** A cost that a tool has had. */
  async spend(amount: Amount, { id, name = "tool" }: { id?: string; name?: string } = {}): Promise<void> {
    const turn = this.#services.turns.current();
    const limits = await this.#limitsOf(turn);
    if (limits.length === 0) return;
    const units = unitsOf(amount, "up");
    await this.#book.spend({
      id: id === undefined ? this.#services.ids.next() : `${this.#path}:${id}`,
      ...{ agent: this.#path, turnId: turn?.turnId ?? null, name, limits },
      usd: amount.unit === "usd" ? units : 0,
      tokens: amount.unit === "tokens" ? units : 0
    });
  }

  // ── Limits ──

  /** As they were when the turn began, or for calls outside of turns as they are now. */
  async #limitsOf(turn: TurnView | undefined): Promise<readonly KeptLimit[]> {
    const kept = turn && this.#kept(turn.turnId);
    if (kept) return kept;
    const given: unknown = await this.#agent.getBudgets(contextOf(turn));
    const own = readLimits(given, { agent: this.#path, turnId: turn?.turnId });
    const limits = [...own, ...(this.#kept(PARENTS) ?? [])];
    if (limits.length === 0 || !turn) return limits;
    const all = [...limits, countingOf(turn.turnId)];
    this.#keep(turn.turnId, all);
    return all;
  }

  #kept(turnId: string): readonly KeptLimit[] | undefined {
    const row = this.#limits.one<{ limits: string }>("SELECT limits FROM cf_budget_limits WHERE turn_id = ?", turnId);
    const parsed = row && parseJson(row.limits);
    return parsed?.ok ? readInherited(parsed.value as Json) : undefined;
  }

  #keep(turnId: string, limits: readonly KeptLimit[]): void {
    this.#limits.run(
      "INSERT OR REPLACE INTO cf_budget_limits (turn_id, limits) VALUES (?, ?)",
      turnId,
      JSON.stringify(limits)
    );
  }

  /** For a sub-agent that works for a turn, or goes on with its work when that is over. */
  async #handDown(turnId: string | undefined): Promise<Json | undefined> {
    const limits = (turnId === undefined ? undefined : this.#kept(turnId)) ?? (await this.#limitsOf(undefined));
    return limits.length > 0 ? (inherited(limits) as readonly object[] as Json) : undefined;
  }

  get #path(): string {
    return pathKey(runtimeOf(this.#agent).identity.pathBelowRoot);
  }

  // ── Calls ──

  #newMeter(
    turn: TurnView | undefined,
    limits: readonly KeptLimit[],
    {
      refuse = (refusal) => new BudgetReachedError(explain(refusal)),
      counted
    }: Partial<Pick<TurnMeterInit, "refuse" | "counted">> = {}
  ): TurnMeter {
    return new TurnMeter({
      ...{ book: this.#book, agent: this.#path, epoch: this.#epoch, limits, refuse, counted },
      turnId: turn?.turnId ?? null,
      attempt: turn?.attempt ?? 0,
      prices: this.#agent.getPrices(),
      allowsUnpriced: this.#agent.budgetUnpricedModels === "allow",
      nextId: () => this.#services.ids.next()
    });
  }

  #asked(turn: TurnView, refusal: BudgetRefusal, limits: readonly KeptLimit[]): Error {
    const summary = refusal.limit.then === "ask" ? this.approvals.ask(turn, refusal, limits) : undefined;
    return summary === undefined ? new BudgetReachedError(explain(refusal)) : new BudgetAskedError(summary);
  }
}

/** The account that says what the turn costs. */
function countedAccount(limits: readonly KeptLimit[]): string {
  return limits.find(({ isForCounting }) => isForCounting)?.account ?? "";
}

/** The end of an answer with what it cost. */
function withCost(chunk: UIMessageChunk, usd: number): UIMessageChunk {
  if (chunk.type !== "finish") return chunk;
  const metadata = isObject(chunk.messageMetadata) ? chunk.messageMetadata : {};
  return { ...chunk, messageMetadata: { ...metadata, cost: { usd } } };
}

function explain({ limit, needed, explanation }: BudgetRefusal): string {
  return `the next step needs up to ${showAmount(amountOf(limit.unit, needed))} more; ${explanation}`;
}

function contextOf(turn: TurnView | undefined): BudgetContext {
  const { connection } = currentContext();
  if (!turn)
    return {
      turnId: undefined,
      requestId: undefined,
      trigger: undefined,
      channel: undefined,
      body: undefined,
      connection
    };
  const { turnId, requestId, trigger, channel, body } = turn;
  return { turnId, requestId, trigger, channel, body, connection };
}
