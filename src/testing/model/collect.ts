// The answer of a call that was not streamed, folded from the same parts that a stream would have carried.
import { responseHeaders } from "./play.ts";
import type { Reply } from "./step.ts";
import type { FinishReason, GenerateResult, NeutralContent, NeutralPart, ProviderMetadata } from "./stream-part.ts";

export type NeutralResult = GenerateResult<NeutralContent, FinishReason>;

/** Throws on an error part and on a cut stream: a provider that answers in one piece can only refuse. */
export async function collect(reply: Reply, parts: AsyncIterable<NeutralPart>): Promise<NeutralResult> {
  const content = new ContentFold();
  const about: Pick<NeutralResult, "response" | "warnings"> = { response: { ...responseHeaders(reply) }, warnings: [] };
  for await (const part of parts) {
    switch (part.type) {
      case "stream-start":
        about.warnings = part.warnings;
        break;
      case "response-metadata": {
        const { type: _type, ...info } = part;
        about.response = { ...info, ...about.response };
        break;
      }
      case "error":
        throw part.error;
      case "finish": {
        const { type: _type, ...end } = part;
        return { content: content.list, ...about, ...end };
      }
      default:
        content.add(part);
    }
  }
  throw new Error("The connection was closed before the response was complete.");
}

type ContentStreamPart = Exclude<NeutralPart, { type: "stream-start" | "response-metadata" | "error" | "finish" }>;

class ContentFold {
  readonly list: NeutralContent[] = [];
  readonly #blocks = new Map<string, { text: string; providerMetadata?: ProviderMetadata }>();

  add(part: ContentStreamPart): void {
    switch (part.type) {
      case "text-start":
      case "text-delta":
      case "text-end":
        this.#extend("text", part);
        return;
      case "reasoning-start":
      case "reasoning-delta":
      case "reasoning-end":
        this.#extend("reasoning", part);
        return;
      case "tool-input-start":
      case "tool-input-delta":
      case "tool-input-end":
        return;
      default:
        // Tool calls, results, sources and files are content as they are; so are raw parts of kinds we do not know.
        this.list.push(part);
    }
  }

  #extend(type: "text" | "reasoning", part: { id: string; delta?: string; providerMetadata?: ProviderMetadata }): void {
    const key = `${type} ${part.id}`;
    let block = this.#blocks.get(key);
    if (block === undefined) {
      const opened = { type, text: "" };
      this.#blocks.set(key, opened);
      this.list.push(opened);
      block = opened;
    }
    block.text += part.delta ?? "";
    if (part.providerMetadata !== undefined) block.providerMetadata = part.providerMetadata;
  }
}
