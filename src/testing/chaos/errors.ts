// What the chaos runner says when a conversation cannot be played.
import { errorTable, ThinkError } from "../../util/errors.ts";

/** A step of the conversation did not come to its end, however often it was sent and however long it was waited for. */
export class StepNeverEndedError extends ThinkError {
  constructor(
    readonly step: string,
    situation: string
  ) {
    super({
      code: "chaos-step-never-ended",
      message: `"${step}" did not come to an end. ${situation}`,
      hint: "Without a crash, this is a mistake in the conversation: does the agent really get that far?"
    });
  }
}

/** The conversation refers to something that is not there, such as a call to answer. */
export class ConversationError extends ThinkError {
  constructor(message: string) {
    super({ code: "chaos-conversation", message });
  }
}

/** The conversation differs between two runs without a crash, so a crash cannot be blamed for a difference. */
export class UnsteadyConversationError extends ThinkError {
  constructor(difference: string) {
    super({
      code: "chaos-unsteady",
      message: `Two runs without any disturbance differ: ${difference}`,
      hint:
        "Its model must be scripted (planModel(), scriptedModel() …): a real one answers differently each time. Reset " +
        "everything the agent counts in begin(), and take time and chance from the host."
    });
  }
}

/** Thrown through a conversation to end it early; never reaches a caller. */
export class EndOfConversation extends Error {}

export const chaosErrors = errorTable(ThinkError, {
  /** The agent lives and keeps no client: it cannot start, or throws when a client connects. */
  ConnectionsRefusedError: (openings: number) => ({
    code: "chaos-connections-refused",
    message: `The agent ended ${openings} connections in a row.`
  })
});
