// The limits that a class sets, and the accounts that they are about. A limit is data: a turn keeps those it began with, and
// its sub-agents inherit them. Which account a limit is about is known when a call is made: that of a day is the day's. Pure.
import { isObject, type Json } from "../../util/json.ts";
import { amountOf, isAmount, showAmount, unitsOf, type Amount } from "./amount.ts";
import { budgetErrors } from "./errors.ts";

/** What a limit is counted over. */
export type BudgetPer =
  /** One step of a turn: a model call with its retries. */
  | "step"
  /** A turn, with its steps, its tools' costs and its sub-agents' runs. */
  | "turn"
  /** This agent's conversation, for as long as the agent is there. */
  | "conversation"
  /** The calendar day of this agent. */
  | "day"
  /** A name of your own, such as a person's: one account for all agents of the tree. */
  | BudgetKey;

export interface BudgetKey {
  readonly key: string;
  /** The account begins anew with each day or month. Default: it never does. */
  readonly each?: "day" | "month";
}

export interface BudgetLimit {
  readonly per: BudgetPer;
  readonly limit: Amount;
  /** When a call does not fit. "stop" (default): the turn ends with what it has. "ask": it waits for a person to grant more. */
  readonly then?: "stop" | "ask";
  /** What a grant adds at least. Default: what the next call needs, with room for a longer prompt. */
  readonly grant?: Amount;
  /** In which days and months begin. Default: UTC. Take it from your own data: a client must not choose it. */
  readonly timeZone?: string;
}

/** A limit as it is kept. `account`: without the period. */
export interface KeptLimit {
  readonly account: string;
  readonly per: "step" | "turn" | "conversation" | "day" | "key";
  readonly each: "day" | "month" | null;
  readonly timeZone: string;
  readonly unit: Amount["unit"];
  /** In whole units. */
  readonly limit: number;
  readonly then: "stop" | "ask";
  readonly grant: number;
  /** Of a parent's turn. */
  readonly isInherited: boolean;
  /** It limits nothing: the account says what the turn costs. */
  readonly isForCounting?: true;
}

/** Where a limit is set. */
export interface LimitScope {
  /** The agent's path in its tree. */
  readonly agent: string;
  /** Undefined: for calls outside of turns, to which "turn" and "step" do not apply. */
  readonly turnId: string | undefined;
}

/** Limits that one turn may have, with those that it inherits. */
export const MAX_LIMITS = 32;
const MAX_KEY_CHARS = 200;

/** What `getBudgets()` returned. Throws LimitError: a limit that cannot be read must not be left out. */
export function readLimits(given: unknown, scope: LimitScope): KeptLimit[] {
  if (!Array.isArray(given)) throw budgetErrors.LimitError("getBudgets() must return a list");
  if (given.length > MAX_LIMITS) throw budgetErrors.LimitError(`there are more than ${MAX_LIMITS}`);
  return given.flatMap((limit: unknown) => {
    const kept = readLimit(limit, scope);
    return scope.turnId === undefined && (kept.per === "turn" || kept.per === "step") ? [] : [kept];
  });
}

/** The account of a turn, which every turn with a limit has. */
export function countingOf(turnId: string): KeptLimit {
  return {
    ...{ account: `turn:${turnId}`, per: "turn", each: null, timeZone: "UTC", unit: "usd", limit: UNLIMITED },
    ...{ then: "stop", grant: 0, isInherited: false, isForCounting: true }
  };
}

/** More than any account can come to. */
const UNLIMITED = 4e15;

function readLimit(given: unknown, scope: LimitScope): KeptLimit {
  if (!isObject(given)) throw budgetErrors.LimitError("it is not an object");
  const { per, limit, then = "stop", grant, timeZone = "UTC" } = given as Partial<BudgetLimit>;
  if (!isAmount(limit)) throw budgetErrors.LimitError("its limit is usd() or tokens()");
  if (then !== "stop" && then !== "ask") throw budgetErrors.LimitError('then is "stop" or "ask"');
  if (grant !== undefined && (!isAmount(grant) || grant.unit !== limit.unit))
    throw budgetErrors.LimitError("its grant is an amount of the unit of its limit");
  checkTimeZone(timeZone);
  return {
    ...readPer(per, scope),
    timeZone,
    unit: limit.unit,
    limit: unitsOf(limit, "down"),
    then,
    grant: grant === undefined ? 0 : unitsOf(grant, "down"),
    isInherited: false
  };
}

function readPer(per: unknown, { agent, turnId = "" }: LimitScope): Pick<KeptLimit, "account" | "per" | "each"> {
  if (per === "step" || per === "turn") return { account: `${per}:${turnId}`, per, each: null };
  if (per === "conversation") return { account: `conversation:${agent}`, per, each: null };
  if (per === "day") return { account: `day:${agent}`, per, each: "day" };
  if (!isObject(per)) throw budgetErrors.LimitError('per is "step", "turn", "conversation", "day" or { key }');
  const { key, each = null } = per as Partial<BudgetKey> & { each?: unknown };
  if (typeof key !== "string" || key === "" || key.length > MAX_KEY_CHARS)
    throw budgetErrors.LimitError(`a key has 1 to ${MAX_KEY_CHARS} characters`);
  if (each !== null && each !== "day" && each !== "month") throw budgetErrors.LimitError('each is "day" or "month"');
  return { account: `key:${key}`, per: "key", each };
}

function checkTimeZone(timeZone: unknown): void {
  try {
    if (typeof timeZone !== "string") throw new TypeError();
    dateIn(timeZone, 0);
  } catch {
    throw budgetErrors.LimitError(`"${String(timeZone)}" is no time zone`);
  }
}

/** As a sub-agent's turns have them: a step is the parent's own. */
export function inherited(limits: readonly KeptLimit[]): KeptLimit[] {
  return limits.filter(({ per }) => per !== "step").map((limit) => ({ ...limit, isInherited: true }));
}

/** What `inherited` gave, from another object of the tree. */
export function readInherited(given: Json): readonly KeptLimit[] {
  // Only agents of the package's own send it to each other.
  return Array.isArray(given) ? (given as readonly object[] as readonly KeptLimit[]) : [];
}

/** The account of a limit now. Of a step: of that step. */
export function accountOf({ account, per, each, timeZone }: KeptLimit, at: { nowMs: number; step: string }): string {
  if (per === "step") return `${account}:${at.step}`;
  if (each === null) return account;
  const date = dateIn(timeZone, at.nowMs);
  return `${account}:${each === "day" ? date : date.slice(0, 7)}`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** The calendar day, as YYYY-MM-DD. */
export function dateIn(timeZone: string, nowMs: number): string {
  let format = formats.get(timeZone);
  if (!format) {
    if (formats.size > 100) formats.clear();
    format = new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" });
    formats.set(timeZone, format);
  }
  return format.format(nowMs);
}

/** "spent $2.10 of $2.50 today" */
export function describeSpent(limit: KeptLimit, known: { spent: number; reserved: number; most: number }): string {
  const show = (units: number) => showAmount(amountOf(limit.unit, units));
  const held = known.reserved > 0 ? ` and ${show(known.reserved)} is reserved` : "";
  return `spent ${show(known.spent)} of ${show(known.most)}${held} ${describePer(limit)}`;
}

function describePer({ per, each, account }: KeptLimit): string {
  switch (per) {
    case "step":
      return "in this step";
    case "turn":
      return "in this turn";
    case "conversation":
      return "in this conversation";
    case "day":
      return "today";
    case "key":
      return `by ${account.slice("key:".length)}${each === null ? "" : each === "day" ? " today" : " this month"}`;
  }
}
