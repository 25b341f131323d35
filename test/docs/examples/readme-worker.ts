import { openai } from "@ai-sdk/openai";
import { tool } from "ai";
import { Think } from "everthink";
import { routeAgentRequest } from "everthink/agent";
import { z } from "zod";

export class Lighthouse extends Think {
  override getModel() {
    return openai("gpt-5-mini"); // any AI SDK model
  }

  override getSystemPrompt() {
    return "You keep the log of a lighthouse. Be brief.";
  }

  override getTools() {
    return {
      log: tool({
        description: "Writes a line into the log",
        inputSchema: z.object({ line: z.string() }),
        execute: async ({ line }) => {
          this.sql`CREATE TABLE IF NOT EXISTS log (line TEXT)`;
          this.sql`INSERT INTO log VALUES (${line})`;
          return `Line ${this.sql`SELECT * FROM log`.length} of the log`;
        }
      })
    };
  }
}

export default {
  async fetch(request: Request, env: object) {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
