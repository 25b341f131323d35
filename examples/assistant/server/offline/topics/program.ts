// A program in place of calls one by one: it reckons, takes a note, and waits for a person before it publishes.
import { fieldOf, textIn } from "../outcome.ts";
import type { Step } from "../plan.ts";
import { outcomeOfCall, trouble, type Topic } from "../topic.ts";

export const CODE_TOOL = "execute";
const NIGHTS = /(\d+)\s+nights?/i;
const LITRES = /(\d+)\s+lit(?:re|er)s?/i;

export const program: Topic = {
  isAbout: ({ question }) => /\bprogram\b/i.test(question),
  plan(asked) {
    const outcome = outcomeOfCall(asked, CODE_TOOL);
    // While it waits no tools are offered.
    if (outcome === undefined && !asked.tools.has(CODE_TOOL))
      return [{ text: "Programs need a loader to run in, and none is bound here." }];
    const [nights, litres] = [numberAfter(NIGHTS, asked.question, 12), numberAfter(LITRES, asked.question, 7)];
    const run: Step = {
      text: "I write a program for it.",
      call: { tool: CODE_TOOL, input: { code: codeFor(nights, litres) } }
    };
    if (outcome === undefined) return [run];
    if (outcome.kind === "waiting")
      return [
        run,
        { text: "The oil is reckoned and noted. Before the note goes on the board, somebody has to agree." }
      ];
    if (outcome.kind !== "done") return [run, { text: trouble("The program did not end well", outcome) }];
    return [run, { text: programSentence(outcome.value) }];
  }
};

/** Also said when a human has decided later. */
export function programSentence(value: unknown): string {
  const text = textIn(fieldOf(value, "result"), "text");
  return `The program has ended: “${text ?? "the note"}” is on the board now.`;
}

function codeFor(nights: number, litres: number): string {
  return `const oil = await tools.calculate({ expression: "${nights} * ${litres}" });
const text = \`Oil for ${nights} nights: \${oil.value} litres\`;
const note = await tools.take_note({ text });

// Everybody sees the board: a person is asked here.
await tools.publish_note({ id: note.id, text });
return { text };`;
}

function numberAfter(pattern: RegExp, question: string, otherwise: number): number {
  const found = pattern.exec(question)?.[1];
  return found === undefined ? otherwise : Number(found);
}
