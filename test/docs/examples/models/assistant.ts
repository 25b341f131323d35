import type { LanguageModel } from "ai";
import { Think } from "everthink";

export class Assistant extends Think {
  override getModel(): LanguageModel {
    return "anthropic/claude-sonnet-4.5";
  }

  override getModels(): LanguageModel[] {
    return [this.getModel(), "openai/gpt-5"];
  }
}
