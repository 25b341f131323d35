import { openai } from "@ai-sdk/openai";
import { Think } from "everthink";
import type { LanguageModel } from "ai";

export class Researcher extends Think {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  // Every message of a client, or of a chat app, that comes while a turn runs is a steer.
  override messageConcurrency = "steer" as const;

  async narrow(years: number) {
    const receipt = await this.steer(`Only the last ${years} years.`);
    return receipt.state; // "accepted": it takes effect after the tools that run now
  }
}
