import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { agentTool, Think } from "everthink";
import { z } from "zod";
import { Researcher } from "./agents/researcher.ts";

export class Editor extends Think {
  override maxConcurrentAgentTools = 3;

  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override getSystemPrompt() {
    return "You write articles. Have each topic researched first, then write the article from the facts alone.";
  }

  override getTools() {
    return {
      research: agentTool(Researcher, {
        description: "Has one topic researched, in depth.",
        inputSchema: z.object({ topic: z.string() }),
        displayName: "Researcher"
      })
    };
  }
}
