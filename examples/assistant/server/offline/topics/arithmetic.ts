// An expression in the question is handed to the calculator.
import { numberIn } from "../outcome.ts";
import type { Step } from "../plan.ts";
import { outcomeOfCall, trouble, type Topic } from "../topic.ts";

const ASKS = /\b(what('s| is)|calculate|compute|how much is|evaluate)\b|=|^[\s\d(.]/i;
const OPERATION = /[\d)]\s*[-+*/%^]\s*[-+(]*\s*[\d.]/;

export const arithmetic: Topic = {
  isAbout: ({ question }) => ASKS.test(question) && OPERATION.test(expressionIn(question)),
  plan(asked) {
    const expression = expressionIn(asked.question);
    const compute: Step = { call: { tool: "calculate", input: { expression } } };
    const outcome = outcomeOfCall(asked, "calculate");
    if (outcome === undefined || outcome.kind === "waiting") return [compute];
    if (outcome.kind !== "done") return [compute, { text: trouble(`I cannot calculate \`${expression}\``, outcome) }];
    return [compute, { text: `\`${expression}\` is **${numberIn(outcome.value, "value")}**.` }];
  }
};

/** The longest run of numbers and operators. */
function expressionIn(question: string): string {
  const runs =
    question
      .replaceAll("×", "*")
      .replaceAll("÷", "/")
      .match(/[-+*/%^().\d\s]+/g) ?? [];
  const longest = runs.toSorted((a, b) => b.trim().length - a.trim().length)[0] ?? "";
  // The sentence's own full stop is not part of it.
  return longest.trim().replace(/\.$/, "").trim();
}
