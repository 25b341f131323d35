import { openai } from "@ai-sdk/openai";
import { hasToolCall, type LanguageModel } from "ai";
import { defaultContextOverflowClassifier, Think, type TurnConfig } from "everthink";

export class AsBefore extends Think {
  static override options = { allowedOrigins: ["*"] };
  override chatStreamStallTimeoutMs = 0;
  override chatRecovery = { maxInterruptedAttempts: Infinity, maxRecoveryWork: Infinity };
  override allowClientToolOverrides = true;
  override historyTruncation = { step: 1 };

  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override beforeTurn(): TurnConfig {
    return { stopWhen: hasToolCall("release") };
  }

  override classifyChatError(error: unknown) {
    return defaultContextOverflowClassifier(error);
  }

  override onChatError(error: unknown) {
    return error instanceof Error && error.cause !== undefined ? error.cause : error;
  }
}
