import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think } from "everthink";

export class Researcher extends Think {
  override getModel(): LanguageModel {
    return openai("gpt-5-mini");
  }

  override getSystemPrompt() {
    return "Research one topic. End with five facts, each with its source.";
  }
}
