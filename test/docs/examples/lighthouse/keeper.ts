import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { action, Think } from "everthink";
import type { Session, TurnConfig, TurnContext } from "everthink";
import { z } from "zod";

export class Keeper extends Think {
  override maxSteps = 10;

  override getModel(): LanguageModel {
    return openai("gpt-5-mini");
  }

  // Blocks of the prompt. The model may rewrite "memory", and it is still there next year.
  override configureSession(session: Session) {
    return session
      .withContext("duty", { provider: { get: async () => "You keep a lighthouse. Be brief." } })
      .withContext("memory", { description: "What you know about the people here", maxTokens: 1000 })
      .withCachedPrompt();
  }

  // A side effect that happens once, and not before a person agreed.
  override getActions() {
    return {
      soundHorn: action({
        description: "Sounds the fog horn",
        inputSchema: z.object({ seconds: z.number().int().min(1).max(60) }),
        approval: ({ input }) => input.seconds > 5,
        approvalSummary: "Sound the fog horn for all the bay to hear",
        execute: async ({ seconds }) => this.sound(seconds)
      })
    };
  }

  // Every turn passes here before the model is asked; what is returned changes that turn.
  override beforeTurn(turn: TurnContext): TurnConfig {
    // The page may only choose between our own words: what it sends never becomes part of the instructions.
    const fog = turn.body?.["fog"] === "thick" ? "thick" : "thin";
    return { system: `${turn.system}\n\nThe fog is ${fog} today.` };
  }

  async sound(seconds: number) {
    this.sql`CREATE TABLE IF NOT EXISTS horn (seconds INTEGER)`;
    this.sql`INSERT INTO horn VALUES (${seconds})`;
    return { sounded: seconds };
  }
}
