// Which code runs inside a turn. Only that is ambient, because user code calls in from anywhere; it decides nothing but
// whether a call may wait for another turn, and in which order response hooks run.
import { AsyncLocalStorage } from "node:async_hooks";

type Place = "turn" | "response";

/** One per engine: inside a turn of another agent, this agent's turns may be awaited. */
export class Nesting {
  readonly #place = new AsyncLocalStorage<Place>();

  inTurn<T>(work: () => T): T {
    return this.#place.run("turn", work);
  }

  inResponse<T>(work: () => T): T {
    return this.#place.run("response", work);
  }

  get isInTurn(): boolean {
    return this.#place.getStore() === "turn";
  }

  get isInResponse(): boolean {
    return this.#place.getStore() === "response";
  }
}
