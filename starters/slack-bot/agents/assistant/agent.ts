import { action, Think, type ApprovalAuthorizationContext } from "everthink";
import { defineMessengers } from "everthink/messengers";
import slackMessenger from "everthink/messengers/slack";
import { z } from "zod";
import { chooseModel } from "../../models/model.ts";
import { plans } from "./plans.ts";

export default class Assistant extends Think<Cloudflare.Env> {
  override getModel() {
    return chooseModel(this.env, plans);
  }

  override getSystemPrompt() {
    return "You answer in a team's chat. Be brief, and say what you did.";
  }

  // Asked with two buttons in the thread. It waits for days if need be, and is done once.
  override getActions() {
    return {
      deploy: action({
        description: "Deploys a service.",
        inputSchema: z.object({ service: z.string() }),
        kind: "durable-pause",
        approvalSummary: "Deploy to production",
        idempotencyKey: ({ ctx }) => `deploy:${ctx.toolCallId}`,
        execute: async ({ service }) => {
          await this.deploy(service);
          return { deployed: service };
        }
      })
    };
  }

  // Who may decide: people of Slack, by a press in Slack. `by` is "slack:U7" for a press of theirs, and for nothing that a
  // client can send.
  override authorizeApproval({ by }: ApprovalAuthorizationContext) {
    const approvers = (this.env.SLACK_APPROVERS ?? "").split(",").map((id) => `slack:${id.trim()}`);
    if (by !== null && approvers.includes(by)) return true;
    return { allowed: false, reason: "Only people in SLACK_APPROVERS may decide this, in Slack." };
  }

  /** Yours to fill: nothing is deployed yet. */
  async deploy(_service: string): Promise<void> {}

  // Each thread is a sub-agent with a conversation of its own, which no page or URL reaches. In channels it answers when it is
  // mentioned.
  override getMessengers() {
    const { SLACK_BOT_TOKEN: token, SLACK_SIGNING_SECRET: signingSecret } = this.env;
    if (!token || !signingSecret) return {};
    return defineMessengers({ slack: slackMessenger({ token, signingSecret, userName: "assistant" }) });
  }
}
