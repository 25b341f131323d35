// What can be wrong with a call of a durable agent as an agent of the AI SDK.
import { ThinkError } from "../../../util/errors.ts";

export class NoQuestionError extends ThinkError {
  constructor() {
    super({
      code: "bridge-no-question",
      message: "The prompt ends with neither a question nor an answer to a call.",
      hint: "The conversation is stored with the durable agent: end the prompt with what is new."
    });
  }
}

export class UnknownAnswerError extends ThinkError {
  constructor() {
    super({
      code: "bridge-unknown-answer",
      message: "These calls belong to an answer that was not given here.",
      hint: "Keep the object that toAISDKAgent() returned while calls wait, or answer them with another client."
    });
  }
}
