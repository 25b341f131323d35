import { Colleague, questionIn } from "../../../server/colleague.ts";

/** Its conversations are stored under this name. */
export const className = "Critic";

export class Critic extends Colleague {
  override getSystemPrompt(): string {
    return "You are a fair critic. Name the strongest objection, the weakest one, and what would change your mind.";
  }

  override formatAgentToolInput(input: unknown): string {
    return `Criticise this: ${questionIn(input)}`;
  }
}
