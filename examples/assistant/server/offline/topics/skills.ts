// Skills: a passage that is planned with a script of a skill, and an entry of the log after a skill's rules.
import { fieldOf, textIn } from "../outcome.ts";
import type { Step } from "../plan.ts";
import { outcomeOfCall, trouble, type Asked, type Topic } from "../topic.ts";

const PASSAGE = /\bpassage\b.*?\bfrom ([\p{L}]+)(?: via ([\p{L}]+))? to ([\p{L}]+)(?:.*?(\d+(?:\.\d+)?) knots)?/iu;
const ENTRY = /\b(entry|line)\b.{0,30}\blog\b/i;
const DEFAULT_KNOTS = 5;

export const passage: Topic = {
  isAbout: ({ question, tools }) => PASSAGE.test(question) && tools.has("activate_skill"),
  plan(asked) {
    const [, from = "", via, to = "", knots] = PASSAGE.exec(asked.question) ?? [];
    const harbours = [from, via, to].filter((name) => name !== undefined);
    const input = { harbours, knots: knots === undefined ? DEFAULT_KNOTS : Number(knots) };
    const script = { name: "passage-plan", path: "scripts/legs.ts", input };
    return follow(
      asked,
      [
        { text: "There is a skill for that.", call: { tool: "activate_skill", input: { name: "passage-plan" } } },
        { text: "It has a script for the distances.", call: { tool: "run_skill_script", input: script } }
      ],
      planText
    );
  }
};

export const logEntry: Topic = {
  isAbout: ({ question, tools }) => ENTRY.test(question) && tools.has("activate_skill"),
  plan: (asked) =>
    follow(
      asked,
      [
        { text: "The log has rules.", call: { tool: "activate_skill", input: { name: "ship-log" } } },
        { text: "First the time.", call: { tool: "now", input: {} } }
      ],
      (value) =>
        `**${textIn(value, "date") ?? ""} ${textIn(value, "time") ?? ""} UTC**\n\nVis good, Bar 1013, W Bt 3.\n\nAt anchor.\n\nWatch relieved.`
    )
};

type CallStep = Step & Required<Pick<Step, "call">>;

/** One call after the other, each when the one before it is done, then words on the last one's value. */
function follow(asked: Asked, plan: readonly CallStep[], last: (value: unknown) => string): Step[] {
  const steps: Step[] = [];
  let value: unknown;
  for (const step of plan) {
    steps.push(step);
    const outcome = outcomeOfCall(asked, step.call.tool);
    if (outcome === undefined || outcome.kind === "waiting") return steps;
    if (outcome.kind !== "done") return [...steps, { text: trouble("That did not work", outcome) }];
    value = outcome.value;
  }
  return [...steps, { text: last(value) }];
}

/** A script that failed says why in words. */
function planText(value: unknown): string {
  const legs = fieldOf(value, "legs");
  if (!Array.isArray(legs)) return `The passage cannot be planned. ${String(value)}`;
  const cell = (leg: unknown, name: string) => String(fieldOf(leg, name) ?? "");
  const rows = legs.map((leg) => {
    const degrees = cell(leg, "course").padStart(3, "0");
    return `| ${cell(leg, "from")} | ${cell(leg, "to")} | ${cell(leg, "miles")} | ${degrees}° | ${cell(leg, "hours")} |`;
  });
  const table = ["| From | To | Nautical miles | Course | Hours |", "|---|---|---:|---:|---:|", ...rows].join("\n");
  const total = `**${String(fieldOf(value, "totalMiles"))} miles, ${String(fieldOf(value, "totalHours"))} hours** at ${String(fieldOf(value, "knots"))} knots.`;
  return `${table}\n\n${total} These are straight lines: the way around islands is longer.`;
}
