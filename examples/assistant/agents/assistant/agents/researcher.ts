import { Colleague, questionIn } from "../../../server/colleague.ts";

/** Its conversations are stored under this name. */
export const className = "Researcher";

export class Researcher extends Colleague {
  override getSystemPrompt(): string {
    return "You are a careful researcher. Answer in three short findings, then one sentence that sums them up.";
  }

  override formatAgentToolInput(input: unknown): string {
    return `Research this: ${questionIn(input)}`;
  }
}
