// A bot in all four providers that asks before it does anything, with hooks that take their time. Where the fake servers are,
// and what counts effects, is part of the agent's name: it is all a worker is given here.
import { action, Think } from "everthink";
import { routeAgentRequest } from "everthink/agent";
import discordMessenger from "everthink/messengers/discord";
import slackMessenger from "everthink/messengers/slack";
import teamsMessenger from "everthink/messengers/teams";
import telegramMessenger from "everthink/messengers/telegram";
import { z } from "zod";
import { reply, scriptedModel, text, toolCall } from "../../../src/testing/model/index.ts";
import { scriptOf, type ApprovalPlaces } from "./approval-plan.ts";

interface Env {
  Clerk: DurableObjectNamespace<Clerk>;
}

/** Before and after an effect it is time for a kill. */
const AROUND_MS = 40;
const HOOK_MS = 150;

function jobIn(content: unknown): string | undefined {
  return /job-[a-z]+\d+/.exec(JSON.stringify(content))?.[0];
}

export class Clerk extends Think<Env> {
  static override options = { keepAliveIntervalMs: 300 };
  override workspaceTools = false;

  override getModel() {
    return scriptedModel((call) => {
      // A turn that goes on may end with a message of its own.
      const asked = call.prompt.findLastIndex(({ role, content }) => role === "user" && jobIn(content) !== undefined);
      const since = JSON.stringify(call.prompt.slice(asked));
      const job = jobIn(since) ?? "job-lost";
      if (since.includes(`did ${job}`)) return reply(text(`Finished ${job}: done.`));
      if (since.includes('"paused"')) return reply(text(`Please approve ${job}.`));
      // What was cut off after the approval may have been done: it is said, and not done again.
      if (since.includes(`Please approve ${job}`)) return reply(text(`Finished ${job}: not known.`));
      return reply(toolCall("run", { job, script: scriptOf(job) }));
    });
  }

  override getActions() {
    return {
      run: action({
        description: "Runs a script.",
        inputSchema: z.object({ job: z.string(), script: z.string() }),
        kind: "durable-pause",
        execute: async ({ job }) => {
          await scheduler.wait(AROUND_MS);
          const effect = new URLSearchParams({ run: job, name: "effect" });
          await (await fetch(`http://127.0.0.1:${this.#places().effectsPort}/?${effect}`)).text();
          await scheduler.wait(AROUND_MS);
          return `did ${job}`;
        }
      })
    };
  }

  override async beforeTurn() {
    await scheduler.wait(HOOK_MS);
  }

  override async authorizeApproval() {
    await scheduler.wait(HOOK_MS);
    return true;
  }

  override async onChatResponse() {
    await scheduler.wait(HOOK_MS);
  }

  override getMessengers() {
    const { urls, discordKey } = this.#places();
    const common = {
      userName: "support_bot",
      debounceMs: 10,
      delivery: { editIntervalMs: () => 40, pace: [] }
    };
    return {
      telegram: telegramMessenger({ ...common, token: "1:test", secretToken: "secret", apiUrl: urls.telegram }),
      slack: slackMessenger({ ...common, token: "xoxb-test", signingSecret: "signing", apiUrl: urls.slack }),
      discord: discordMessenger({
        ...common,
        token: "bot",
        applicationId: "1",
        publicKey: discordKey,
        apiUrl: urls.discord
      }),
      teams: teamsMessenger({
        ...common,
        appId: "app",
        token: () => "access-token",
        serviceUrls: [urls.teams],
        openIdUrl: `${urls.teams}/openidconfiguration`
      })
    };
  }

  /** Of the root: a thread's agent is one of its sub-agents. */
  #places(): ApprovalPlaces {
    return JSON.parse(atob(this.parentPath[0]?.name ?? this.name)) as ApprovalPlaces;
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
