// How long until New Year: thoughts, the clock, arithmetic, and an answer from the two results.
import { numberIn, textIn } from "../outcome.ts";
import type { Step } from "../plan.ts";
import { outcomeOfCall, trouble, type Topic } from "../topic.ts";

const DAY_MS = 86_400_000;

const LOOK: Step = {
  reasoning:
    "The question needs two things I do not have: today's date, and a subtraction I should not do in my head. The clock tool gives me the date. From it I get midnight of today and midnight of the first of January, both in milliseconds; their difference divided by the length of a day is the number of days. So: first the clock, then the calculator.",
  text: "I look at the clock first.",
  call: { tool: "now", input: {} }
};

export const newYear: Topic = {
  isAbout: ({ question }) => /\bnew year/i.test(question) || /\bthink it through\b/i.test(question),
  plan(asked) {
    const clock = outcomeOfCall(asked, "now");
    if (clock === undefined || clock.kind === "waiting") return [LOOK];
    if (clock.kind !== "done") return [LOOK, { text: trouble("I could not read the clock", clock) }];
    const date = textIn(clock.value, "date") ?? "";
    const today = Date.parse(date);
    const year = new Date(today).getUTCFullYear() + 1;
    const expression = `(${Date.UTC(year, 0, 1)} - ${today}) / ${DAY_MS}`;
    const subtract: Step = {
      text: `Today is ${textIn(clock.value, "weekday")}, ${date}. Now the difference.`,
      call: { tool: "calculate", input: { expression } }
    };
    const result = outcomeOfCall(asked, "calculate");
    if (result === undefined || result.kind === "waiting") return [LOOK, subtract];
    if (result.kind !== "done") return [LOOK, subtract, { text: trouble("I could not calculate it", result) }];
    const days = numberIn(result.value, "value") ?? 0;
    return [
      LOOK,
      subtract,
      { text: `**${days} ${days === 1 ? "day is" : "days are"} left** until 1 January ${year}.` }
    ];
  }
};
