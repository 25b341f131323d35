// Which code runs inside a turn. Only that is ambient, because user code calls in from anywhere; it decides nothing but
// whether a call may wait for another turn, and in which order response hooks run.
import { AsyncLocalStorage } from "node:async_hooks";

type PlaceName = "turn" | "response";

interface Place {
  readonly of: Nesting;
  readonly name: PlaceName;
  readonly outer: Place | undefined;
}

/** One for all engines: each storage costs every asynchronous step of the process something. */
const places = new AsyncLocalStorage<Place | undefined>();

/** For work that a turn starts and does not wait for: it may wait for the next turn. The rest of the context stays. */
export function outsideTurns<T>(work: () => T): T {
  return places.run(undefined, work);
}

/** One per engine: inside a turn of another agent, this agent's turns may be awaited. */
export class Nesting {
  inTurn<T>(work: () => T): T {
    return this.#run("turn", work);
  }

  inResponse<T>(work: () => T): T {
    return this.#run("response", work);
  }

  get isInTurn(): boolean {
    return this.#innermost === "turn";
  }

  get isInResponse(): boolean {
    return this.#innermost === "response";
  }

  #run<T>(name: PlaceName, work: () => T): T {
    const place = places.getStore();
    // A place of this engine is replaced, not nested: chains do not grow with the turns that hooks start.
    return places.run({ of: this, name, outer: place?.of === this ? place.outer : place }, work);
  }

  get #innermost(): PlaceName | undefined {
    for (let place = places.getStore(); place; place = place.outer) if (place.of === this) return place.name;
    return undefined;
  }
}
