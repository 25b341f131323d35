// The assistant's colleagues: agents of their own, each with its own conversation, that the assistant asks as tools.
import { agentTool, Think } from "everthink";
import type { Connection } from "everthink/agent";
import { z } from "zod";
import { assistantModel } from "./assistant-model.ts";
import type { Env } from "./env.ts";
import type { Model } from "./language-model.ts";

/** A question is a sentence; what a colleague is asked is shown in its conversation. */
const MAX_QUESTION_LENGTH = 500;

const questionSchema = z.object({ question: z.string().trim().min(3).max(MAX_QUESTION_LENGTH) });

/** What the schema has checked. */
function questionIn(input: unknown): string {
  return questionSchema.parse(input).question;
}

abstract class Colleague extends Think<Env> {
  override getModel(): Model {
    return assistantModel(this.env);
  }

  /** Its own pages need no history of notes. */
  override onConnect(_connection: Connection): void {}
}

export class Researcher extends Colleague {
  override getSystemPrompt(): string {
    return "You are a careful researcher. Answer in three short findings, then one sentence that sums them up.";
  }
  override formatAgentToolInput(input: unknown): string {
    return `Research this: ${questionIn(input)}`;
  }
}

export class Critic extends Colleague {
  override getSystemPrompt(): string {
    return "You are a fair critic. Name the strongest objection, the weakest one, and what would change your mind.";
  }
  override formatAgentToolInput(input: unknown): string {
    return `Criticise this: ${questionIn(input)}`;
  }
}

export const teamTools = {
  ask_researcher: agentTool(Researcher, {
    description: "Ask the researcher a question. It works on its own and reports what it found.",
    inputSchema: questionSchema,
    displayName: "Researcher"
  }),
  ask_critic: agentTool(Critic, {
    description: "Ask the critic for objections to a claim or a question. It works on its own and reports.",
    inputSchema: questionSchema,
    displayName: "Critic"
  })
};
