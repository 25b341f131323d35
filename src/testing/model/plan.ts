// What a planned model still has to say, decided from the prompt alone: which question is open, which of its planned
// words the answer already holds, which calls were already made. Pure but for call ids, so an agent that was killed and asks again with
// a partial answer gets exactly the rest.
import { reasoning, text, toolCall } from "./content.ts";
import { ScriptError } from "./errors.ts";
import type { PromptMessage, PromptPart } from "./recorded-call.ts";
import type { ScriptPart } from "./script-part.ts";
import { splitText } from "./split-text.ts";
import { reply, type Reply } from "./step.ts";

export interface PlannedCall {
  readonly tool: string;
  readonly input?: unknown;
}

/** One model call's worth: thoughts, then words, then calls. Several calls in one step are parallel. */
export interface PlannedStep {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly PlannedCall[];
}

/** The whole answer to one question. A function may look at the prompt, such as at a system text set for the turn. */
export type AnswerPlan = readonly PlannedStep[] | ((prompt: readonly PromptMessage[]) => readonly PlannedStep[]);

/** Answers by the exact text of the question. */
export type AnswerPlans = Readonly<Record<string, AnswerPlan>>;

/** What is left of the current step of the planned answer, in pieces of about `pieceLength` characters. */
export function planReply(plans: AnswerPlans, prompt: readonly PromptMessage[], pieceLength: number): Reply {
  const { plan, answer } = openQuestion(plans, prompt);
  const walk = new PlanWalk(typeof plan === "function" ? plan(prompt) : plan);
  for (const part of answer) walk.take(part);
  return reply(walk.rest(pieceLength));
}

/**
 * The newest user message that has a plan, and what was answered since. Newer user messages without a plan are
 * instructions, such as to go on with a partial answer.
 */
function openQuestion(
  plans: AnswerPlans,
  prompt: readonly PromptMessage[]
): { plan: AnswerPlan; answer: PromptPart[] } {
  for (let index = prompt.length - 1; index >= 0; index -= 1) {
    const message = prompt[index];
    if (message?.role !== "user") continue;
    const question = message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
    const plan = Object.hasOwn(plans, question) ? plans[question] : undefined;
    if (plan === undefined) continue;
    const later = prompt.slice(index + 1);
    return { plan, answer: later.flatMap((answered) => (answered.role === "assistant" ? answered.content : [])) };
  }
  const planned = Object.keys(plans).map((question) => JSON.stringify(question));
  throw new ScriptError("The prompt holds no planned question.", `Planned are ${planned.join(", ")}.`);
}

/** Walks through the planned steps along what has been said already. */
class PlanWalk {
  readonly #steps: readonly PlannedStep[];
  #index = 0;
  #reasoned = 0;
  #said = 0;
  #called = new Set<number>();

  constructor(steps: readonly PlannedStep[]) {
    this.#steps = steps;
  }

  get #step(): PlannedStep {
    return this.#steps[this.#index] ?? {};
  }

  take(part: PromptPart): void {
    if (part.type !== "text" && part.type !== "reasoning" && part.type !== "tool-call") return;
    if (part.type !== "tool-call" && part.text === "") return;
    // Of the next step nothing can be there before this one is complete.
    if (this.#isComplete()) this.#next();
    if (part.type === "text") this.#said = this.#along(this.#step.text, this.#said, part.text);
    else if (part.type === "reasoning") {
      this.#reasoned = this.#along(this.#step.reasoning, this.#reasoned, part.text);
    } else this.#takeCall(part.toolName);
  }

  rest(pieceLength: number): ScriptPart[] {
    if (this.#isComplete()) this.#next();
    const { reasoning: thoughts = "", text: words = "", calls = [] } = this.#step;
    // Thoughts are done once they led to something.
    const isPastThoughts = this.#said > 0 || this.#called.size > 0;
    return [
      ...(isPastThoughts ? [] : pieces(thoughts.slice(this.#reasoned), pieceLength).map((piece) => reasoning(piece))),
      ...pieces(words.slice(this.#said), pieceLength).map((piece) => text(piece)),
      ...calls.flatMap((call, index) => (this.#called.has(index) ? [] : [callPart(call, pieceLength)]))
    ];
  }

  #along(planned: string | undefined, from: number, said: string): number {
    if (planned?.startsWith(said, from) === true) return from + said.length;
    throw new ScriptError(
      `The answer in the prompt says ${JSON.stringify(said)}, which the plan does not at this place.`,
      `Planned from there: ${JSON.stringify((planned ?? "").slice(from))} in step ${this.#index + 1}.`
    );
  }

  #takeCall(tool: string): void {
    const planned = this.#step.calls ?? [];
    const index = planned.findIndex((call, at) => call.tool === tool && !this.#called.has(at));
    if (index < 0) {
      throw new ScriptError(`The answer in the prompt calls "${tool}", which step ${this.#index + 1} does not plan.`);
    }
    this.#called.add(index);
  }

  #isComplete(): boolean {
    const { reasoning: thoughts = "", text: words = "", calls = [] } = this.#step;
    if (this.#said < words.length || this.#called.size < calls.length) return false;
    return words.length > 0 || calls.length > 0 || this.#reasoned >= thoughts.length;
  }

  #next(): void {
    if (this.#index < this.#steps.length) this.#index += 1;
    [this.#reasoned, this.#said, this.#called] = [0, 0, new Set()];
  }
}

function callPart({ tool, input = {} }: PlannedCall, pieceLength: number): ScriptPart {
  // As a provider's: never the same twice, also when the agent makes its model anew for every turn.
  const id = `call-${crypto.randomUUID()}`;
  return toolCall(tool, input, { id, inputChunks: Math.ceil(JSON.stringify(input).length / pieceLength) });
}

function pieces(value: string, pieceLength: number): string[] {
  return value === "" ? [] : splitText(value, Math.ceil(value.length / pieceLength));
}
