// A tool that the model does not have: it writes an extension, a person approves it, and the next question uses it. Asked to
// improve it, it writes the next version.
import { fieldOf } from "../outcome.ts";
import type { Step } from "../plan.ts";
import { outcomeOfCall, trouble, type Asked, type Topic } from "../topic.ts";

const WRITE = /\b(write|make)\b.{0,20}\btool\b.*\bwind\b/i;
const IMPROVE = /\bimprove\b.{0,20}\btool\b/i;
const WIND = /\bwind of (\d+(?:\.\d+)?) knots\b/i;
const LOAD = "load_extension";
const BEAUFORT = "wind_beaufort";

const FIRST = `({
  tools: {
    beaufort: {
      description: "The force of a wind on the Beaufort scale.",
      parameters: { knots: { type: "number" } },
      required: ["knots"],
      execute: ({ knots }) => {
        const limits = [1, 4, 7, 11, 17, 22, 28, 34, 41, 48, 56, 64];
        const force = limits.filter((limit) => knots >= limit).length;
        return { force };
      }
    }
  }
})`;

const SECOND = FIRST.replace(
  "        return { force };",
  `        const names = ["calm", "light air", "light breeze", "gentle breeze", "moderate breeze", "fresh breeze",
          "strong breeze", "near gale", "gale", "strong gale", "storm", "violent storm", "hurricane force"];
        return { force, name: names[force] };`
);

export const writeWindTool: Topic = {
  isAbout: ({ question, tools }) => WRITE.test(question) && tools.has(LOAD),
  plan: (asked) => load(asked, { text: "I have no tool for that, so I write one.", version: "1.0.0", source: FIRST })
};

export const improveWindTool: Topic = {
  isAbout: ({ question, tools }) => IMPROVE.test(question) && tools.has(LOAD) && tools.has(BEAUFORT),
  plan: (asked) => load(asked, { text: "It can also name the wind.", version: "1.1.0", source: SECOND })
};

export const wind: Topic = {
  isAbout: ({ question, tools }) => WIND.test(question) && tools.has(BEAUFORT),
  plan(asked) {
    const knots = Number(WIND.exec(asked.question)?.[1]);
    const steps: Step[] = [{ text: "I have a tool for that.", call: { tool: BEAUFORT, input: { knots } } }];
    const outcome = outcomeOfCall(asked, BEAUFORT);
    if (outcome === undefined || outcome.kind === "waiting") return steps;
    if (outcome.kind !== "done") return [...steps, { text: trouble("The wind could not be judged", outcome) }];
    const name = fieldOf(outcome.value, "name");
    const named = typeof name === "string" ? `, a ${name}` : "";
    return [
      ...steps,
      { text: `A wind of ${knots} knots is force ${String(fieldOf(outcome.value, "force"))}${named}.` }
    ];
  }
};

function load(
  asked: Asked,
  { text, version, source }: { text: string; version: string; source: string }
): readonly Step[] {
  const description = "Judges winds.";
  const steps: Step[] = [{ text, call: { tool: LOAD, input: { name: "wind", version, description, source } } }];
  const outcome = outcomeOfCall(asked, LOAD);
  if (outcome === undefined || outcome.kind === "waiting") return steps;
  if (outcome.kind !== "done") return [...steps, { text: trouble("The tool was not loaded", outcome) }];
  const error = fieldOf(outcome.value, "error");
  const words =
    typeof error === "string"
      ? `The tool was not loaded: ${error}`
      : `Version ${version} of my tool is loaded. Ask me: How strong is a wind of 22 knots?`;
  return [...steps, { text: words }];
}
