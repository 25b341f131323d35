// A stored answer as the chunks it could have been streamed in, for readers that come when the stream itself is no longer
// kept. Never more chunks than were streamed: their numbers stay below that of the run's end.
import type { UIMessage, UIMessageChunk } from "ai";
import { isToolPart, toolNameOf, type ToolPart } from "../../model/index.ts";

type MessagePart = UIMessage["parts"][number];

export function storedChunks({ id, parts }: UIMessage): UIMessageChunk[] {
  return [{ type: "start", messageId: id }, ...parts.flatMap((part, index) => partChunks(part, String(index)))];
}

function partChunks(part: MessagePart, id: string): UIMessageChunk[] {
  if (isToolPart(part)) return toolChunks(part);
  switch (part.type) {
    case "text":
      return [
        { type: "text-start", id },
        { type: "text-delta", id, delta: part.text },
        { type: "text-end", id }
      ];
    case "reasoning":
      return [
        { type: "reasoning-start", id },
        { type: "reasoning-delta", id, delta: part.text },
        { type: "reasoning-end", id }
      ];
    case "step-start":
      return [{ type: "start-step" }];
    case "file":
      return [{ type: "file", url: part.url, mediaType: part.mediaType }];
    case "source-url":
      return [{ ...part }];
    case "source-document":
      return [{ ...part }];
    default:
      // Custom data parts are their own chunk; what else there may be is not shown.
      return part.type.startsWith("data-") ? [part as UIMessageChunk & MessagePart] : [];
  }
}

function toolChunks(part: ToolPart): UIMessageChunk[] {
  const { toolCallId, input, errorText } = part;
  const call = { toolCallId, ...(part.type === "dynamic-tool" && { dynamic: true }) };
  const called: UIMessageChunk = { type: "tool-input-available", ...call, toolName: toolNameOf(part), input };
  switch (part.state) {
    case "output-available":
      return [called, { type: "tool-output-available", ...call, output: part.output }];
    case "output-error":
      return [called, { type: "tool-output-error", ...call, errorText: errorText ?? "" }];
    default:
      return [called];
  }
}
