import { openai } from "@ai-sdk/openai";
import type { LanguageModel, UIMessage } from "ai";
import {
  defaultChatErrorClassifier,
  Think,
  type ChatRecoveryContext,
  type ChatRecoveryExhaustedContext,
  type ChatRecoveryOptions
} from "everthink";

export class Patient extends Think {
  gaveUp: string[] = [];

  override chatRecovery = {
    maxAttempts: 6,
    terminalMessage: "The assistant was interrupted. Please try again.",
    onExhausted: ({ reason }: ChatRecoveryExhaustedContext) => void this.gaveUp.push(reason)
  };

  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override onChatRecovery({ recoveryKind, attempt }: ChatRecoveryContext): ChatRecoveryOptions {
    console.log(`${recoveryKind}, attempt ${attempt}`);
    return {}; // keep the partial answer and go on
  }

  override repairInterruptedToolPart(part: UIMessage["parts"][number]) {
    if (part.type === "tool-ask_user") return { type: "text" as const, text: "(a question that was not answered)" };
    return super.repairInterruptedToolPart(part);
  }

  // Only needed for a provider with words of its own.
  override classifyChatError(error: unknown) {
    return String(error).includes("warming up") ? "transient" : defaultChatErrorClassifier(error);
  }
}
