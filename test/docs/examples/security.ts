import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think } from "everthink";
import { routeAgentRequest, type Connection, type ConnectionContext, type RouteTarget } from "everthink/agent";

interface Env {
  Assistant: DurableObjectNamespace<Assistant>;
}

/** As your login does it. */
async function userOf(request: Request): Promise<{ id: string } | undefined> {
  const id = /session=(\w+)/.exec(request.headers.get("Cookie") ?? "")?.[1];
  return id === undefined ? undefined : { id };
}

export class Assistant extends Think<Env> {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override shouldConnectionBeReadonly(_connection: Connection, { request }: ConnectionContext) {
    return new URL(request.url).searchParams.has("watch");
  }
}

async function onlyOwners(request: Request, { name }: RouteTarget) {
  const user = await userOf(request); // your login
  if (user?.id !== name) return new Response("Not your conversation", { status: 403 });
}

export default {
  async fetch(request: Request, env: Env) {
    const response = await routeAgentRequest(request, env, {
      onBeforeConnect: onlyOwners, // WebSockets
      onBeforeRequest: onlyOwners, // everything else: chat over HTTP, get-messages, approvals, onRequest
      allowedOrigins: ["https://app.example.com"] // a page on another host than the Worker
    });
    return response ?? new Response("Not found", { status: 404 });
  }
};
