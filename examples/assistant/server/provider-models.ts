// From a choice to a model of the AI SDK. Nothing is sent before the model is asked.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { Model } from "./language-model.ts";
import type { RemoteChoice } from "./models.ts";

export function remoteModel(choice: RemoteChoice): Model {
  const { provider, modelId, apiKey } = choice;
  switch (provider) {
    case "openai":
      return createOpenAI({ apiKey })(modelId);
    case "anthropic":
      return createAnthropic({ apiKey })(modelId);
    case "google":
      return createGoogleGenerativeAI({ apiKey })(modelId);
    case "compatible":
      // Without this such servers do not count tokens.
      return createOpenAICompatible({ name: "compatible", baseURL: choice.baseUrl, apiKey, includeUsage: true })(
        modelId
      );
  }
}
