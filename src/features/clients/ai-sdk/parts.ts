// Chunks of a durable agent's answer as parts of a language model's stream. Steps inside the answer are not shown: to its
// caller the whole answer is one step.
import type { LanguageModelV3FinishReason, LanguageModelV3StreamPart, LanguageModelV3Usage } from "@ai-sdk/provider";
import type { UIMessage, UIMessageChunk } from "ai";
import { isObject } from "../../../util/json.ts";
import { continueFold, foldChunk, foldedMessage, startFold, type MessageFold } from "../../../model/message-fold.ts";
import { isToolPart, toolNameOf } from "../../../model/tool-part.ts";
import { normaliseUsage } from "../../../model/usage.ts";

type Part = LanguageModelV3StreamPart;
type Source = Extract<UIMessageChunk, { type: "source-url" | "source-document" }>;
type Outcome = { readonly result: unknown; readonly isError?: true; readonly preliminary?: boolean };

const DENIED = "The call was denied.";

/** Reads the chunks of one answer. */
export class ChunkParts {
  /** Names of tools that the caller runs. */
  readonly #runsHere: ReadonlySet<string>;
  #fold: MessageFold;
  /** Calls whose input is being streamed, with their names. */
  readonly #open = new Map<string, string>();
  /** Ids of calls that the caller runs. */
  readonly #waiting = new Set<string>();
  #reason: LanguageModelV3FinishReason = { unified: "other", raw: undefined };

  /** `extended` is the answer that these chunks add to. */
  constructor(extended: UIMessage | undefined, runsHere: ReadonlySet<string>) {
    this.#runsHere = runsHere;
    this.#fold = extended ? continueFold(extended) : startFold("");
  }

  /** What the chunks add up to. */
  get answer(): UIMessage {
    return foldedMessage(this.#fold);
  }

  read(chunk: UIMessageChunk): Part[] {
    this.#fold = foldChunk(this.#fold, chunk);
    switch (chunk.type) {
      case "text-start":
      case "text-end":
      case "reasoning-start":
      case "reasoning-end":
        return [{ type: chunk.type, id: chunk.id }];
      case "text-delta":
      case "reasoning-delta":
        return [{ type: chunk.type, id: chunk.id, delta: chunk.delta }];
      case "start":
        return [{ type: "response-metadata", id: chunk.messageId }];
      case "finish":
        this.#reason = { unified: readReason(chunk.finishReason), raw: chunk.finishReason };
        return [];
      case "error":
        this.#reason = { unified: "error", raw: undefined };
        return [{ type: "error", error: new Error(chunk.errorText) }];
      case "source-url":
      case "source-document":
        return [readSource(chunk)];
      case "file":
        return readFile(chunk);
      default:
        return this.#readCall(chunk);
    }
  }

  end(): Part {
    const isAsked = this.#waiting.size > 0;
    const finishReason = isAsked ? { unified: "tool-calls" as const, raw: undefined } : this.#reason;
    return { type: "finish", finishReason, usage: readUsage(this.answer.metadata) };
  }

  #readCall(chunk: UIMessageChunk): Part[] {
    switch (chunk.type) {
      case "tool-input-start": {
        const { toolCallId: id, toolName } = chunk;
        this.#open.set(id, toolName);
        return [{ type: "tool-input-start", id, toolName, ...this.#whoRuns(toolName) }];
      }
      case "tool-input-delta":
        return [{ type: "tool-input-delta", id: chunk.toolCallId, delta: chunk.inputTextDelta }];
      case "tool-input-available":
        return this.#call(chunk.toolCallId, chunk.toolName, chunk.input);
      case "tool-approval-request":
        return [{ type: "tool-approval-request", approvalId: chunk.approvalId, toolCallId: chunk.toolCallId }];
      case "tool-output-available": {
        const { preliminary } = chunk;
        return this.#outcome(chunk.toolCallId, { result: chunk.output, preliminary });
      }
      case "tool-input-error":
      case "tool-output-error":
        return this.#outcome(chunk.toolCallId, { result: chunk.errorText, isError: true });
      case "tool-output-denied":
        return this.#outcome(chunk.toolCallId, { result: DENIED, isError: true });
      default:
        // Steps, data and metadata.
        return [];
    }
  }

  #call(toolCallId: string, toolName: string, input: unknown): Part[] {
    const runner = this.#whoRuns(toolName);
    if (!runner.providerExecuted) this.#waiting.add(toolCallId);
    const ended: Part[] = this.#open.delete(toolCallId) ? [{ type: "tool-input-end", id: toolCallId }] : [];
    return [...ended, { type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) ?? "{}", ...runner }];
  }

  /** Gives the outcome of a call that ran elsewhere. One that ran here, its caller knows. */
  #outcome(toolCallId: string, { result, ...how }: Outcome): Part[] {
    const part = this.answer.parts.find((one) => isToolPart(one) && one.toolCallId === toolCallId);
    if (!part || !isToolPart(part)) return [];
    const toolName = toolNameOf(part);
    if (this.#runsHere.has(toolName)) return [];
    // A stored answer is replayed without the chunk that says the input is complete.
    const call = this.#open.has(toolCallId) ? this.#call(toolCallId, toolName, part.input) : [];
    // The SDK takes any JSON but null.
    return [
      ...call,
      { type: "tool-result", toolCallId, toolName, result: (result ?? "") as never, ...how, dynamic: true }
    ];
  }

  #whoRuns(toolName: string) {
    return this.#runsHere.has(toolName)
      ? { providerExecuted: false, dynamic: false }
      : { providerExecuted: true, dynamic: true };
  }
}

const REASONS: ReadonlySet<string> = new Set(["stop", "length", "content-filter", "error"]);

function readReason(reason: string | undefined): LanguageModelV3FinishReason["unified"] {
  // A durable agent that ends with calls waits for another client.
  return reason !== undefined && REASONS.has(reason) ? (reason as LanguageModelV3FinishReason["unified"]) : "stop";
}

/** Reads the usage that a class with `sendUsage` reports. */
function readUsage(metadata: unknown): LanguageModelV3Usage {
  const usage = normaliseUsage(isObject(metadata) ? metadata["usage"] : undefined);
  const { inputTokens, outputTokens, reasoningTokens, cachedInputTokens } = usage;
  return {
    inputTokens: {
      total: inputTokens,
      noCache: inputTokens === undefined ? undefined : inputTokens - (cachedInputTokens ?? 0),
      cacheRead: cachedInputTokens,
      cacheWrite: undefined
    },
    outputTokens: {
      total: outputTokens,
      text: outputTokens === undefined ? undefined : outputTokens - (reasoningTokens ?? 0),
      reasoning: reasoningTokens
    }
  };
}

function readSource(chunk: Source): Part {
  const { sourceId: id } = chunk;
  if (chunk.type === "source-url") return { type: "source", sourceType: "url", id, url: chunk.url, title: chunk.title };
  const { mediaType, title, filename } = chunk;
  return { type: "source", sourceType: "document", id, mediaType, title, filename };
}

/** Reads a file. A model's file is its bytes: one that is elsewhere cannot be shown. */
function readFile({ url, mediaType }: { readonly url: string; readonly mediaType: string }): Part[] {
  const data = /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1];
  return data === undefined ? [] : [{ type: "file", mediaType, data }];
}
