import { openai } from "@ai-sdk/openai";
import { generateText, type LanguageModel } from "ai";
import { z } from "zod";
import { action, PRICES, Think, tokens, usd, type BudgetContext, type BudgetLimit, type ModelPrice } from "everthink";

export class Assistant extends Think {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override getBudgets({ connection }: BudgetContext): BudgetLimit[] {
    // What onConnect() wrote down after it had checked who this is.
    const user = (connection?.state as { user?: string } | null | undefined)?.user ?? "nobody";
    return [
      { per: "turn", limit: usd(0.5) },
      { per: { key: user, each: "day" }, limit: usd(2.5), then: "ask", grant: usd(1) },
      { per: "conversation", limit: tokens(5_000_000) }
    ];
  }
}

export class Searching extends Assistant {
  override getPrices(): readonly ModelPrice[] {
    return [{ provider: "openai", model: "gpt-5", input: 1, cachedInput: 0.1, output: 8 }, ...PRICES];
  }

  override getActions() {
    return {
      search: action({
        description: "Searches the web.",
        inputSchema: z.object({ query: z.string() }),
        execute: async ({ query }, ctx) => {
          await ctx.spend(usd(0.005));
          return `Nothing was found for ${query}.`;
        }
      })
    };
  }

  async nameChat(messages: string) {
    const model = this.budgeted(openai("gpt-5"));
    return (await generateText({ model, prompt: `Name this chat:\n${messages}` })).text;
  }
}
