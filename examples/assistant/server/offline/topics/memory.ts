// Keeping something in the memory block, and telling what stands there.
import type { Step } from "../plan.ts";
import { outcomeOfCall, trouble, type Topic } from "../topic.ts";

const RECALL = /\b(what|do|can|did) (do )?you (still )?remember\b|\bwhat do you know about me\b|\bin your memory\b/i;
const REMEMBER = /\bremember\b[:,]?\s*(that\s+)?(.+)/is;

export const recall: Topic = {
  isAbout: ({ question }) => RECALL.test(question),
  plan: ({ memory }) => [
    {
      text:
        memory.length === 0
          ? "Nothing stands in my memory yet. Tell me to remember something."
          : `This stands in my memory:\n\n${memory.map((line) => `- ${line}`).join("\n")}`
    }
  ]
};

export const remember: Topic = {
  isAbout: ({ question }) => REMEMBER.test(question),
  plan(asked) {
    const content = (REMEMBER.exec(asked.question)?.[2] ?? "").trim();
    const keep: Step = { call: { tool: "set_context", input: { label: "memory", content, action: "append" } } };
    const outcome = outcomeOfCall(asked, "set_context");
    if (outcome === undefined || outcome.kind === "waiting") return [keep];
    if (outcome.kind !== "done") return [keep, { text: trouble("I could not keep it", outcome) }];
    // The tool never throws: it says so.
    const said = String(outcome.value);
    if (said.startsWith("Error:")) return [keep, { text: `I could not keep it. ${said}` }];
    return [keep, { text: `I wrote into my memory: “${content}” Ask me what I remember.` }];
  }
};
