// The part of the engine's turn that user code is shown.
import type { TurnContext as EngineTurn } from "../turn/turn.ts";
import type { TurnFacts } from "./hooks.ts";

export function factsOf({ turnId, requestId, attempt, signal }: EngineTurn): TurnFacts {
  return { turnId, requestId, attempt, signal };
}

/** A copy of an SDK event with the turn's facts: own fields and the getters of its class both stay. */
export function withFacts<Event extends object>(event: Event, turn: EngineTurn): Event & TurnFacts {
  const copy: Event = Object.create(Object.getPrototypeOf(event));
  return Object.assign(copy, event, factsOf(turn));
}
