// A world of providers that charge, and of agents whose calls overlap, die and report what they like, around the ledger of
// production. What providers charged is counted here, apart from the ledger, and compared with every limit after each event.
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { Crash, createTables, MemorySql } from "../../journal/memory-sql.test-support.ts";
import type { ModelUsage } from "../../model/index.ts";
import { highestRates, spentOf, type ReservedCall } from "./cost.ts";
import { mostOf, type CallSize } from "./fit.ts";
import { BudgetLedger } from "./ledger.ts";
import { accountOf, type KeptLimit } from "./limits.ts";
import type { ModelPrice } from "./prices.ts";

const PLAIN: ModelPrice = { provider: "p", model: "plain", input: 1, output: 4 };
const PRICES: readonly ModelPrice[] = [
  PLAIN,
  { provider: "p", model: "cached", input: 3, output: 15, cachedInput: 0.3, cacheWrite: 6, reasoning: 20 },
  {
    ...{ provider: "p", model: "long", input: 1.25, output: 10 },
    longPrompt: { above: 3_000, input: 2.5, output: 15 }
  }
];
const ZONES = ["UTC", "Asia/Tokyo", "Pacific/Kiritimati", "America/Los_Angeles"];
const PEOPLE = ["ann", "bob"];
const AGENTS = 50;

/** How a provider reports what a call used. */
type Report = "true" | "missing" | "no-input" | "no-output" | "less" | "more" | "garbage";

export type Event =
  | {
      readonly do: "call";
      readonly agent: number;
      readonly model: number;
      readonly person: number;
      readonly zone: number;
      readonly prompt: number;
      readonly output: number;
    }
  /** All children at once. */
  | { readonly do: "burst"; readonly person: number; readonly prompt: number; readonly output: number }
  /** A call that is under way ends. `ignoresLimit`: the provider generated more than it was allowed to. */
  | {
      readonly do: "end";
      readonly which: number;
      readonly report: Report;
      readonly used: number;
      readonly ignoresLimit: boolean;
    }
  /** A sub-agent's process ends. Some of its calls report later all the same. */
  | { readonly do: "kill-agent"; readonly agent: number }
  | { readonly do: "late"; readonly which: number }
  /** The n-th write from now does not happen, and the process of the tree is gone. */
  | { readonly do: "crash"; readonly atWrite: number }
  | { readonly do: "restart" }
  | { readonly do: "clock"; readonly hours: number }
  | { readonly do: "grant"; readonly person: number; readonly amount: number }
  | { readonly do: "spend"; readonly person: number; readonly amount: number };

const report = fc.constantFrom<Report>("true", "missing", "no-input", "no-output", "less", "more", "garbage");
const index = (max: number) => fc.nat({ max: max - 1 });

export const events: fc.Arbitrary<Event[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant("call" as const),
        agent: index(AGENTS),
        model: index(PRICES.length),
        person: index(PEOPLE.length),
        zone: index(ZONES.length),
        prompt: fc.nat({ max: 6_000 }),
        output: fc.integer({ min: 1, max: 4_000 })
      })
    },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant("end" as const),
        which: fc.nat({ max: 60 }),
        report,
        used: fc.double({ min: 0, max: 1, noNaN: true }),
        ignoresLimit: fc.boolean()
      })
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("burst" as const),
        person: index(PEOPLE.length),
        prompt: fc.nat({ max: 1_000 }),
        output: fc.integer({ min: 1, max: 1_000 })
      })
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("kill-agent" as const), agent: index(AGENTS) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant("late" as const), which: fc.nat({ max: 60 }) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("crash" as const), atWrite: fc.integer({ min: 1, max: 8 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant("clock" as const), hours: fc.integer({ min: -30, max: 60 }) })
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("grant" as const),
        person: index(PEOPLE.length),
        amount: fc.integer({ min: 1, max: 20_000_000 })
      })
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("spend" as const),
        person: index(PEOPLE.length),
        amount: fc.integer({ min: 0, max: 5_000_000 })
      })
    }
  ),
  { maxLength: 40 }
);

interface Call {
  readonly id: string;
  readonly agent: number;
  readonly accounts: readonly { readonly account: string; readonly unit: "usd" | "tokens" }[];
  readonly reserved: ReservedCall;
  /** The most that was allowed. */
  readonly allowed: { usd: number; tokens: number };
  /** What the provider charges beyond what is entered is its own. */
  charged: { usd: number; tokens: number };
  entered: { usd: number; tokens: number };
  isUnderWay: boolean;
  /** Its process is gone; its outcome may still come. */
  isLost: boolean;
}

interface Expected {
  limit: number;
  /** Costs of tools, which are counted and not asked about. */
  spent: number;
}

/** Totals over all runs, for the table in the documentation. */
export interface Tally {
  runs: number;
  calls: number;
  refused: number;
  crashes: number;
  late: number;
  unreported: number;
}

export function newTally(): Tally {
  return { runs: 0, calls: 0, refused: 0, crashes: 0, late: 0, unreported: 0 };
}

const TABLES = ["cf_budget_accounts", "cf_budget_calls", "cf_budget_grants"];

/** One database for all runs: making tables takes longer than a run. */
let shared: DatabaseSync | undefined;

function emptyDatabase(): DatabaseSync {
  if (!shared) {
    shared = new DatabaseSync(":memory:");
    const sql = new MemorySql(shared);
    createTables(sql);
    new BudgetLedger({ sql, clock: { now: () => 0 }, epoch: "" }).grant({
      ...{ id: "first", account: "none", unit: "usd", amount: 0, by: null }
    });
  }
  for (const table of TABLES) shared.exec(`DELETE FROM ${table}`);
  return shared;
}

export class SimulatedWorld {
  readonly #database = emptyDatabase();
  readonly #tally: Tally;
  readonly #calls: Call[] = [];
  readonly #expected = new Map<string, Expected>();
  readonly #epochs = Array.from({ length: AGENTS }, () => 0);
  #sql = new MemorySql(this.#database);
  #ledger: BudgetLedger;
  #process = 0;
  #ids = 0;
  #nowMs = Date.UTC(2030, 0, 1, 12);

  constructor(tally: Tally) {
    this.#tally = tally;
    tally.runs += 1;
    this.#ledger = this.#boot();
  }

  play(all: readonly Event[]): void {
    for (const event of all) {
      try {
        this.#step(event);
      } catch (error) {
        if (!(error instanceof Crash)) throw error;
        this.#died();
      }
      this.#check();
    }
    this.#died();
    this.#check();
    if (this.#ledger.openCount > 0) throw new Error("a reservation was leaked");
    this.#checkSums();
  }

  #step(event: Event): void {
    switch (event.do) {
      case "call":
        return this.#call(event);
      case "burst":
        for (let agent = 0; agent < AGENTS; agent++) this.#call({ ...event, agent, model: 0, zone: 0 });
        return;
      case "end":
        return this.#end(event);
      case "kill-agent":
        this.#epochs[event.agent] = (this.#epochs[event.agent] ?? 0) + 1;
        return this.#lose(({ agent }) => agent === event.agent);
      case "late":
        return this.#late(event.which);
      case "crash":
        return this.#sql.crashAtWrite(event.atWrite);
      case "restart":
        return this.#died();
      case "clock":
        this.#nowMs += event.hours * 3_600_000;
        return;
      case "grant": {
        const account = `key:${PEOPLE[event.person]}`;
        // A second one with the same id is the same grant.
        const request = { id: `g${this.#ids++}`, account, unit: "usd", amount: event.amount, by: null } as const;
        this.#ledger.grant(request);
        this.#expect(account, 0).limit += event.amount;
        this.#ledger.grant(request);
        return;
      }
      case "spend":
        return this.#spend(event);
    }
  }

  #limits(person: number, zone: number): KeptLimit[] {
    const kept = { timeZone: ZONES[zone] ?? "UTC", then: "stop", grant: 0, isInherited: false } as const;
    const name = PEOPLE[person] ?? "";
    return [
      { ...kept, account: `key:${name}`, per: "key", each: null, unit: "usd", limit: 150_000_000 },
      { ...kept, account: `key:${name}-daily`, per: "key", each: "day", unit: "usd", limit: 70_000_000 },
      { ...kept, account: "conversation:root", per: "conversation", each: null, unit: "tokens", limit: 90_000 }
    ];
  }

  #call(event: Omit<Extract<Event, { do: "call" }>, "do">): void {
    const { agent, person, zone, prompt, output } = event;
    const price = PRICES[event.model] ?? PLAIN;
    const size: CallSize = { prompt, reasoning: 0, output };
    const limits = this.#limits(person, zone);
    const rates = highestRates(price, prompt);
    const id = `c${this.#ids++}`;
    const named = limits.map((limit) => ({
      account: accountOf(limit, { nowMs: this.#nowMs, step: "" }),
      unit: limit.unit,
      limit: limit.limit
    }));
    this.#tally.calls += 1;
    const answer = this.#ledger.reserve({
      ...{ id, agent: `a${agent}`, epoch: `e${this.#epochs[agent]}`, turnId: null, step: "0" },
      ...{ provider: "p", model: price.model, size, rates, limits }
    });
    if (answer.is === "refused") {
      this.#tally.refused += 1;
      return;
    }
    const most = mostOf(size, rates, answer.output);
    for (const { account, limit } of named) this.#expect(account, limit);
    this.#calls.push({
      ...{ id, agent, accounts: named, reserved: { prompt, output: answer.output, price } },
      // Once it is made, the provider charges, whatever becomes of this process; at first all that was allowed.
      allowed: most,
      charged: { ...most },
      entered: { ...most },
      isUnderWay: true,
      isLost: false
    });
  }

  #end({ which, report: how, used, ignoresLimit }: Extract<Event, { do: "end" }>): void {
    const underWay = this.#calls.filter((call) => call.isUnderWay && !call.isLost);
    const call = underWay[which % Math.max(1, underWay.length)];
    if (!call) return;
    const { prompt, output } = call.reserved;
    const inputTokens = Math.ceil(prompt * used);
    const outputTokens = ignoresLimit ? output * 2 : Math.ceil(output * used);
    const truth = usageOf(inputTokens, outputTokens);
    const charged = spentOf(call.reserved, truth);
    call.charged = { usd: charged.usd, tokens: charged.tokens };
    const said = reportOf(how, truth);
    if (said.inputTokens === undefined || said.outputTokens === undefined) this.#tally.unreported += 1;
    const { usd, tokens } = spentOf(call.reserved, said);
    this.#ledger.settle({ id: call.id, usd, tokens, counted: null });
    call.entered = { usd, tokens };
    call.isUnderWay = false;
    // Said twice, it counts once.
    this.#ledger.settle({ id: call.id, usd: usd + 1_000, tokens, counted: null });
  }

  #late(which: number): void {
    const lost = this.#calls.filter((call) => call.isUnderWay && call.isLost);
    const call = lost[which % Math.max(1, lost.length)];
    if (!call) return;
    this.#tally.late += 1;
    const spent = { usd: Math.floor(call.charged.usd / 2), tokens: Math.floor(call.charged.tokens / 2) };
    call.charged = spent;
    this.#ledger.settle({ id: call.id, ...spent, counted: null });
    call.entered = spent;
    call.isUnderWay = false;
  }

  #spend({ person, amount }: Extract<Event, { do: "spend" }>): void {
    const limits = this.#limits(person, 0);
    const named = limits.map((limit) => accountOf(limit, { nowMs: this.#nowMs, step: "" }));
    const request = {
      id: `s${this.#ids++}`,
      agent: "a0",
      turnId: null,
      name: "search",
      limits,
      usd: amount,
      tokens: 0
    };
    this.#ledger.spend(request);
    limits.forEach(({ limit, unit }, at) => {
      if (unit === "usd") this.#expect(named[at] ?? "", limit).spent += amount;
    });
    this.#ledger.spend(request);
  }

  #expect(account: string, limit: number): Expected {
    const known = this.#expected.get(account) ?? { limit: 0, spent: 0 };
    // A limit is the same whichever call names it first; grants were added before.
    if (limit > 0 && !this.#limited.has(account)) {
      this.#limited.add(account);
      known.limit += limit;
    }
    this.#expected.set(account, known);
    return known;
  }
  readonly #limited = new Set<string>();

  #lose(which: (call: Call) => boolean): void {
    for (const call of this.#calls) if (call.isUnderWay && which(call)) call.isLost = true;
  }

  #died(): void {
    this.#tally.crashes += 1;
    this.#lose(() => true);
    this.#epochs.forEach((epoch, agent) => (this.#epochs[agent] = epoch + 1));
    this.#sql = this.#sql.reboot();
    this.#ledger = this.#boot();
  }

  #boot(): BudgetLedger {
    const ledger = new BudgetLedger({
      sql: this.#sql,
      clock: { now: () => this.#nowMs },
      epoch: `p${this.#process++}`
    });
    ledger.takeUp();
    return ledger;
  }

  /** The promise: what providers charged stays below the limit, but for what they charged beyond what was allowed or reported. */
  #check(): void {
    for (const [account, { limit }] of this.#expected) {
      if (!this.#limited.has(account)) continue;
      let charged = 0;
      let beyond = 0;
      for (const call of this.#calls) {
        const unit = call.accounts.find((one) => one.account === account)?.unit;
        if (!unit) continue;
        charged += call.charged[unit];
        beyond += Math.max(0, call.charged[unit] - Math.min(call.entered[unit], call.allowed[unit]));
      }
      if (charged > limit + beyond)
        throw new Error(`${account}: ${charged} was charged, of ${limit} and ${beyond} beyond`);
    }
  }

  /** Every account holds what its calls were entered with. */
  #checkSums(): void {
    for (const [account, { spent }] of this.#expected) {
      const calls = this.#calls.filter((call) => call.accounts.some((one) => one.account === account));
      const usd = calls.reduce((sum, call) => sum + call.entered.usd, 0) + spent;
      const tokens = calls.reduce((sum, call) => sum + call.entered.tokens, 0);
      const [balance] = this.#ledger.balances([account]);
      const isTokens = account.startsWith("conversation:");
      const known = isTokens ? balance?.spent.tokens : balance?.spent.usd;
      if (known !== (isTokens ? tokens : usd))
        throw new Error(`${account} holds ${known}, not ${isTokens ? tokens : usd}`);
    }
  }
}

function usageOf(inputTokens: number | undefined, outputTokens: number | undefined): ModelUsage {
  const none = { totalTokens: undefined, reasoningTokens: undefined };
  return { ...none, inputTokens, outputTokens, cachedInputTokens: undefined, cacheWriteTokens: undefined };
}

function reportOf(how: Report, { inputTokens = 0, outputTokens = 0 }: ModelUsage): ModelUsage {
  switch (how) {
    case "true":
      return usageOf(inputTokens, outputTokens);
    case "missing":
    case "garbage":
      return usageOf(undefined, undefined);
    case "no-input":
      return usageOf(undefined, outputTokens);
    case "no-output":
      return usageOf(inputTokens, undefined);
    case "less":
      return usageOf(Math.floor(inputTokens / 3), 0);
    case "more":
      return usageOf(inputTokens * 3, outputTokens * 5);
  }
}
