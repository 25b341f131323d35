import type { LanguageModel } from "ai";
import { Think } from "everthink";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";

export class OnWorkersAI extends Think<{ AI: Ai }> {
  override getModel(): LanguageModel[] {
    return ["@cf/meta/llama-3.3-70b-instruct-fp8-fast", "openai/gpt-5"];
  }

  override resolveModel(id: string): LanguageModel | undefined {
    if (!id.startsWith("@cf/")) return undefined;
    const gateway = this.env.AI.gateway("assistant");
    const ask = async (_address: unknown, { body, signal }: RequestInit = {}) => {
      const query: unknown = JSON.parse(String(body));
      const call = { provider: "workers-ai", endpoint: "v1/chat/completions", headers: {}, query };
      return gateway.run(call, signal ? { signal } : {});
    };
    return createOpenAICompatible({ name: "workers-ai", baseURL: "https://binding.invalid", fetch: ask })(id);
  }
}
