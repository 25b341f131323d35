import { tool } from "ai";
import { action, Think, type TurnContext } from "everthink";
// The folder skills/ beside this file.
import skills from "everthink:skills";
import { z } from "zod";
import { chooseModel } from "../../models/model.ts";
import { findOrder } from "./orders.ts";
import { firstQuestion, listConversation } from "./listing.ts";
import { plans } from "./plans.ts";

export default class Assistant extends Think<Cloudflare.Env> {
  override getModel() {
    return chooseModel(this.env, plans);
  }

  override getSystemPrompt() {
    return "You help customers of a shop. Look orders up before you talk about them. Hand over when you cannot help.";
  }

  override getSkills() {
    return [skills];
  }

  override getTools() {
    return {
      lookUpOrder: tool({
        description: "The state of an order.",
        inputSchema: z.object({ id: z.string() }),
        execute: async ({ id }) => findOrder(id)
      })
    };
  }

  // An action runs once per key, whatever crashes: a conversation never opens two tickets.
  override getActions() {
    return {
      handOver: action({
        description: "Opens a ticket for a colleague.",
        inputSchema: z.object({ reason: z.string() }),
        idempotencyKey: () => `ticket:${this.name}`,
        execute: async ({ reason }) => ({ ticket: `T-${this.name}`, reason })
      })
    };
  }

  // The list of the person's conversations is told, from the queue: a list that cannot be reached now costs the answer nothing.
  override async beforeTurn({ continuation }: TurnContext) {
    if (!continuation && this.name.includes(":")) await this.queue("announce", firstQuestion(this.messages));
  }

  async announce(question: string) {
    await listConversation(this.env, this.name, question);
  }
}
