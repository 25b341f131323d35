import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think } from "everthink";

export class Assistant extends Think {
  static override options = { allowedOrigins: ["https://app.example.com"] };

  override maxSteps = 20;
  override messageConcurrency = "steer" as const;
  override chatRecovery = { maxAttempts: 3 };

  override getModel(): LanguageModel {
    return openai("gpt-5");
  }
}
