// The agent of the page about evals, with models that need no network.
import { tool, type LanguageModel } from "ai";
import { Think } from "everthink";
import { reply, scriptedModel, text, toolCall } from "everthink/testing";
import { z } from "zod";

export class Support extends Think {
  override getModel(): LanguageModel {
    return scriptedModel((call) => {
      if (call.lastUserText.includes("poem")) return reply(text("I help with orders."));
      if (call.prompt.some(({ role }) => role === "tool")) return reply(text("It was sent on Monday."));
      return reply(toolCall("findOrder", { id: "17" }));
    });
  }

  override getTools() {
    return {
      findOrder: tool({ inputSchema: z.object({ id: z.string() }), execute: async () => ({ sent: "Monday" }) })
    };
  }
}

export const judgeModel = (): LanguageModel =>
  scriptedModel(() => reply(text(JSON.stringify({ isGood: true, why: "It does." }))));
