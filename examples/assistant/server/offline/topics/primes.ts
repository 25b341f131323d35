// Counting primes with the tool that reports its progress.
import { numberIn } from "../outcome.ts";
import type { Step } from "../plan.ts";
import { outcomeOfCall, trouble, type Topic } from "../topic.ts";

const TOOL = "count_primes";
const DEFAULT_BELOW = 200_000;

export const primes: Topic = {
  isAbout: ({ question }) => /\bprimes?\b/i.test(question),
  plan(asked) {
    const below = limitIn(asked.question);
    const count: Step = { text: `I count the primes below ${grouped(below)}.`, call: { tool: TOOL, input: { below } } };
    const outcome = outcomeOfCall(asked, TOOL);
    if (outcome === undefined || outcome.kind === "waiting") return [count];
    if (outcome.kind !== "done") return [count, { text: trouble("They could not be counted", outcome) }];
    const found = numberIn(outcome.value, "count") ?? 0;
    const largest = numberIn(outcome.value, "largest");
    const rest = largest === undefined ? "" : ` The largest of them is ${grouped(largest)}.`;
    return [count, { text: `There are **${grouped(found)}** primes below ${grouped(below)}.${rest}` }];
  }
};

/** "200000", "200,000", "200 000" or "2 million". */
function limitIn(question: string): number {
  const [, digits = "", unit = ""] = /(\d[\d,. ]*)\s*(million|thousand|k)?/i.exec(question) ?? [];
  const number = Number(digits.replace(/[^\d]/g, ""));
  const factor = /million/i.test(unit) ? 1_000_000 : unit === "" ? 1 : 1_000;
  return digits === "" ? DEFAULT_BELOW : number * factor;
}

function grouped(value: number): string {
  return value.toLocaleString("en-US");
}
