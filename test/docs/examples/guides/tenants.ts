import { openai } from "@ai-sdk/openai";
import { tool, type LanguageModel } from "ai";
import { Think, usd, type BudgetLimit } from "everthink";
import { z } from "zod";

interface Env {
  ORDERS: { find(tenant: string, id: string): Promise<object | null> };
}

export class Desk extends Think<Env> {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  /** The login has checked the name of the agent, so its first part is the tenant of whoever asks. */
  get tenant() {
    return this.name.split("~")[0] ?? "";
  }

  override getTools() {
    return {
      findOrder: tool({
        description: "Finds an order by its number",
        // No tenant among the input: the model must not be able to choose one.
        inputSchema: z.object({ id: z.string() }),
        execute: async ({ id }) => (await this.env.ORDERS.find(this.tenant, id)) ?? "There is no such order."
      })
    };
  }

  override getBudgets(): BudgetLimit[] {
    return [{ per: { key: this.tenant, each: "month" }, limit: usd(50) }];
  }
}
