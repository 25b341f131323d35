// A client's or a person's answer to a tool call, applied to the message that asked. Pure: parts only move forward,
// the first answer wins, and what does not match changes nothing.
import type { UIMessage } from "ai";
import { asMessagePart, isSettledToolPart, isToolPart, type ToolPart } from "../model/index.ts";

export const DEFAULT_ERROR_TEXT = "Tool execution denied by user";

const ANSWERABLE = new Set(["input-available", "approval-requested", "approval-responded"]);
const APPROVABLE = new Set(["input-available", "approval-requested"]);

export interface ToolResult {
  readonly toolCallId: string;
  readonly output: unknown;
  readonly errorText?: string;
}

/** The message with the call settled, or undefined when there was nothing to settle. */
export function withToolResult(message: UIMessage, result: ToolResult): UIMessage | undefined {
  return withPart(message, result.toolCallId, (part) => {
    if (!ANSWERABLE.has(part.state)) return undefined;
    if (result.errorText !== undefined) return { ...part, state: "output-error", errorText: result.errorText };
    return { ...part, state: "output-available", output: result.output, preliminary: false };
  });
}

/** The message with the approval answered, or undefined when none was asked for. */
export function withApproval(message: UIMessage, toolCallId: string, approved: boolean): UIMessage | undefined {
  return withPart(message, toolCallId, (part) => {
    if (!APPROVABLE.has(part.state)) return undefined;
    const approval = { id: toolCallId, ...part.approval, approved };
    return { ...part, state: approved ? "approval-responded" : "output-denied", approval };
  });
}

/** Some calls of the message are answered and some still wait: going on now would ignore the rest. */
export function isHalfAnswered(message: UIMessage): boolean {
  const parts = message.parts.flatMap((part) => (isToolPart(part) ? [part] : []));
  const answered = parts.some((part) => isSettledToolPart(part) || part.state === "approval-responded");
  return answered && parts.some((part) => APPROVABLE.has(part.state));
}

function withPart(
  message: UIMessage,
  toolCallId: string,
  change: (part: ToolPart) => ToolPart | undefined
): UIMessage | undefined {
  const index = message.parts.findIndex((part) => isToolPart(part) && part.toolCallId === toolCallId);
  const part = message.parts[index];
  const changed = part && isToolPart(part) ? change(part) : undefined;
  if (!changed) return undefined;
  return { ...message, parts: message.parts.with(index, asMessagePart(changed)) };
}
