// The examples of docs/messengers.md.
import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { defineChannels, type ChannelText } from "everthink/channels";
import discordMessenger from "everthink/messengers/discord";
import slackMessenger from "everthink/messengers/slack";
import teamsMessenger from "everthink/messengers/teams";
import { action, Think, type ApprovalAuthorizationContext } from "everthink";
import type { AgentPathStep } from "everthink/agent";
import { defineMessengers } from "everthink/messengers";
import { z } from "zod";
import { Support } from "./telegram.ts";

interface AllSecrets {
  SLACK_BOT_TOKEN: string;
  SLACK_SIGNING_SECRET: string;
  DISCORD_BOT_TOKEN: string;
  DISCORD_APPLICATION_ID: string;
  DISCORD_PUBLIC_KEY: string;
  TEAMS_APP_ID: string;
  TEAMS_APP_PASSWORD: string;
}

export class Everywhere extends Think<AllSecrets> {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override getMessengers() {
    return defineMessengers({
      slack: slackMessenger({
        token: this.env.SLACK_BOT_TOKEN,
        signingSecret: this.env.SLACK_SIGNING_SECRET,
        userName: "support"
      }),
      discord: discordMessenger({
        token: this.env.DISCORD_BOT_TOKEN,
        applicationId: this.env.DISCORD_APPLICATION_ID,
        publicKey: this.env.DISCORD_PUBLIC_KEY,
        userName: "support"
      }),
      teams: teamsMessenger({
        appId: this.env.TEAMS_APP_ID,
        appPassword: this.env.TEAMS_APP_PASSWORD,
        userName: "support"
      })
    });
  }
}

export class Wider extends Think<AllSecrets> {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  async tokenOf(teamId: string | undefined): Promise<string> {
    return `${this.env.SLACK_BOT_TOKEN}-${teamId}`;
  }

  override getActions() {
    const chart = action({
      description: "Draws the sales as a chart.",
      inputSchema: z.object({}),
      execute: (_input, { attachReply }) => {
        attachReply({ type: "file", path: "/charts/sales.png" });
        return "The chart follows the answer.";
      }
    });
    const order = action({
      description: "Shows an order.",
      inputSchema: z.object({ id: z.string() }),
      execute: ({ id }, { attachReply }) => {
        attachReply({
          type: "card",
          payload: {
            type: "card",
            title: `Order ${id}`,
            children: [
              { type: "fields", children: [{ type: "field", label: "Total", value: "3 EUR" }] },
              { type: "actions", children: [{ type: "button", id: "refund", label: "Refund", value: id }] }
            ]
          }
        });
        return "The order follows the answer.";
      }
    });
    return { chart, order };
  }

  override getMessengers() {
    return defineMessengers({
      slack: slackMessenger({
        token: ({ teamId }) => this.tokenOf(teamId),
        signingSecret: this.env.SLACK_SIGNING_SECRET,
        userName: "support"
      }),
      discord: discordMessenger({
        token: this.env.DISCORD_BOT_TOKEN,
        applicationId: this.env.DISCORD_APPLICATION_ID,
        publicKey: this.env.DISCORD_PUBLIC_KEY,
        gateway: { agent: "main" },
        userName: "support"
      })
    });
  }
}

export const paged: ChannelText[] = [];
const page = (message: ChannelText) => paged.push(message);

export class Concierge extends Think {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override configureChannels() {
    return defineChannels({
      web: { kind: "web", instructions: "Answer with headings and tables." },
      pager: {
        kind: "custom",
        instructions: "Answer in one line.",
        maxTurns: 2,
        tools: () => ({}),
        surface: () => ({ post: (message) => page(message) })
      }
    });
  }
}

/** As your login does it. */
async function staffOf(request: Request): Promise<{ chats: string[] } | undefined> {
  const isStaff = request.headers.get("Cookie") === "session=staff";
  return isStaff ? { chats: ["messenger:telegram:telegram:7"] } : undefined;
}

export class Guarded extends Support {
  override authorizeApproval({ by }: ApprovalAuthorizationContext) {
    return by === "telegram:7" || { allowed: false, reason: "Only Ada may decide this." };
  }

  override async authorizeMessengerConversation(request: Request, { name }: AgentPathStep) {
    const user = await staffOf(request); // your login
    return user !== undefined && user.chats.includes(name);
  }
}
