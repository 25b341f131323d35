import { generateText, isStaticToolUIPart, Output, type UIMessage } from "ai";
import { createTestHost } from "everthink/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { judgeModel, Support } from "./evaluated.ts";

const CASES = [
  { question: "Where is order 17?", calls: "findOrder", rubric: "Says that order 17 was sent on Monday." },
  { question: "Write me a poem.", calls: undefined, rubric: "Declines politely, and offers help with orders." }
];
const RUNS = 3;
/** Models are not the same twice: how many of the runs must pass. */
const PASSES = 2;

test.each(CASES)(
  "$question",
  async ({ question, calls, rubric }) => {
    const grades = await Promise.all(Array.from({ length: RUNS }, () => grade(question, calls, rubric)));
    const reasons = grades.map(({ why }) => why).join("\n");
    expect(grades.filter(({ isGood }) => isGood).length, reasons).toBeGreaterThanOrEqual(PASSES);
  },
  120_000
);

async function grade(question: string, calls: string | undefined, rubric: string) {
  const host = createTestHost({ agents: { Support } });
  const support = await host.get(Support, "eval");
  const { status } = await support.runTurn({ input: question });
  const messages: UIMessage[] = await support.getMessages();
  const parts = messages.at(-1)?.parts ?? [];
  const called = parts.filter(isStaticToolUIPart).map(({ type }) => type.replace("tool-", ""));
  if (status !== "completed") return { isGood: false, why: `The turn ended with ${status}.` };
  if (calls !== undefined && !called.includes(calls)) return { isGood: false, why: `It did not call ${calls}.` };
  const answer = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const { output } = await generateText({
    model: judgeModel(),
    output: Output.object({ schema: z.object({ isGood: z.boolean(), why: z.string() }) }),
    prompt: `Does the answer meet the rubric?\nQuestion: ${question}\nAnswer: ${answer}\nRubric: ${rubric}`
  });
  return output;
}
