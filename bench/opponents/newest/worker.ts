// The original, @cloudflare/think 0.23.0 with `ai` 7, written as its documentation says: nothing but a model and a tool.
import { Think } from "@cloudflare/think";
import { routeAgentRequest } from "agents";
import { tool } from "ai";
import { z } from "zod";
import { answerMeter, meterObject } from "../../workers/meter.ts";
import { scriptedModelV4 } from "../../workers/model.ts";

interface Env {
  Chat: DurableObjectNamespace<Chat>;
}

export class Chat extends Think<Env> {
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

  override async onRequest(): Promise<Response> {
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
