// What the offline model knows: a topic recognises a question by its words and plans the answer from what is there.
import type { AnswerPart, Picture } from "./conversation.ts";
import type { Outcome } from "./outcome.ts";
import { lastCall, type Step } from "./plan.ts";

/** A question with all that may be used to answer it. */
export interface Asked {
  readonly question: string;
  readonly pictures: readonly Picture[];
  readonly answer: readonly AnswerPart[];
  /** What stands in the memory block, line by line. */
  readonly memory: readonly string[];
  /** The tools that can be called now, by name, with the schema of what goes in. */
  readonly tools: ReadonlyMap<string, unknown>;
}

export interface Topic {
  isAbout(asked: Asked): boolean;
  /** The answer as far as it can be planned: it ends with a call whose result is not there yet, or with the last words. */
  plan(asked: Asked): readonly Step[];
}

/** What became of the newest call of a tool; undefined while it is not known. */
export function outcomeOfCall({ answer }: Asked, tool: string): Outcome | undefined {
  return lastCall(answer, tool)?.outcome;
}

/** How a tool's trouble is told. */
export function trouble(what: string, outcome: Exclude<Outcome, { kind: "done" | "waiting" }>): string {
  switch (outcome.kind) {
    case "refused":
      return `${what}: it was not allowed.${outcome.reason === undefined ? "" : ` The reason given: ${outcome.reason}`}`;
    case "expired":
      return `${what}: nobody decided in time.`;
    case "interrupted":
      return `${what}: the process died while it was being done, and nobody can say whether it took effect.`;
    case "failed":
      return `${what}: ${outcome.message}`;
  }
}
