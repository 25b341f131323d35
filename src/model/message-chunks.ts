// A stored message as the stream that makes it: for clients that can only be sent an answer as chunks. The inverse of
// `foldChunk`, as far as the AI SDK's own fold in a client goes. Only chunk types that `ai` 6 and 7 both know, apart from
// parts that `ai` 6 has none of. Pure.
import type { UIMessage, UIMessageChunk } from "ai";
import { isToolPart, toolNameOf, type MessagePart, type ToolPart } from "./tool-part.ts";

/** The whole message, from `start` to `finish`. */
export function messageChunks(message: UIMessage): UIMessageChunk[] {
  return [...openingChunks(message), { type: "finish" }];
}

/**
 * The same without its end: more parts follow. `isWatched`: the reader runs no tools, so that a call is one chunk with its
 * whole input, whatever came of it. These are never more chunks than the message was streamed in.
 */
export function openingChunks({ id, metadata, parts }: UIMessage, isWatched = false): UIMessageChunk[] {
  const start = { type: "start", messageId: id, ...(metadata !== undefined && { messageMetadata: metadata }) } as const;
  return [start, ...parts.flatMap((part, index) => partChunks(part, index, isWatched))];
}

/** The rest of a message, for a client that shows so many parts of it. */
export function partsAfter({ parts }: UIMessage, count: number): UIMessageChunk[] {
  return parts.slice(count).flatMap((part, index) => partChunks(part, count + index));
}

/** What tells a client that shows a call how the call ended; undefined while it has not. */
export function outcomeChunk(part: ToolPart): UIMessageChunk | undefined {
  const { toolCallId } = part;
  const shared = { toolCallId, ...(part.type === "dynamic-tool" && { dynamic: true }) };
  switch (part.state) {
    case "output-available": {
      const { preliminary, approvalDescriptor } = part;
      return {
        type: "tool-output-available",
        ...shared,
        output: part.output,
        ...(preliminary === true && { preliminary }),
        ...(part.providerExecuted === true && { providerExecuted: true }),
        // Ours: clients ignore fields that they do not know.
        ...(approvalDescriptor !== undefined && { approvalDescriptor })
      };
    }
    case "output-error":
      return { type: "tool-output-error", ...shared, errorText: part.errorText ?? "" };
    case "output-denied":
      return { type: "tool-output-denied", toolCallId };
    case "input-streaming":
    case "input-available":
    case "approval-requested":
    case "approval-responded":
      return undefined;
  }
}

function partChunks(part: MessagePart, index: number, isWatched = false): UIMessageChunk[] {
  if (isToolPart(part)) return toolChunks(part, isWatched);
  const id = `part-${index}`;
  switch (part.type) {
    case "text":
    case "reasoning": {
      const metadata = part.providerMetadata && { providerMetadata: part.providerMetadata };
      return [
        { type: `${part.type}-start`, id, ...metadata },
        { type: `${part.type}-delta`, id, delta: part.text },
        { type: `${part.type}-end`, id, ...metadata }
      ];
    }
    case "step-start":
      return [{ type: "start-step" }];
    default:
      // Files, sources, data and custom parts have exactly the fields of the chunk they come from.
      return [part as UIMessageChunk];
  }
}

function toolChunks(part: ToolPart, isWatched: boolean): UIMessageChunk[] {
  const { toolCallId, title, callProviderMetadata, approval } = part;
  const call = {
    toolCallId,
    toolName: toolNameOf(part),
    ...(part.type === "dynamic-tool" && { dynamic: true }),
    ...(part.providerExecuted === true && { providerExecuted: true }),
    ...(title !== undefined && { title }),
    // Stored as the provider gave it.
    ...(callProviderMetadata !== undefined && { providerMetadata: callProviderMetadata as never })
  };
  const outcome = outcomeChunk(part);
  if (isWatched || part.state === "input-available" || part.state === "approval-requested") {
    const request: UIMessageChunk[] =
      part.state === "approval-requested" && approval ? [approvalChunk(toolCallId, approval)] : [];
    return [{ type: "tool-input-available", ...call, input: part.input }, ...request, ...(outcome ? [outcome] : [])];
  }
  // Not `tool-input-available`: a client would take it for a call that waits, and run a tool of its own again.
  const input = JSON.stringify(part.input);
  return [
    { type: "tool-input-start", ...call },
    ...(input === undefined ? [] : [{ type: "tool-input-delta" as const, toolCallId, inputTextDelta: input }]),
    ...(outcome ? [outcome] : [])
  ];
}

function approvalChunk(toolCallId: string, approval: NonNullable<ToolPart["approval"]>): UIMessageChunk {
  const { id, descriptor } = approval;
  return {
    type: "tool-approval-request",
    approvalId: id,
    toolCallId,
    ...(descriptor !== undefined && { approvalDescriptor: descriptor })
  };
}
