import { anthropic } from "@ai-sdk/anthropic";
import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think } from "everthink";

export class Assistant extends Think {
  override getModel(): LanguageModel[] {
    return [anthropic("claude-sonnet-4-5"), openai("gpt-5")];
  }
}
