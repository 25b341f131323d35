// What users rely on without writing it down: an action's callbacks know its input from the schema. Must compile as it
// stands; running this file proves little more.
import { jsonSchema } from "ai";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  action,
  isAction,
  Think,
  type Action,
  type ActionApprovalDescriptor,
  type ActionAuthorizationContext,
  type ActionAuthorizationDecision,
  type ActionContext,
  type ActionLedgerEntry,
  type ActionSet,
  type ApprovalAuthorizationContext,
  type ChatResponseResult,
  type LedgerResolutionResult,
  type PendingApproval,
  type ReplyAttachment,
  type TurnContext
} from "../../src/index.ts";

interface Refund {
  orderId: string;
  amountCents: number;
}

const fromZod = action({
  description: "Refund an order.",
  inputSchema: z.object({ orderId: z.string(), amountCents: z.number().int().positive().default(1) }),
  idempotencyKey: ({ input, ctx }) => {
    expectTypeOf(input).toEqualTypeOf<Refund>();
    expectTypeOf(ctx).toEqualTypeOf<ActionContext>();
    return input.orderId;
  },
  permissions: ({ input }) => [`refund:${input.orderId}`],
  approval: ({ input }) => input.amountCents > 100,
  approvalRisk: "high",
  execute: async (input, ctx) => {
    expectTypeOf(input).toEqualTypeOf<Refund>();
    expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>();
    expectTypeOf(ctx.agent).toExtend<Think>();
    ctx.attachReply({ type: "email_draft", to: ["a"], subject: "b" });
    ctx.attachReply({ type: "receipt", number: 7 });
    return { refundId: "1" };
  }
});

const fromJsonSchema = action({
  description: "Refund an order.",
  inputSchema: jsonSchema<Refund>({ type: "object" }),
  outputSchema: z.object({ refundId: z.string() }),
  execute: ({ orderId, amountCents }) => {
    expectTypeOf(orderId).toEqualTypeOf<string>();
    expectTypeOf(amountCents).toEqualTypeOf<number>();
    return { refundId: orderId };
  }
});

interface Env {
  LIVE: boolean;
}

abstract class Support extends Think<Env> {
  override actionLedgerPendingRetryLeaseMs = false as const;
  override actionPendingApprovalTtlMs = 3_600_000;
  override actionLedgerRetention = { settledMs: 1_000, pendingMs: false as const };

  override getActions() {
    return {
      fromZod,
      fromJsonSchema,
      // Written in place, with the class at hand.
      inPlace: action({
        description: "In place.",
        inputSchema: z.object({ ref: z.string().optional() }),
        kind: "durable-pause",
        execute: ({ ref }) => {
          expectTypeOf(ref).toEqualTypeOf<string | undefined>();
          return this.env.LIVE ? ref : undefined;
        }
      }),
      leftOut: this.env.LIVE ? fromZod : undefined
    };
  }

  override authorizeTurn(ctx: TurnContext): ActionAuthorizationDecision {
    if (ctx.body?.["role"] === "admin") return true;
    return { allowed: true, grantedPermissions: ["billing:read"] };
  }

  override async authorizeAction(ctx: ActionAuthorizationContext): Promise<ActionAuthorizationDecision> {
    expectTypeOf(ctx.requiredPermissions).toEqualTypeOf<readonly string[]>();
    return super.authorizeAction(ctx);
  }

  override authorizeApproval({ by, decision }: ApprovalAuthorizationContext) {
    expectTypeOf(decision).toEqualTypeOf<"approve" | "reject">();
    return by !== null;
  }

  override renderAttachment(attachment: ReplyAttachment) {
    return attachment.type === "receipt" ? "A receipt." : super.renderAttachment(attachment);
  }

  override onChatResponse(result: ChatResponseResult) {
    expectTypeOf(result.attachments).toEqualTypeOf<ReplyAttachment[]>();
  }
}

abstract class SynchronousAuthorization extends Think {
  override authorizeTurn() {
    return false;
  }
  override authorizeAction() {
    return { allowed: false, reason: "closed" };
  }
}

test("the types of actions are what users were promised", () => {
  expectTypeOf<ReturnType<Support["getActions"]>>().toExtend<ActionSet>();
  expectTypeOf(fromZod).toExtend<Action<Refund, Promise<{ refundId: string }> | { refundId: string }>>();
  expectTypeOf<Support["pendingApprovals"]>().returns.toEqualTypeOf<PendingApproval[]>();
  expectTypeOf<PendingApproval["descriptor"]>().toEqualTypeOf<ActionApprovalDescriptor>();
  expectTypeOf<Support["approveExecution"]>().parameter(0).toEqualTypeOf<string>();
  expectTypeOf<Support["listActionLedger"]>().returns.toEqualTypeOf<ActionLedgerEntry[]>();
  expectTypeOf<Support["resolveActionLedger"]>().returns.toEqualTypeOf<LedgerResolutionResult>();
  expect([fromZod, fromJsonSchema].every(isAction)).toBe(true);
  expect([Support, SynchronousAuthorization]).toHaveLength(2);
});

test("wrong actions do not compile", () => {
  const inputSchema = z.object({ id: z.string() });
  // @ts-expect-error: the input has no such field
  void action({ description: "x", inputSchema, execute: ({ name }) => name });
  // @ts-expect-error: a key is a text
  void action({ description: "x", inputSchema, idempotencyKey: ({ input }) => input.id.length, execute: () => 1 });
  // @ts-expect-error: a risk has three values
  expect(() => action({ description: "x", inputSchema, approvalRisk: "huge", execute: () => 1 })).toThrow();
  const forgotten = () =>
    // @ts-expect-error: what it does is missing
    action({ description: "x", inputSchema });
  expect(forgotten).toThrow();
  const outputSchema = z.object({ n: z.number() });
  // @ts-expect-error: the output is not what was promised
  void action({ description: "x", inputSchema, outputSchema, execute: () => ({ n: "1" }) });
});
