// The examples of the OpenAI section of docs/connect.md.
import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think } from "everthink";
import { hasBearerToken, routeAgentRequest } from "everthink/agent";
import OpenAI, { type ClientOptions } from "openai";

export interface Env {
  Assistant: DurableObjectNamespace<Assistant>;
  API_KEY: string;
}

export class Assistant extends Think<Env> {
  override openAIEndpoint = true;

  override getModel(): LanguageModel {
    return openai("gpt-5");
  }
}

export default {
  async fetch(request: Request, env: Env) {
    const url = new URL(request.url);
    if (url.pathname.startsWith("/v1/")) {
      const conversation = request.headers.get("X-Conversation") ?? "default";
      url.pathname = `/agents/assistant/${encodeURIComponent(conversation)}${url.pathname}`;
    }
    const authorize = (asking: Request) => {
      if (!hasBearerToken(asking, env.API_KEY)) return new Response("No", { status: 401 });
    };
    const response = await routeAgentRequest(new Request(url, request), env, {
      onBeforeRequest: authorize,
      onBeforeConnect: authorize
    });
    return response ?? new Response("Not found", { status: 404 });
  }
};

export async function askAssistant(question: string, options: ClientOptions) {
  const openai = new OpenAI({ ...options, defaultHeaders: { "X-Conversation": "ada" } });
  const { output_text } = await openai.responses.create({ model: "assistant", input: question });
  return output_text;
}
