// What an answer took, in words: of classes with `sendUsage`, whose answers carry it. It comes over the wire, so its fields are
// looked at, not trusted. Pure.
import type { UIMessage } from "ai";

const counts = new Intl.NumberFormat("en-US");
/** Below a cent the first two digits that say something. */
const SMALL_DIGITS = 2;

/** "1,511 in · 17 out · $0.0021"; undefined: the answer does not say it. */
export function usageText({ metadata }: Pick<UIMessage, "metadata">): string | undefined {
  const usage = field(metadata, "usage");
  const [input, output] = [numberIn(usage, "inputTokens"), numberIn(usage, "outputTokens")];
  const usd = numberIn(field(metadata, "cost"), "usd");
  const words = [
    ...(input === undefined ? [] : [`${counts.format(input)} in`]),
    ...(output === undefined ? [] : [`${counts.format(output)} out`]),
    ...(usd === undefined ? [] : [dollarText(usd)])
  ];
  return words.length === 0 ? undefined : words.join(" · ");
}

function dollarText(usd: number): string {
  if (usd === 0 || usd >= 0.01) return `$${usd.toFixed(2)}`;
  const digits = SMALL_DIGITS - 1 - Math.floor(Math.log10(usd));
  return digits > 9 ? "below $0.000000001" : `$${usd.toFixed(digits)}`;
}

function numberIn(value: unknown, name: string): number | undefined {
  const found = field(value, name);
  return typeof found === "number" && Number.isFinite(found) && found >= 0 ? found : undefined;
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
