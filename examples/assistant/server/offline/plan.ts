// An answer as a plan: steps, each of them what one call of the model says. What is still to be said is decided from the
// part of the answer that is there, so a model without memory can go on after a crash and end with the same text. Pure.
import type { AnswerPart, Call } from "./conversation.ts";

/** Thoughts, then words, then one call, or a failure. */
export interface Step {
  readonly reasoning?: string;
  readonly text?: string;
  readonly call?: { readonly tool: string; readonly input: object };
  /** A second call at the same time. The plan has it again as the next step, for an answer that was cut between the two. */
  readonly alongside?: { readonly tool: string; readonly input: object };
  /** The model breaks after the words. */
  readonly fails?: true;
}

/** A call that was cut off by a crash is made again, this many times. */
const MAX_REPEATS = 3;
/** Except what may have taken effect and cannot be taken back, as far as the model knows: that is a person's to look at. */
const NEVER_REPEATED = /^(delete_note$|tool_)/;

/** What is left of the step that the answer has reached; empty when all was said. */
export function remaining(steps: readonly Step[], answer: readonly AnswerPart[]): Step {
  let index = 0;
  let said = "";
  for (const part of settledParts(answer)) {
    if (part.type === "text") {
      said += part.text;
    } else {
      index += 1;
      said = "";
    }
  }
  const step = steps[index];
  if (step === undefined) return {};
  const { reasoning, text = "", ...rest } = step;
  // Words that are not of this plan were another model's: it is told whole.
  const left = text.startsWith(said) ? text.slice(said.length) : text;
  return {
    ...rest,
    // Thoughts are done once they led to something.
    ...(reasoning !== undefined && said === "" && { reasoning }),
    ...(left !== "" && { text: left })
  };
}

/** The newest call of a tool in an answer, apart from those that will be made again. */
export function lastCall(answer: readonly AnswerPart[], tool: string): Call | undefined {
  return settledParts(answer).findLast((part): part is AnswerPart & { type: "call" } => {
    return part.type === "call" && part.tool === tool;
  });
}

function settledParts(answer: readonly AnswerPart[]): AnswerPart[] {
  const interrupted = new Map<string, number>();
  return answer.filter((part) => {
    if (part.type === "text" || part.outcome?.kind !== "interrupted" || NEVER_REPEATED.test(part.tool)) return true;
    const times = (interrupted.get(part.tool) ?? 0) + 1;
    interrupted.set(part.tool, times);
    return times > MAX_REPEATS;
  });
}
