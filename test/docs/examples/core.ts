// What docs/core.md shows: a class that names the capabilities it uses.
import { openai } from "@ai-sdk/openai";
import { ThinkCore, withCapabilities } from "everthink/core";
import { action, actions } from "everthink/core/actions";
import { schedules } from "everthink/core/schedules";
import type { LanguageModel } from "ai";
import { z } from "zod";

export class Cashier extends withCapabilities(ThinkCore, actions, schedules) {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override getActions() {
    return {
      refund: action({
        description: "Pays money back.",
        inputSchema: z.object({ order: z.string() }),
        idempotencyKey: ({ input }) => `refund:${input.order}`,
        execute: async ({ order }) => `Paid back ${order}.`
      })
    };
  }

  async remind(text: string) {
    await this.saveMessages([{ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] }]);
  }

  async remindLater(text: string) {
    await this.schedule(3_600, "remind", text);
  }
}
