import { ThinkError } from "../util/errors.ts";

/** A turn cannot wait for another turn of its own conversation: it would wait for itself. */
export class NestedTurnError extends ThinkError {
  constructor() {
    super({
      code: "nested-turn",
      message:
        "Turn admission cannot be called from inside an active turn. " +
        'Use runTurn({ mode: "submit" }) to queue another turn, or addMessages() to add to the transcript.',
      hint: "The call would wait for the turn it is part of."
    });
  }
}

/** The function that was to produce the turn's messages died with the process that held it. */
export class LostInputError extends ThinkError {
  constructor() {
    super({
      code: "turn-input-lost",
      message: "The turn was interrupted before its messages were known.",
      hint: "Messages given as a function are not stored until the turn starts; give them as values to survive a restart."
    });
  }
}

export class InterruptedTurnError extends ThinkError {
  constructor(readonly attempts: number) {
    super({
      code: "turn-interrupted",
      message: "The answer was interrupted and could not be completed.",
      hint: `The process ended during each of ${attempts} attempts.`
    });
  }
}

export class QueueFullError extends ThinkError {
  constructor(readonly limit: number) {
    super({
      code: "turn-queue-full",
      message: "Too many messages are waiting for an answer. Please try again later.",
      hint: `At most ${limit} turns wait in one conversation.`
    });
  }
}
