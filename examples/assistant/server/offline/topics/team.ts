// A question for two colleagues at once, and what the colleagues themselves say. The assistant's answer is made of what
// came back.
import { type Asked, outcomeOfCall, trouble, type Topic } from "../topic.ts";
import type { Step } from "../plan.ts";

const ASKS = /\bask (the|your) (team|researcher|critic)\b/i;

export const team: Topic = {
  isAbout: ({ question, tools }) => ASKS.test(question) && tools.has("ask_researcher"),
  plan(asked) {
    const input = { question: questionIn(asked.question) };
    const researcher = { tool: "ask_researcher", input };
    const critic = { tool: "ask_critic", input };
    // Both at once. Should only the first have been made before a crash, the second step makes the other.
    const steps: Step[] = [
      { text: "I ask the researcher and the critic at the same time. ", call: researcher, alongside: critic },
      { call: critic }
    ];
    const found = outcomeOfCall(asked, "ask_researcher");
    const objected = outcomeOfCall(asked, "ask_critic");
    if (!found || !objected) return steps;
    const text = [
      `**The researcher** says: ${lastSentence(asked, "ask_researcher")}`,
      `**The critic** says: ${lastSentence(asked, "ask_critic")}`,
      "Taken together: keep the light, and be clear about what the keeper is for."
    ].join("\n\n");
    return [...steps, { text }];
  }
};

const RESEARCH = `**The light itself needs nobody.** Lamps have been lit by timers since the 1960s, and a modern LED beacon runs for years on a solar panel. Almost every lighthouse in Europe and North America is automated today.

**What people did besides is what is missed.** Keepers reported the weather, watched for boats in trouble, and noticed when a buoy had drifted. Several services have since paid volunteers to do just that.

**The buildings age without eyes on them.** Salt gets into brickwork within one winter, and a broken pane that is found in spring has often cost a ceiling.

In short: the lamp does not need a keeper, but the coast and the tower do.`;

const CRITIQUE = `**The strongest objection:** ships no longer steer by lights. A satellite fix is better in fog than any lamp, so money for a keeper is money not spent on charts and radios.

**The weakest objection:** that automation never fails. It does, and mostly in the storms in which it is needed.

**What would change my mind:** a year of records that shows how often a person on the spot made a difference.

In short: a keeper is a fine idea that nobody has yet measured.`;

export const research: Topic = {
  isAbout: ({ question }) => question.startsWith("Research this:"),
  plan: () => [{ reasoning: "I look at the lamp, the people and the building in turn.", text: RESEARCH }]
};

export const critique: Topic = {
  isAbout: ({ question }) => question.startsWith("Criticise this:"),
  plan: () => [{ reasoning: "First what speaks against it most, then what does least.", text: CRITIQUE }]
};

/** What follows "whether" or "about", or the question itself. */
function questionIn(question: string): string {
  return /\b(?:whether|about)\s+(.+?)[.?]?$/i.exec(question)?.[1] ?? question;
}

function lastSentence(asked: Asked, tool: string): string {
  const outcome = outcomeOfCall(asked, tool);
  if (outcome === undefined || outcome.kind === "waiting") return "nothing yet.";
  if (outcome.kind !== "done") return trouble("No answer came back", outcome);
  const report = typeof outcome.value === "string" ? outcome.value : "";
  const summary = report.split("In short: ").at(-1) ?? "";
  return summary === "" ? "nothing." : summary;
}
