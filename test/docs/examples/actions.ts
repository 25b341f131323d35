import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { action, Think } from "everthink";
import type {
  ActionAuthorizationDecision,
  ApprovalAuthorizationContext,
  ApprovalCaller,
  ChatResponseResult
} from "everthink";
import { getCurrentAgent, type Connection, type ConnectionContext } from "everthink/agent";
import { z } from "zod";

/** What the examples do to the world. */
export const world: string[] = [];
const bank = {
  async charge(invoiceId: string, options: { idempotencyKey: string }) {
    world.push(`charge ${invoiceId} under ${options.idempotencyKey}`);
    return { id: `receipt-${invoiceId}` };
  }
};
interface User {
  readonly name: string;
  readonly role: string;
}
/** As your login does it. */
const userOf = (request: Request): User | null =>
  request.headers.get("Cookie") === "session=root" ? { name: "ann", role: "admin" } : null;
const ship = async (ref: string) => void world.push(`ship ${ref}`);
const close = async (year: number) => void world.push(`close ${year}`);
const remove = async (userId: string) => void world.push(`remove ${userId}`);

export class Billing extends Think {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override getActions() {
    return {
      chargeInvoice: action({
        description: "Charge an invoice.",
        inputSchema: z.object({ invoiceId: z.string() }),
        idempotencyKey: ({ input }) => `invoice:${input.invoiceId}`,
        execute: async ({ invoiceId }) => bank.charge(invoiceId, { idempotencyKey: invoiceId })
      })
    };
  }
}

export class Support extends Think {
  delivered: string[] = [];

  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override getActions() {
    return {
      deleteAccount: action({
        description: "Delete an account for good.",
        inputSchema: z.object({ userId: z.string() }),
        approval: ({ input }) => input.userId !== "test-account",
        approvalSummary: "Delete an account",
        approvalRisk: "high",
        execute: async ({ userId }) => remove(userId)
      }),
      deploy: action({
        description: "Deploy to production.",
        inputSchema: z.object({ ref: z.string() }),
        kind: "durable-pause",
        permissions: ["deploy:run"],
        idempotencyKey: ({ input }) => input.ref,
        execute: async ({ ref }, ctx) => {
          await ship(ref);
          return { deployed: ref, askedIn: ctx.requestId };
        }
      }),
      closeBooks: action({
        description: "Close the books of a year.",
        inputSchema: z.object({ year: z.number() }),
        kind: "durable-pause",
        approvals: {
          required: 2,
          from: ["ann", "bob", "telegram:7"],
          escalate: { after: "4 hours", to: ["cfo"], required: 1 }
        },
        execute: async ({ year }) => close(year)
      }),
      draftReply: action({
        description: "Draft an email.",
        inputSchema: z.object({ to: z.string(), subject: z.string() }),
        execute: async ({ to, subject }, ctx) => {
          ctx.attachReply({ type: "email_draft", to: [to], subject });
          return { drafted: true };
        }
      })
    };
  }

  override onConnect(connection: Connection, { request }: ConnectionContext) {
    connection.setState(userOf(request)); // your login: { name, role }
  }

  override authorizeTurn(): ActionAuthorizationDecision {
    const user = getCurrentAgent().connection?.state as User | null | undefined;
    if (user?.role === "admin") return true;
    return { allowed: true, grantedPermissions: ["deploy:run"] };
  }

  override identifyApprover({ connection }: ApprovalCaller) {
    return (connection?.state as User | null | undefined)?.name;
  }

  override authorizeApproval({ by }: ApprovalAuthorizationContext): ActionAuthorizationDecision {
    return by !== null || { allowed: false, reason: "Log in to decide." };
  }

  override async onChatResponse({ attachments }: ChatResponseResult) {
    for (const attachment of attachments) {
      const text = await this.renderAttachment(attachment);
      if (text !== undefined) this.delivered.push(typeof text === "string" ? text : text.markdown);
    }
  }
}

export async function releaseEverything(agent: DurableObjectStub<Support>) {
  for (const { executionId, descriptor, inputHash = "", mayHaveRun } of await agent.pendingApprovals()) {
    // A crash was in the middle of it: a person finds out first whether it ran.
    if (mayHaveRun) continue;
    if (descriptor.risk === "high")
      await agent.rejectExecution(executionId, "Not on a Friday", { by: "ann", inputHash });
    else await agent.approveExecution(executionId, { by: "ann", inputHash });
  }
}

export async function payLess(agent: DurableObjectStub<Billing>, id: string, inputHash: string) {
  return agent.approveExecution(id, { inputHash, input: { invoiceId: "7", euros: 4 } });
}

export async function reconcile(agent: DurableObjectStub<Billing>) {
  for (const { key, effect } of await agent.listActionLedger({ status: "pending" })) {
    if (effect !== "unknown") continue;
    // Look it up where it should have happened, then say so; or `{ retry: true }` if it did not.
    await agent.resolveActionLedger(key, { output: { id: "receipt-found-by-hand" }, by: "ann" });
  }
}
