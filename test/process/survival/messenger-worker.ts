// A bot in all four providers. Where their fake servers are is part of the agent's name: it is all a worker is given here.
import { Think } from "everthink";
import { routeAgentRequest } from "everthink/agent";
import discordMessenger from "everthink/messengers/discord";
import slackMessenger from "everthink/messengers/slack";
import teamsMessenger from "everthink/messengers/teams";
import telegramMessenger from "everthink/messengers/telegram";
import { reply, scriptedModel, text, waitFor } from "../../../src/testing/model/index.ts";

interface Env {
  Bot: DurableObjectNamespace<Bot>;
}

interface Places {
  readonly urls: {
    readonly telegram: string;
    readonly slack: string;
    readonly discord: string;
    readonly teams: string;
  };
  readonly discordKey: string;
  /** The Gateway that this agent keeps a socket to. */
  readonly gatewayUrl?: string;
}

/** Between two pieces of an answer: long enough for kills to fall into answers. */
const PIECE_MS = 60;

export class Bot extends Think<Env> {
  static override options = { keepAliveIntervalMs: 300 };
  // What the model is shown is the question.
  override hydrationByteBudget = 2_000;

  override getModel() {
    const pause = () => waitFor(() => scheduler.wait(PIECE_MS));
    return scriptedModel((call) => {
      const prompt = JSON.stringify(call.prompt);
      const word = prompt.match(/word-\w+/g)?.at(-1) ?? "";
      const beginning = `This is the long beginning of the whole answer to ${word}`;
      const middle = ", and this";
      const end = [pause(), text(" is its end.")];
      // An interrupted answer is continued from where it was.
      if (prompt.includes(`${beginning}${middle}`)) return reply(...end);
      const rest = [pause(), text(middle), ...end];
      return prompt.includes(beginning) ? reply(...rest) : reply(text(beginning), ...rest);
    });
  }

  override getMessengers() {
    const { urls, discordKey, gatewayUrl } = JSON.parse(atob(this.name)) as Places;
    const common = {
      userName: "support_bot",
      conversation: "self" as const,
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
        ...(gatewayUrl !== undefined && { gateway: { agent: this.name, url: gatewayUrl } }),
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
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
