// The window of the page, by a tool that runs there.
import { numberIn, textIn } from "../outcome.ts";
import { outcomeOfCall, trouble, type Asked, type Topic } from "../topic.ts";
import type { Step } from "../plan.ts";

const TOOL = "browser_info";

export const browser: Topic = {
  isAbout: ({ question }) => /\b(browser|window|screen|viewport)\b/i.test(question),
  plan(asked) {
    const outcome = outcomeOfCall(asked, TOOL);
    if (outcome === undefined && !isCalled(asked) && !asked.tools.has(TOOL)) {
      return [
        { text: "I would have to ask your page, and it offers me no tool for that. Open the demo in a browser." }
      ];
    }
    const look: Step = { text: "I ask your page.", call: { tool: TOOL, input: {} } };
    if (outcome === undefined || outcome.kind === "waiting") return [look];
    if (outcome.kind !== "done") return [look, { text: trouble("Your page could not tell me", outcome) }];
    return [look, { text: described(outcome.value) }];
  }
};

function isCalled({ answer }: Asked): boolean {
  return answer.some((part) => part.type === "call" && part.tool === TOOL);
}

function described(info: unknown): string {
  const [width, height] = [numberIn(info, "width"), numberIn(info, "height")];
  const sentences = [
    width !== undefined && height !== undefined && `Your window is **${width} × ${height}** pixels.`,
    textIn(info, "timeZone") && `Your time zone is **${textIn(info, "timeZone")}**.`,
    textIn(info, "language") && `Your browser speaks ${textIn(info, "language")}.`,
    textIn(info, "theme") && `The page is shown in its ${textIn(info, "theme")} theme.`
  ];
  return sentences.filter(Boolean).join(" ") || "Your page answered, and told me nothing.";
}
