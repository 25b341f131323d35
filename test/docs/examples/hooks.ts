import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think } from "everthink";
import type {
  ChatErrorContext,
  ChatResponseResult,
  ToolCallContext,
  ToolCallDecision,
  TurnConfig,
  TurnContext
} from "everthink";

export class Concierge extends Think {
  override maxSteps = 5;
  answered: string[] = [];

  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override beforeTurn(turn: TurnContext): TurnConfig {
    // A client can send anything: it may only choose between our own words.
    const mood = turn.body?.["mood"] === "sunny" ? "sunny" : "quiet";
    return { system: `${turn.system}\n\nToday is a ${mood} day.`, temperature: 0.2 };
  }

  override beforeToolCall(call: ToolCallContext): ToolCallDecision | void {
    if (call.toolName === "deleteEverything") return { action: "block", reason: "Not on my watch." };
  }

  override onChatResponse({ status, requestId }: ChatResponseResult) {
    this.answered.push(`${requestId}: ${status}`);
  }

  override onChatError(error: unknown, { stage }: ChatErrorContext) {
    console.error(stage, error);
    return new Error("Something went wrong. Please try again.");
  }
}
