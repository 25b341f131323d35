import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { action, Think } from "everthink";
import type { ActionAuthorizationDecision, ApprovalAuthorizationContext, ApprovalCaller } from "everthink";
import type { Connection, ConnectionContext } from "everthink/agent";
import { userOf } from "everthink/login";
import { z } from "zod";

interface Env {
  BANK: { refund(order: string, euros: number, options: { idempotencyKey: string }): Promise<{ receipt: string }> };
}

export class Refunds extends Think<Env> {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override getActions() {
    return {
      refund: action({
        description: "Refunds an order.",
        inputSchema: z.object({ order: z.string(), euros: z.number().positive() }),
        // Up to 20 euros the agent decides by itself.
        approval: ({ input }) => input.euros > 20,
        approvalSummary: "Refund an order",
        approvalRisk: "high",
        // Running it again under this key is safe: the bank knows the key.
        idempotencyKey: ({ input }) => `refund:${input.order}`,
        execute: ({ order, euros }) => this.env.BANK.refund(order, euros, { idempotencyKey: `refund:${order}` })
      })
    };
  }

  override onConnect(connection: Connection, { request }: ConnectionContext) {
    connection.setState({ user: userOf(request) });
  }

  /** Who decides: what the login knows, never what the client says. */
  override identifyApprover({ connection, request }: ApprovalCaller) {
    if (request) return userOf(request);
    return (connection?.state as { user?: string } | null | undefined)?.user;
  }

  override authorizeApproval({ by }: ApprovalAuthorizationContext): ActionAuthorizationDecision {
    return (
      by?.endsWith("@finance.example") || { allowed: false, reason: "Only the finance team decides over refunds." }
    );
  }
}
