import { openai } from "@ai-sdk/openai";
import { tool, type LanguageModel } from "ai";
import { Think } from "everthink";
import { createExecuteTool } from "everthink/tools/execute";
import { z } from "zod";

const invoices = tool({
  description: "Invoices of a month.",
  inputSchema: z.object({ month: z.string() }),
  execute: ({ month }) => [
    { id: `${month}-1`, total: 120 },
    { id: `${month}-2`, total: 80 }
  ]
});

const remind = tool({
  description: "Sends a reminder for an invoice.",
  inputSchema: z.object({ id: z.string() }),
  needsApproval: true,
  execute: ({ id }) => `reminded ${id}`
});

export class Bookkeeper extends Think<{ LOADER: WorkerLoader }> {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override getTools() {
    return { execute: createExecuteTool(this, { tools: { invoices, remind } }) };
  }
}
