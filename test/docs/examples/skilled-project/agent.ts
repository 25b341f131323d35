import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think } from "everthink";
import bundled from "everthink:skills";

export class Greeter extends Think {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override getSkills() {
    return [bundled];
  }
}
