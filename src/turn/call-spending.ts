// What the calls of one attempt have cost, for the record of each step and for its spans.
import type { AttemptView } from "../journal/folds/turn-fold.ts";
import type { SpanNotes, SpentCall } from "../model/index.ts";

const UNITS_PER_DOLLAR = 1e9;

export class CallSpending {
  /** Of several models, the one that answers now, as records name it. */
  model: string | undefined;
  #step: number | undefined;
  #last: SpentCall | undefined;

  add(call: SpentCall): void {
    this.#step = (this.#step ?? 0) + call.cost;
    this.#last = call;
  }

  /** Of the step that ends, with its retries, in billionths of a dollar; undefined: nothing was counted. */
  takeStep(): number | undefined {
    const cost = this.#step;
    this.#step = undefined;
    return cost;
  }

  /** Of the request that ends. */
  attributes(): Record<string, unknown> {
    const call = this.#last;
    this.#last = undefined;
    return {
      ...(call && { "everthink.cost.usd": call.cost / UNITS_PER_DOLLAR, "gen_ai.response.model": call.modelId }),
      ...(this.model !== undefined && { "everthink.model": this.model })
    };
  }
}

/** That the attempt before has failed, and another model is asked in its place. */
export function switchEvents(attempts: readonly AttemptView[] = []): SpanNotes["events"] {
  const { model: from, next, errorCode: code } = attempts.at(-2) ?? {};
  if (!next || from === undefined) return [];
  return [{ name: "everthink.model.switched", attributes: { from, to: next.model, code: code ?? "unknown" } }];
}
