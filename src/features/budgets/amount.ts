// Amounts of money and of tokens. An account is kept in whole numbers, so that sums are exact: tokens, and billionths of a
// dollar. Pure.
import { budgetErrors } from "./errors.ts";

export interface Amount {
  readonly unit: "usd" | "tokens";
  readonly amount: number;
}

/** Dollars of the United States. */
export function usd(amount: number): Amount {
  return checked({ unit: "usd", amount });
}

/** Tokens, of prompts and answers together. */
export function tokens(amount: number): Amount {
  return checked({ unit: "tokens", amount });
}

function checked(amount: Amount): Amount {
  const given = `${amount.amount} ${amount.unit}`;
  if (!isAmount(amount)) throw budgetErrors.AmountError(given);
  return amount;
}

/** More than any account holds: a dollar amount beyond would not be exact. */
const MOST: Readonly<Record<Amount["unit"], number>> = { usd: 1e6, tokens: 1e12 };

export function isAmount(value: unknown): value is Amount {
  if (typeof value !== "object" || value === null) return false;
  const { unit, amount } = value as Partial<Amount>;
  if (unit !== "usd" && unit !== "tokens") return false;
  return typeof amount === "number" && amount >= 0 && amount <= MOST[unit];
}

/** What is spent of both units. Whole numbers: billionths of a dollar, and tokens. */
export interface Sums {
  readonly usd: number;
  readonly tokens: number;
}

export const NOTHING: Sums = { usd: 0, tokens: 0 };

export function addSums(first: Sums, second: Sums): Sums {
  return { usd: first.usd + second.usd, tokens: first.tokens + second.tokens };
}

const UNITS_PER_USD = 1e9;

/** As it is kept. Rounded down for a limit, and up for what is spent. */
export function unitsOf({ unit, amount }: Amount, round: "down" | "up"): number {
  const exact = unit === "usd" ? amount * UNITS_PER_USD : amount;
  // A decimal fraction such as 0.1 has no exact double: what is a whole number but for that is that number.
  const nearest = Math.round(exact);
  if (Math.abs(exact - nearest) < 1e-3) return nearest;
  return round === "down" ? Math.floor(exact) : Math.ceil(exact);
}

export function amountOf(unit: Amount["unit"], units: number): Amount {
  return { unit, amount: unit === "usd" ? units / UNITS_PER_USD : units };
}

export function dollars(units: number): number {
  return units / UNITS_PER_USD;
}

/** As a person reads it: "$2.10", "$0.0004", "1,200 tokens". */
export function showAmount({ unit, amount }: Amount): string {
  if (unit === "tokens") return `${Math.ceil(amount).toLocaleString("en-US")} tokens`;
  const digits = amount === 0 || amount >= 0.01 ? 2 : 6;
  const text = amount.toFixed(digits);
  return `$${digits === 2 ? text : text.replace(/0+$/, "")}`;
}
