import { anthropic } from "@ai-sdk/anthropic";
import { tool, type ToolSet } from "ai";
import { Think } from "everthink";
import { z } from "zod";

const refund = tool({
  description: "Refunds an order.",
  inputSchema: z.object({ order: z.string() }),
  providerOptions: { anthropic: { deferLoading: true } },
  execute: ({ order }) => `refunded ${order}`
});

export class Refunder extends Think {
  override toolDiscovery = false;

  override getModel() {
    return anthropic("claude-sonnet-4-5");
  }

  override getTools(): ToolSet {
    return { tool_search_tool_bm25: anthropic.tools.toolSearchBm25_20251119(), refund };
  }
}
