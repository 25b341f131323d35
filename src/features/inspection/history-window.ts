// What of the conversation a turn's model was given: which messages, which of them cut, and what stands for compacted
// ones. Pure.
import type { UIMessage } from "ai";
import { isToolPart } from "../../model/index.ts";
import type { StoredCompaction } from "../../session/session-provider.ts";
import { isCompactionMessage } from "../../session/session-message.ts";
import { messagePreview } from "./shown-messages.ts";
import { preview, shownText } from "./shown-text.ts";
import type { HistoryWindow, WindowEntry } from "./views.ts";

/** Messages that are listed, and compactions. */
const LISTED = 200;
const LISTED_COMPACTIONS = 20;

export interface WindowInput {
  /** The path before the answer, as it is stored. */
  readonly stored: { readonly messages: number; readonly bytes: number };
  /** What the byte budget let through, and the same as the model is shown it. */
  readonly history: readonly UIMessage[];
  readonly shown: readonly UIMessage[];
  readonly budgetBytes: number;
  readonly compactions: readonly StoredCompaction[];
}

export function historyWindow({ stored, history, shown, budgetBytes, compactions }: WindowInput): HistoryWindow {
  const from = Math.max(0, history.length - LISTED);
  const entries = history.slice(from).map((message, index) => entryOf(message, shown[from + index] ?? message));
  return {
    storedMessages: stored.messages,
    storedBytes: stored.bytes,
    shownMessages: history.length,
    budgetBytes: Number.isFinite(budgetBytes) && budgetBytes > 0 ? budgetBytes : null,
    entries: entries.reverse(),
    compactions: compactions.slice(-LISTED_COMPACTIONS).map(({ summary, ...rest }) => ({
      ...rest,
      summary: shownText(summary)
    }))
  };
}

function entryOf(whole: UIMessage, shown: UIMessage): WindowEntry {
  const isCut = shown !== whole && JSON.stringify(shown.parts) !== JSON.stringify(whole.parts);
  return {
    messageId: whole.id,
    role: whole.role,
    shown: isCompactionMessage(whole) ? "summary" : isCut ? "truncated" : "whole",
    chars: sizeOf(shown),
    wholeChars: sizeOf(whole),
    cutCalls: isCut ? cutCalls(whole, shown) : [],
    preview: messagePreview(whole) ?? preview(whole.parts.map(({ type }) => type).join(", "))
  };
}

function cutCalls(whole: UIMessage, shown: UIMessage): string[] {
  return shown.parts.flatMap((part, index) => {
    const before = whole.parts[index];
    if (part === before || !isToolPart(part) || !before || !isToolPart(before)) return [];
    return part.output === before.output ? [] : [part.toolCallId];
  });
}

function sizeOf({ parts }: UIMessage): number {
  return JSON.stringify(parts).length;
}
