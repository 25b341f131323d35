// The same agent as a class without capabilities: what a turn, a start and a bundle cost without them.
import { tool, type UIMessage } from "ai";
import { routeAgentRequest } from "everthink/agent";
import { ThinkCore } from "everthink/core";
import { z } from "zod";
import { answerMeter, meterObject } from "./meter.ts";
import { scriptedModelV4 } from "./model.ts";

interface Env {
  Chat: DurableObjectNamespace<Chat>;
}

export class Chat extends ThinkCore<Env> {
  override maxSteps = 20;

  constructor(ctx: DurableObjectState, env: Env) {
    meterObject(ctx);
    super(ctx, env);
  }

  override getModel() {
    return scriptedModelV4();
  }

  override getTools() {
    return {
      echo: tool({
        description: "Returns what it is given.",
        inputSchema: z.object({ text: z.string() }),
        execute: async ({ text }) => text
      })
    };
  }

  /** A client may not post what an assistant said, so a past is given through here. */
  override async onRequest(request: Request): Promise<Response> {
    if (request.method === "POST") await this.addMessages(await request.json<UIMessage[]>());
    return Response.json({ databaseSize: this.ctx.storage.sql.databaseSize });
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return (
      answerMeter(request) ?? (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 })
    );
  }
};
