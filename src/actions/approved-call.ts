// Whether a human has answered about a call, read from the messages the model call was made with: that is where both
// majors of the SDK keep it when an approved call is resumed. Only an answer at the very end counts, as for the SDK: one
// that lies further back was about an earlier call, and some providers give the same id to several. Pure.
import type { ModelMessage } from "ai";
import type { CallApproval } from "../think/actions-port.ts";

/** Undefined: nobody was asked, or nobody has answered. */
export function approvalIn(messages: ReadonlyArray<ModelMessage>, toolCallId: string): CallApproval | undefined {
  const last = messages.at(-1);
  if (last?.role !== "tool") return undefined;
  const { input, approvalIds } = askedAbout(messages, toolCallId);
  for (const part of last.content) {
    if (part.type === "tool-approval-response" && approvalIds.has(part.approvalId)) {
      return { approved: part.approved, input, by: null };
    }
  }
  return undefined;
}

/** The newest call of that id, and the questions asked about it. */
function askedAbout(
  messages: ReadonlyArray<ModelMessage>,
  toolCallId: string
): { input: unknown; approvalIds: ReadonlySet<string> } {
  const approvalIds = new Set<string>();
  for (const message of messages.toReversed()) {
    if (message.role !== "assistant" || typeof message.content === "string") continue;
    const call = message.content.find((part) => part.type === "tool-call" && part.toolCallId === toolCallId);
    for (const part of message.content) {
      if (part.type === "tool-approval-request" && part.toolCallId === toolCallId) approvalIds.add(part.approvalId);
    }
    if (call?.type === "tool-call") return { input: call.input, approvalIds };
  }
  return { input: undefined, approvalIds };
}
