// The question of a turn that stands still because a budget has no room, as the agent lists it. It comes over the wire, so its
// fields are looked at, not trusted. Pure.

export interface BudgetQuestion {
  readonly executionId: string;
  readonly inputHash: string | undefined;
  /** "needs $0.40 more", and "spent $2.10 of $2.50 by ann today". */
  readonly needs: string;
  readonly spent: string | undefined;
  readonly unit: "usd" | "tokens";
  /** What would be granted. */
  readonly amount: number;
  /** How much of the limit is spent, from 0 to 1; undefined: the sentence does not say it. */
  readonly share: number | undefined;
}

/** Of what `pendingApprovals` lists. */
export function budgetQuestions(waiting: unknown): BudgetQuestion[] {
  return Array.isArray(waiting) ? waiting.flatMap((one: unknown) => questionOf(one) ?? []) : [];
}

function questionOf(question: unknown): BudgetQuestion | undefined {
  if (field(question, "source") !== "budget") return undefined;
  const [executionId, inputHash] = [field(question, "executionId"), field(question, "inputHash")];
  const descriptor = field(question, "descriptor");
  const [summary, input] = [field(descriptor, "summary"), field(descriptor, "input")];
  const [unit, amount] = [field(input, "unit"), field(input, "amount")];
  if (typeof executionId !== "string" || typeof summary !== "string" || typeof amount !== "number") return undefined;
  const [needs = summary, ...rest] = summary.split("; ");
  const spent = rest.length === 0 ? undefined : rest.join("; ");
  return {
    executionId,
    inputHash: typeof inputHash === "string" ? inputHash : undefined,
    needs,
    spent,
    unit: unit === "tokens" ? "tokens" : "usd",
    amount,
    share: spent === undefined ? undefined : shareIn(spent)
  };
}

function shareIn(spent: string): number | undefined {
  const [, used = "", limit = ""] = /spent \$?([\d.,]+).*? of \$?([\d.,]+)/.exec(spent) ?? [];
  const [part, whole] = [used, limit].map((text) => Number(text.replaceAll(",", "")));
  return part === undefined || !whole || !Number.isFinite(part / whole) ? undefined : Math.min(1, part / whole);
}

/** "0.40" of dollars, "5000" of tokens, as a person writes it. */
export function amountText({ unit, amount }: Pick<BudgetQuestion, "unit" | "amount">): string {
  return unit === "usd" ? (Math.ceil(amount * 100) / 100).toFixed(2) : String(Math.ceil(amount));
}

/** What was written, if it is an amount that can be granted. */
export function readAmount(text: string): number | undefined {
  const amount = Number(text.replace(",", "."));
  return text.trim() !== "" && Number.isFinite(amount) && amount > 0 ? amount : undefined;
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
