import { openai } from "@ai-sdk/openai";
import { tool, type LanguageModel } from "ai";
import { Think } from "everthink";
import { routeAgentRequest } from "everthink/agent";
import { z } from "zod";

interface Env {
  Assistant: DurableObjectNamespace<Assistant>;
}

export class Assistant extends Think<Env> {
  override getModel(): LanguageModel {
    return openai("gpt-5"); // any AI SDK model
  }

  override getSystemPrompt() {
    return "You help people plan their week. Be brief.";
  }

  override getTools() {
    return {
      remember: tool({
        description: "Keeps a note for later",
        inputSchema: z.object({ note: z.string() }),
        execute: async ({ note }) => {
          this.sql`CREATE TABLE IF NOT EXISTS notes (note TEXT)`;
          this.sql`INSERT INTO notes VALUES (${note})`;
          return "noted";
        }
      })
    };
  }
}

export default {
  async fetch(request: Request, env: Env) {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
