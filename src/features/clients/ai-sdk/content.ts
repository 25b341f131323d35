// The parts of a stream as the one result that a call without streaming has.
import type {
  LanguageModelV3Content,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3ToolResult
} from "@ai-sdk/provider";
import type { UIMessage } from "ai";
import { isToolPart } from "../../../model/tool-part.ts";

/** Gathers a stream. `shown` is what the answer had before: a result of one of its calls is of use with that call only. */
export async function gatherContent(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  shown: UIMessage | undefined
): Promise<LanguageModelV3GenerateResult> {
  const content: LanguageModelV3Content[] = [];
  const texts = new Map<string, { type: "text" | "reasoning"; text: string }>();
  let end: Extract<LanguageModelV3StreamPart, { type: "finish" }> | undefined;
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const part = next.value;
    switch (part.type) {
      case "text-start":
      case "reasoning-start": {
        const text = { type: part.type === "text-start" ? ("text" as const) : ("reasoning" as const), text: "" };
        texts.set(part.id, text);
        content.push(text);
        break;
      }
      case "text-delta":
      case "reasoning-delta": {
        const text = texts.get(part.id);
        if (text) text.text += part.delta;
        break;
      }
      case "tool-call":
      case "tool-result":
      case "tool-approval-request":
      case "source":
      case "file":
        // What is not final yet is of use while it streams only.
        if (part.type === "tool-result" && part.preliminary === true) break;
        if (part.type === "tool-result") content.push(...findEarlierCall(part, shown));
        content.push(part);
        break;
      case "error":
        throw part.error;
      case "finish":
        end = part;
        break;
      default:
        break;
    }
  }
  const { finishReason, usage } = end ?? { finishReason: OTHER, usage: NONE };
  return { content, finishReason, usage, warnings: [] };
}

function findEarlierCall({ toolCallId, toolName }: LanguageModelV3ToolResult, shown: UIMessage | undefined) {
  const call = shown?.parts.find((part) => isToolPart(part) && part.toolCallId === toolCallId);
  if (!call || !isToolPart(call)) return [];
  const input = JSON.stringify(call.input) ?? "{}";
  return [{ type: "tool-call" as const, toolCallId, toolName, input, providerExecuted: true, dynamic: true }];
}

const OTHER = { unified: "other", raw: undefined } as const;
const NONE = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined }
};
