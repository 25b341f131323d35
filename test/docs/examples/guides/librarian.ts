import { openai } from "@ai-sdk/openai";
import { cosineSimilarity, embed, embedMany, tool, type EmbeddingModel, type LanguageModel } from "ai";
import { Think } from "everthink";
import { z } from "zod";

export interface Passage {
  id: string;
  title: string;
  text: string;
}

export class Librarian<Env = object> extends Think<Env> {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  getEmbeddingModel(): EmbeddingModel {
    return openai.textEmbeddingModel("text-embedding-3-small");
  }

  override getSystemPrompt() {
    return "Answer from the documents that lookUp finds, and name the title of each one that you use. If they do not say it, say so.";
  }

  override onStart() {
    this.sql`CREATE TABLE IF NOT EXISTS passages (id TEXT PRIMARY KEY, title TEXT, text TEXT, vector TEXT)`;
  }

  override getTools() {
    return {
      lookUp: tool({
        description: "Finds the passages of the documents that fit a question best",
        inputSchema: z.object({ question: z.string() }),
        execute: ({ question }) => this.lookUp(question)
      })
    };
  }

  /** Adds a document, or replaces the one of this title. */
  async learn(title: string, text: string) {
    const texts = text.split(/\n\s*\n/).map((one) => one.trim());
    const values = texts.filter((one) => one !== "");
    const { embeddings } = await embedMany({ model: this.getEmbeddingModel(), values });
    const passages = values.map((value) => ({ id: crypto.randomUUID(), title, text: value }));
    await this.store(title, passages, embeddings);
    return passages.length;
  }

  async lookUp(question: string, count = 4) {
    const { embedding } = await embed({ model: this.getEmbeddingModel(), value: question });
    return this.nearest(embedding, count);
  }

  async store(title: string, passages: Passage[], vectors: number[][]) {
    this.ctx.storage.transactionSync(() => {
      this.sql`DELETE FROM passages WHERE title = ${title}`;
      passages.forEach(({ id, text }, index) => {
        this.sql`INSERT INTO passages VALUES (${id}, ${title}, ${text}, ${JSON.stringify(vectors[index])})`;
      });
    });
  }

  async nearest(vector: number[], count: number) {
    return this.sql<Passage & { vector: string }>`SELECT * FROM passages`
      .map(({ vector: stored, ...passage }) => ({
        ...passage,
        similarity: cosineSimilarity(vector, JSON.parse(stored) as number[])
      }))
      .toSorted((one, other) => other.similarity - one.similarity)
      .slice(0, count);
  }
}
