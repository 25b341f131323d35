import { openai } from "@ai-sdk/openai";
import { Think, type SteerContext, type SteerDecision } from "everthink";
import type { LanguageModel } from "ai";

export class Careful extends Think {
  protected override onSteer({ kind, messages }: SteerContext): SteerDecision | void {
    if (messages.length > 1) return { action: "refuse", reason: "One message at a time, please." };
    if (kind === "steer" && this.isPublishing) return { action: "accept", kind: "follow-up" };
  }

  isPublishing = false;

  override getModel(): LanguageModel {
    return openai("gpt-5");
  }
}
