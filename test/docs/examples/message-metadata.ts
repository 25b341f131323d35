import { openai } from "@ai-sdk/openai";
import { Think, type MessageMetadataCallback } from "everthink";

export class Assistant extends Think {
  override getModel() {
    return openai("gpt-5");
  }

  override messageMetadata: MessageMetadataCallback = ({ part }) => {
    if (part.type === "start") return { createdAt: Date.now() };
    if (part.type === "finish-step") return { model: part.response.modelId };
    return undefined;
  };
}
