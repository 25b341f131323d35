import {
  action,
  Think,
  type ActionAuthorizationDecision,
  type ApprovalAuthorizationContext,
  type ApprovalCaller,
  type ThinkScheduledTasks,
  type TurnContext
} from "everthink";
import { getCurrentAgent, type Connection, type ConnectionContext } from "everthink/agent";
import { userOf } from "everthink/login";
import { z } from "zod";
import { chooseModel } from "../../models/model.ts";
import { isApprover } from "../../src/login.ts";
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

  override onConnect(connection: Connection, { request }: ConnectionContext) {
    connection.setState({ user: userOf(request) });
  }

  // An agent has the name of its person. Only what that person asks for is paid: an approver who opens the page decides here,
  // and cannot ask. What goes on after a decision, and what the agent does by itself, is that person's too.
  override authorizeTurn({ continuation }: TurnContext): ActionAuthorizationDecision {
    const asker = personBehind(getCurrentAgent());
    if (continuation || asker === undefined || asker === this.name || this.#isDeveloped) return true;
    return { allowed: false, reason: `Only ${this.name} can ask for payments here.` };
  }

  override identifyApprover(caller: ApprovalCaller) {
    return personBehind(caller);
  }

  override authorizeApproval({
    by,
    executionId,
    descriptor
  }: ApprovalAuthorizationContext): ActionAuthorizationDecision {
    const [asked] = this.pendingApprovals(executionId);
    // Who may approve with another amount or payee would ask and approve alone.
    if (asked && JSON.stringify(asked.descriptor.input) !== JSON.stringify(descriptor.input))
      return { allowed: false, reason: "A payment is approved as it was asked for. Reject it to have it changed." };
    if (by === null) return { allowed: false, reason: "Log in to decide." };
    if (by === this.name) return { allowed: false, reason: "Another person has to decide over your own payment." };
    return isApprover(by, this.env) || this.#isDeveloped || { allowed: false, reason: "APPROVERS does not name you." };
  }

  get #isDeveloped() {
    return this.env.EVERTHINK_DEVELOPMENT === "1";
  }

  override getDefaultTimezone() {
    return "Europe/London";
  }

  override getScheduledTasks(): ThinkScheduledTasks {
    return { digest: { schedule: "every weekday at 17:00", prompt: "Write the digest.", overlap: "skip" } };
  }
}

/** As the login verified it; undefined where no client is behind it. */
function personBehind({ connection, request }: Partial<ApprovalCaller>): string | undefined {
  const { user } = (connection?.state ?? {}) as { user?: string };
  return user ?? (request && userOf(request));
}
