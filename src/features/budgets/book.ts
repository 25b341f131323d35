// Where an agent's calls are entered: the ledger of its tree. At the root that is its own; a sub-agent asks the root, with
// plain data. A call that would fit if others under way had cost nothing waits for them a while.
import { runtimeOf } from "../../agent/runtime.ts";
import type { Invoked } from "../../agent/tree/internal.ts";
import { happensWithin } from "../../host/deadline.ts";
import type { Clock } from "../../host/ports.ts";
import { budgetErrors } from "./errors.ts";
import type {
  BudgetLedger,
  GrantRequest,
  ReserveAnswer,
  ReserveRequest,
  SettleRequest,
  SpendRequest
} from "./ledger.ts";
import { reportCosts, type CostReport } from "./report.ts";
import type { Sums } from "./amount.ts";

/** How long a call waits for others under way. */
const WAIT_MS = 60_000;

export type BookCommand =
  | { readonly do: "reserve"; readonly request: ReserveRequest }
  | { readonly do: "settle"; readonly request: SettleRequest }
  | { readonly do: "spend"; readonly request: SpendRequest }
  | { readonly do: "grant"; readonly request: GrantRequest }
  | { readonly do: "read"; readonly account: string }
  | { readonly do: "report" };

/** The root's side. */
export class OwnBook {
  readonly #ledger: BudgetLedger;
  readonly #clock: Clock;
  #released = Promise.withResolvers<void>();

  constructor(ledger: BudgetLedger, clock: Clock) {
    this.#ledger = ledger;
    this.#clock = clock;
  }

  async ask(command: BookCommand): Promise<unknown> {
    switch (command.do) {
      case "reserve":
        return this.#reserve(command.request);
      case "settle":
        this.#ledger.settle(command.request);
        this.#release();
        return command.request.counted === null ? undefined : this.#spent(command.request.counted);
      case "spend":
        return this.#ledger.spend(command.request);
      case "grant":
        this.#ledger.grant(command.request);
        return this.#release();
      case "read":
        return this.#spent(command.account);
      case "report":
        return reportCosts(this.#ledger, this.#clock.now());
    }
  }

  async #reserve(request: ReserveRequest): Promise<ReserveAnswer> {
    const until = this.#clock.now() + WAIT_MS;
    for (;;) {
      const released = this.#released.promise;
      const answer = this.#ledger.reserve(request);
      const leftMs = until - this.#clock.now();
      if (answer.is === "reserved" || !answer.mayFitLater || leftMs <= 0 || leftMs > WAIT_MS) return answer;
      await happensWithin(leftMs, released, this.#clock);
    }
  }

  #spent(account: string): Sums | undefined {
    return this.#ledger.balances([account])[0]?.spent;
  }

  #release(): void {
    this.#released.resolve();
    this.#released = Promise.withResolvers<void>();
  }
}

export class BudgetBook {
  readonly #agent: object;
  readonly #own: OwnBook;

  constructor(agent: object, own: OwnBook) {
    this.#agent = agent;
    this.#own = own;
  }

  async reserve(request: ReserveRequest): Promise<ReserveAnswer> {
    return (await this.#ask({ do: "reserve", request })) as ReserveAnswer;
  }

  /** Answers what the account that is asked for has spent. */
  async settle(request: SettleRequest): Promise<Sums | undefined> {
    return (await this.#ask({ do: "settle", request })) as Sums | undefined;
  }

  async spend(request: SpendRequest): Promise<void> {
    await this.#ask({ do: "spend", request });
  }

  async grant(request: GrantRequest): Promise<void> {
    await this.#ask({ do: "grant", request });
  }

  /** What an account has spent. */
  async spent(account: string): Promise<Sums> {
    return (await this.#ask({ do: "read", account })) as Sums;
  }

  async report(): Promise<CostReport> {
    return (await this.#ask({ do: "report" })) as CostReport;
  }

  /** Each command is answered with what its method returns. */
  async #ask(command: BookCommand): Promise<unknown> {
    // Only agents open it.
    const { identity, tree } = runtimeOf(this.#agent);
    if (!identity.isFacet) return this.#own.ask(command);
    try {
      return ((await tree.askRoot({ op: "invoke", method: "askBudgets", args: [command] })) as Invoked).result;
    } catch (error) {
      throw budgetErrors.AccountUnreachableError(error);
    }
  }
}
