import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { createCompactFunction, Think, type Session } from "everthink";
import { AgentSearchProvider } from "everthink/session";

export class Companion extends Think {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override configureSession(session: Session) {
    return session
      .withContext("persona", { provider: { get: async () => "You are a patient companion." } })
      .withContext("memory", { description: "What you learned about the user", maxTokens: 2000 })
      .withContext("library", { description: "Things to look up", provider: new AgentSearchProvider(this) })
      .withCachedPrompt()
      .onCompaction(createCompactFunction())
      .compactAfter(100_000);
  }

  async find(words: string) {
    return (await this.session.search(words, { limit: 5 })).map(({ id, content }) => ({ id, content }));
  }

  async promptCost() {
    const { sections, tokens } = await this.explainPrompt();
    return { tokens, sections: sections.map(({ name, label, sizeBytes }) => `${label ?? name}: ${sizeBytes} bytes`) };
  }
}
