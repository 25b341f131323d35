import { openai } from "@ai-sdk/openai";
import { Think } from "everthink";

export class Dictation extends Think {
  override maxUnstoredTextMs = 100;

  override getModel() {
    return openai("gpt-5");
  }
}
