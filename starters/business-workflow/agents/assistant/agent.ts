import { action, Think, type ThinkScheduledTasks } from "everthink";
import { z } from "zod";
import { chooseModel } from "../../models/model.ts";
import { plans } from "./plans.ts";

/** Above this, a person decides. */
const LIMIT = 100;

export default class Assistant extends Think<Cloudflare.Env> {
  override getModel() {
    return chooseModel(this.env, plans);
  }

  override getSystemPrompt() {
    return "You prepare payments. Say what you did, and what waits for a decision.";
  }

  // A small payment runs at once; a large one waits for a person, for days if need be. Each invoice is paid once.
  // That person is anyone who can open the page: with a login, identifyApprover and authorizeApproval say who may decide.
  override getActions() {
    return {
      pay: action({
        description: "Pays an amount to a payee.",
        inputSchema: z.object({ amount: z.number().positive(), payee: z.string() }),
        approval: ({ input }) => input.amount > LIMIT,
        approvalSummary: "A payment above the limit",
        idempotencyKey: ({ input, ctx }) => `pay:${input.payee}:${ctx.toolCallId}`,
        execute: async ({ amount, payee }) => ({ paid: amount, payee })
      })
    };
  }

  override getDefaultTimezone() {
    return "Europe/London";
  }

  override getScheduledTasks(): ThinkScheduledTasks {
    return { digest: { schedule: "every weekday at 17:00", prompt: "Write the digest.", overlap: "skip" } };
  }
}
