// The accounts of a tree of agents, kept by its root. What a call can cost at most is reserved in every account that it
// counts for, in one transaction: all of them have room, or the call is not made. What is reserved counts as spent until the
// call's outcome is known; of a process that died it stays spent, unless its outcome comes late.
import type { Clock, Sql } from "../../host/ports.ts";
import { TableSet } from "../../host/table-set.ts";
import { addSums, NOTHING, type Amount, type Sums } from "./amount.ts";
import type { Rates } from "./cost.ts";
import { fit, type CallSize, type Short } from "./fit.ts";
import { accountOf, describeSpent, type KeptLimit } from "./limits.ts";
import { ACCOUNT_KEPT_MS, KEPT_CALLS, BUDGET_TABLES } from "./tables.ts";

/** A call whose process says nothing for so long is taken for dead; what it reports later is still taken. */
const STALE_MS = 60 * 60_000;
/** Old rows are looked for with one call in so many. */
const SWEEP_EVERY = 100;

/** Plain data: a sub-agent sends it to the root. */
export interface ReserveRequest {
  readonly id: string;
  /** The path of the agent that calls, and its process. */
  readonly agent: string;
  readonly epoch: string;
  readonly turnId: string | null;
  readonly step: string;
  readonly provider: string;
  readonly model: string;
  readonly size: CallSize;
  readonly rates: Rates;
  readonly limits: readonly KeptLimit[];
}

export type ReserveAnswer =
  | {
      readonly is: "reserved";
      /** How long the answer may be, in tokens. */
      readonly output: number;
    }
  | {
      readonly is: "refused";
      /** The limit that the call does not fit into. */
      readonly limit: KeptLimit;
      readonly account: string;
      /** What it lacks, and what a person is asked for, in whole units of the limit. */
      readonly needed: number;
      readonly asked: number;
      readonly explanation: string;
      /** It would fit if calls that are under way had cost nothing. */
      readonly mayFitLater: boolean;
    };

export interface SettleRequest extends Sums {
  readonly id: string;
  /** The account that the caller reads then. */
  readonly counted: string | null;
}

export interface SpendRequest extends Sums {
  readonly id: string;
  readonly agent: string;
  readonly turnId: string | null;
  readonly name: string;
  readonly limits: readonly KeptLimit[];
}

export interface GrantRequest {
  /** Of the question: a grant that is sent again is the same grant. */
  readonly id: string;
  readonly account: string;
  readonly unit: Amount["unit"];
  readonly amount: number;
  readonly by: string | null;
}

/** An account as it stands. */
export interface Balance {
  readonly spent: Sums;
  /** By calls whose outcome is not known yet. */
  readonly reserved: Sums;
  readonly granted: Sums;
}

interface AccountRow {
  readonly account: string;
  readonly usd_spent: number;
  readonly tokens_spent: number;
  readonly usd_granted: number;
  readonly tokens_granted: number;
}

export interface CallRow {
  readonly number: number;
  readonly id: string;
  readonly state: "open" | "settled" | "assumed";
  readonly agent: string;
  readonly turn_id: string | null;
  readonly provider: string;
  readonly model: string;
  readonly accounts: string;
  readonly usd: number;
  readonly tokens: number;
  readonly at: number;
}

export interface LedgerInit {
  readonly sql: Sql;
  readonly clock: Pick<Clock, "now">;
  /** Of this process. */
  readonly epoch: string;
}

export class BudgetLedger {
  readonly #init: LedgerInit;
  readonly #table: TableSet;

  constructor(init: LedgerInit) {
    this.#init = init;
    this.#table = new TableSet(init.sql, BUDGET_TABLES);
  }

  get exists(): boolean {
    return this.#table.exists;
  }

  /** At a start: what calls of earlier processes have reserved is spent. */
  takeUp(): void {
    this.#assume(this.#open().filter((row) => row.root_epoch !== this.#init.epoch));
  }

  reserve(request: ReserveRequest): ReserveAnswer {
    const { agent, epoch, limits, size, rates, step } = request;
    return this.#table.transaction(() => {
      const nowMs = this.#init.clock.now();
      this.#assume(
        this.#open().filter((row) => (row.agent === agent && row.epoch !== epoch) || nowMs - row.at > STALE_MS)
      );
      const accounts = limits.map((limit) => accountOf(limit, { nowMs, step }));
      const balances = this.balances(accounts);
      const lefts = limits.map((limit, index) => ({ unit: limit.unit, left: leftOf(limit, balances[index]) }));
      const fitting = fit(size, rates, lefts);
      if (!fitting.fits) return this.#refusal(request, { ...fitting, accounts, balances });
      this.#insert(request, { state: "open", accounts, ...fitting.reserved });
      return { is: "reserved", output: fitting.output };
    });
  }

  /** What a call has used takes the place of what it had reserved. A second report changes nothing. */
  settle({ id, usd, tokens }: SettleRequest): void {
    this.#table.transaction(() => {
      const row = this.#find(id);
      if (!row || row.state === "settled") return;
      const before = row.state === "assumed" ? row : NOTHING;
      this.#table.change(
        "UPDATE cf_budget_calls SET state = 'settled', usd = ?, tokens = ?, settled_at = ? WHERE id = ?",
        ...[usd, tokens, this.#init.clock.now(), id]
      );
      this.#add(accountsOf(row), { usd: usd - before.usd, tokens: tokens - before.tokens });
    });
  }

  /** A cost of a tool's own. It is counted, also where there is no room for it: it has been spent. */
  spend(request: SpendRequest): void {
    const { id, usd, tokens, limits } = request;
    this.#table.transaction(() => {
      if (this.#find(id)) return;
      const nowMs = this.#init.clock.now();
      const accounts = limits.flatMap((limit) => (limit.per === "step" ? [] : [accountOf(limit, { nowMs, step: "" })]));
      const call = { ...request, epoch: this.#init.epoch, provider: "tool", model: request.name };
      this.#insert(call, { state: "settled", accounts, usd, tokens });
      this.#add([...new Set(accounts)], { usd, tokens });
    });
  }

  /** False: it was granted before. */
  grant({ id, account, unit, amount, by }: GrantRequest): boolean {
    const nowMs = this.#init.clock.now();
    return this.#table.transaction(() => {
      const { changed } = this.#table.run(
        "INSERT OR IGNORE INTO cf_budget_grants (id, account, unit, amount, granted_by, at) VALUES (?, ?, ?, ?, ?, ?)",
        ...[id, account, unit, amount, by, nowMs]
      );
      if (changed === 0) return false;
      // One of two columns, by a type.
      const column = unit === "usd" ? "usd_granted" : "tokens_granted";
      this.#table.run(
        `INSERT INTO cf_budget_accounts (account, ${column}, updated_at) VALUES (?, ?, ?)
         ON CONFLICT (account) DO UPDATE SET ${column} = ${column} + excluded.${column}, updated_at = excluded.updated_at`,
        ...[account, amount, nowMs]
      );
      return true;
    });
  }

  /** Of these accounts, in their order. */
  balances(accounts: readonly string[]): Balance[] {
    if (!this.exists) return accounts.map(() => EMPTY);
    const reserved = new Map<string, Sums>();
    for (const row of this.#open()) {
      for (const account of accountsOf(row)) reserved.set(account, addSums(reserved.get(account) ?? NOTHING, row));
    }
    return accounts.map((account) => {
      const row = this.#table.one<AccountRow>("SELECT * FROM cf_budget_accounts WHERE account = ?", account);
      return balanceOf(row, reserved.get(account));
    });
  }

  /** Reservations whose outcome is not known. */
  get openCount(): number {
    return this.#open().length;
  }

  /** Every account, the latest first. */
  accounts(limit: number): { readonly account: string; readonly balance: Balance }[] {
    const rows = this.#table.all<AccountRow>(
      "SELECT * FROM cf_budget_accounts ORDER BY updated_at DESC, account LIMIT ?",
      limit
    );
    const balances = this.balances(rows.map(({ account }) => account));
    return rows.map(({ account }, index) => ({ account, balance: balances[index] ?? EMPTY }));
  }

  /** Calls that stay known, the latest first. */
  calls(limit: number): CallRow[] {
    return this.#table.all<CallRow>("SELECT * FROM cf_budget_calls ORDER BY number DESC LIMIT ?", limit);
  }

  #refusal(
    { limits, size }: ReserveRequest,
    found: {
      short: readonly Short[];
      accounts: readonly string[];
      balances: readonly Balance[];
    }
  ): ReserveAnswer {
    // A person is asked only if a grant would help.
    const { place, needed, asked } = found.short.find((one) => limits[one.place]?.then === "stop") ??
      found.short[0] ?? { place: -1, needed: 0, asked: 0 };
    const limit = limits[place];
    const balance = found.balances[place] ?? EMPTY;
    // Without limits every call fits.
    if (!limit) return { is: "reserved", output: size.output };
    const { unit } = limit;
    const known = {
      spent: balance.spent[unit],
      reserved: balance.reserved[unit],
      most: limit.limit + balance.granted[unit]
    };
    return {
      is: "refused",
      limit,
      account: found.accounts[place] ?? limit.account,
      needed,
      asked,
      explanation: describeSpent(limit, known),
      mayFitLater: found.short.every((one) => one.needed <= reservedIn(limits[one.place], found.balances[one.place]))
    };
  }

  #insert(
    request: Pick<ReserveRequest, "id" | "agent" | "epoch" | "turnId" | "provider" | "model">,
    { state, accounts, usd, tokens }: Sums & Pick<CallRow, "state"> & { readonly accounts: readonly string[] }
  ): void {
    const nowMs = this.#init.clock.now();
    const { id, agent, epoch, turnId, provider, model } = request;
    this.#table.run(
      `INSERT INTO cf_budget_calls (id, state, agent, epoch, root_epoch, turn_id, provider, model, accounts, usd, tokens, at, settled_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[id, state, agent, epoch, this.#init.epoch, turnId, provider, model],
      ...[JSON.stringify([...new Set(accounts)]), usd, tokens, nowMs, state === "open" ? null : nowMs]
    );
    const { number = 0 } =
      this.#table.one<{ number: number }>("SELECT MAX(number) AS number FROM cf_budget_calls") ?? {};
    if (number % SWEEP_EVERY === 0) this.#sweep(number, nowMs);
  }

  /** What these calls have reserved counts as spent from now on. */
  #assume(rows: readonly OpenRow[]): void {
    if (rows.length === 0) return;
    this.#table.transaction(() => {
      for (const row of rows) {
        this.#table.change(
          "UPDATE cf_budget_calls SET state = 'assumed', settled_at = ? WHERE id = ?",
          this.#init.clock.now(),
          row.id
        );
        this.#add(accountsOf(row), row);
      }
    });
  }

  #add(accounts: readonly string[], { usd, tokens }: Sums): void {
    for (const account of accounts) {
      this.#table.run(
        `INSERT INTO cf_budget_accounts (account, usd_spent, tokens_spent, updated_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (account) DO UPDATE SET usd_spent = usd_spent + excluded.usd_spent,
           tokens_spent = tokens_spent + excluded.tokens_spent, updated_at = excluded.updated_at`,
        ...[account, usd, tokens, this.#init.clock.now()]
      );
    }
  }

  #open(): OpenRow[] {
    return this.#table.all<OpenRow>("SELECT * FROM cf_budget_calls WHERE state = 'open'");
  }

  #find(id: string): CallRow | undefined {
    return this.#table.one<CallRow>("SELECT * FROM cf_budget_calls WHERE id = ?", id);
  }

  #sweep(newest: number, nowMs: number): void {
    const before = nowMs - ACCOUNT_KEPT_MS;
    this.#table.change("DELETE FROM cf_budget_calls WHERE number <= ? AND state <> 'open'", newest - KEPT_CALLS);
    // Of conversations, and of keys without a period, there is no later account.
    this.#table.change(
      `DELETE FROM cf_budget_accounts WHERE updated_at < ? AND (account LIKE 'turn:%' OR account LIKE 'step:%' OR account GLOB '*:[0-9][0-9][0-9][0-9]-[0-9][0-9]*')
       AND account NOT LIKE 'conversation:%'`,
      before
    );
    this.#table.change(
      "DELETE FROM cf_budget_grants WHERE at < ? AND account NOT IN (SELECT account FROM cf_budget_accounts)",
      before
    );
  }
}

type OpenRow = CallRow & { readonly epoch: string; readonly root_epoch: string };

const EMPTY: Balance = { spent: NOTHING, reserved: NOTHING, granted: NOTHING };

function balanceOf(row: AccountRow | undefined, reserved: Sums = NOTHING): Balance {
  if (!row) return { ...EMPTY, reserved };
  return {
    spent: { usd: row.usd_spent, tokens: row.tokens_spent },
    reserved,
    granted: { usd: row.usd_granted, tokens: row.tokens_granted }
  };
}

function reservedIn(limit: KeptLimit | undefined, { reserved }: Balance = EMPTY): number {
  return limit ? reserved[limit.unit] : 0;
}

function leftOf({ unit, limit }: KeptLimit, { spent, reserved, granted }: Balance = EMPTY): number {
  return limit + granted[unit] - spent[unit] - reserved[unit];
}

function accountsOf({ accounts }: Pick<CallRow, "accounts">): string[] {
  // Written by `#insert` only.
  return JSON.parse(accounts) as string[];
}
