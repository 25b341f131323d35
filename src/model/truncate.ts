// What the model is shown of old messages: recent ones whole, older ones with long tool outputs and texts cut. Stored
// messages are never touched. The boundary between the two moves in steps, so that between two moves the prompt only
// grows at its end and providers find its beginning in their caches. Pure.
import type { UIMessage } from "ai";
import { sliceText, truncateToolOutput, truncationNote } from "../util/truncate-value.ts";
import { asMessagePart, isToolPart, toolNameOf, type MessagePart, type ToolPart } from "./tool-part.ts";

export interface TruncateOptions {
  /** At least this many newest messages stay whole. Default 4. */
  readonly keepRecent?: number;
  /** The boundary moves when this many further messages have aged. Default 8; 1 moves it with every message. */
  readonly step?: number;
  /** Longer outputs are shrunk. Default 500. */
  readonly maxOutputChars?: number;
  /** Longer texts are cut. Default 10,000. */
  readonly maxTextChars?: number;
  /** How many messages of the conversation come before the first one given. Default 0. */
  readonly offset?: number;
  /**
   * Outputs to keep whole: a key for each, e.g. the skill it loaded. Of old outputs with the same key only the newest
   * is kept. Undefined: not exempt.
   */
  readonly keepOutput?: (call: { toolName: string; input: unknown; output: unknown }) => string | undefined;
  /** All outputs kept that way together have at most this many characters, newest first. Default 100,000. */
  readonly maxKeptChars?: number;
  /** Cuts an old output that is longer than `maxChars`; otherwise gives the same one. By default its shape is kept. */
  readonly cutOutput?: (call: CutCall, maxChars: number) => unknown;
}

export interface CutCall {
  readonly message: UIMessage;
  readonly toolCallId: string;
  readonly output: unknown;
}

const DEFAULTS = {
  keepRecent: 4,
  step: 8,
  maxOutputChars: 500,
  maxTextChars: 10_000,
  offset: 0,
  maxKeptChars: 100_000
};

/** The messages as the model should see them. Unchanged messages are the same objects. */
export function truncateOldMessages(messages: readonly UIMessage[], options: TruncateOptions = {}): UIMessage[] {
  const limits = { ...DEFAULTS, ...options };
  const boundary = truncationBoundary(messages.length, limits);
  const kept = keptCallIds(messages.slice(0, boundary), limits);
  return messages.map((message, index) => (index < boundary ? truncateMessage(message, limits, kept) : message));
}

/** How many of the first messages are truncated. Depends on positions in the conversation, not in the list given. */
export function truncationBoundary(
  count: number,
  options: Pick<TruncateOptions, "keepRecent" | "step" | "offset">
): number {
  const { keepRecent, step, offset } = { ...DEFAULTS, ...options };
  const aged = Math.max(0, offset + count - Math.max(0, keepRecent));
  const wholeSteps = Math.max(1, Math.floor(step));
  return Math.min(count, Math.max(0, Math.floor(aged / wholeSteps) * wholeSteps - offset));
}

type Limits = typeof DEFAULTS & Pick<TruncateOptions, "keepOutput" | "cutOutput">;

/** Decided among old messages only: a new result for the same key must not change the prompt before the next step. */
function keptCallIds(messages: readonly UIMessage[], limits: Limits): ReadonlySet<string> {
  const kept = new Set<string>();
  if (limits.keepOutput === undefined) return kept;
  const keys = new Set<string>();
  let left = limits.maxKeptChars;
  for (const message of messages.toReversed()) {
    for (const part of message.parts.toReversed()) {
      if (!isToolPart(part) || part.state !== "output-available") continue;
      const key = limits.keepOutput({ toolName: toolNameOf(part), input: part.input, output: part.output });
      if (key === undefined || keys.has(key)) continue;
      keys.add(key);
      left -= (JSON.stringify(part.output) ?? "").length;
      if (left < 0) return kept;
      kept.add(part.toolCallId);
    }
  }
  return kept;
}

function truncateMessage(message: UIMessage, limits: Limits, kept: ReadonlySet<string>): UIMessage {
  let changed = false;
  const parts = message.parts.map((part): MessagePart => {
    if (isToolPart(part) && kept.has(part.toolCallId)) return part;
    const next = isToolPart(part) ? truncateCall(part, message, limits) : truncateTextPart(part, limits);
    if (next !== part) changed = true;
    return next;
  });
  return changed ? { ...message, parts } : message;
}

function truncateCall(part: ToolPart & MessagePart, message: UIMessage, limits: Limits): MessagePart {
  if (part.state !== "output-available") return part;
  const { maxOutputChars, cutOutput } = limits;
  const { toolCallId, output: whole } = part;
  const output =
    cutOutput?.({ message, toolCallId, output: whole }, maxOutputChars) ?? truncateToolOutput(whole, maxOutputChars);
  return output === part.output ? part : asMessagePart({ ...part, output });
}

function truncateTextPart(part: MessagePart, limits: Limits): MessagePart {
  const maxChars = limits.maxTextChars;
  if (part.type !== "text" || part.text.length <= maxChars) return part;
  return { ...part, text: sliceText(part.text, maxChars) + truncationNote(part.text.length) };
}
