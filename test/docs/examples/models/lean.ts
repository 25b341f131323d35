import { anthropic } from "@ai-sdk/anthropic";
import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { ThinkCore, withCapabilities } from "everthink/core";
import { models } from "everthink/core/models";

export class Lean extends withCapabilities(ThinkCore, models) {
  override getModel(): LanguageModel[] {
    return [anthropic("claude-sonnet-4-5"), openai("gpt-5")];
  }
}
