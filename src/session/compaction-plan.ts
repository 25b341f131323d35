// What of a compaction function's answer may be carried out. The answer comes from a user's code and a model, so it is
// made safe: real ends in the right order, no call split from its result or covered while it is open, the newest message
// always visible, and nothing hidden that is longer than it was. Pure.
import { alignBoundaryBackward, alignBoundaryForward, firstOpenCall } from "./compaction-boundary.ts";
import type { CompactResult } from "./compact-function.ts";
import { overlayIdOf } from "./overlay-rows.ts";
import { isCompactionMessage, type SessionMessage } from "./session-message.ts";
import type { StoredCompaction } from "./session-provider.ts";
import { estimateMessageTokens } from "./tokens.ts";

export interface PlanOptions {
  readonly stored: readonly StoredCompaction[];
  /** What stands below the summary. */
  readonly noteFor?: SummaryNote | undefined;
}

/** What a summary at the end of `past` must keep word for word; undefined: nothing. `history` goes on behind it. */
export type SummaryNote = (past: readonly SessionMessage[], history: readonly SessionMessage[]) => string | undefined;

/** `history`: what the function was given. Null: nothing that would shorten it. */
export function planCompaction(
  history: readonly SessionMessage[],
  given: CompactResult,
  { stored, noteFor }: PlanOptions
): CompactResult | null {
  const written = given.summary.trim();
  if (written === "") return null;
  const range = safeRange(history, given);
  if (range === null) return null;
  const covered = history.slice(range.start, range.end);
  const note = noteFor?.(history.slice(0, range.end), history);
  const summary = note === undefined ? written : `${written}\n\n${note}`;
  const shown = { id: "summary", role: "assistant", parts: [{ type: "text", text: summary }] };
  if (estimateMessageTokens(shown) >= estimateMessageTokens(covered)) return null;
  const fromMessageId = endOf(covered.at(0), stored, "fromMessageId");
  const toMessageId = endOf(covered.at(-1), stored, "toMessageId");
  if (fromMessageId === undefined || toMessageId === undefined) return null;
  return { fromMessageId, toMessageId, summary };
}

function safeRange(
  history: readonly SessionMessage[],
  { fromMessageId, toMessageId }: CompactResult
): { start: number; end: number } | null {
  const first = history.findIndex(({ id }) => id === fromMessageId);
  const last = history.findIndex(({ id }) => id === toMessageId);
  if (first === -1 || last < first) return null;
  let start = alignBoundaryForward(history, first);
  // The newest message may still be written to, or be the question to answer.
  const latest = Math.min(last + 1, history.length - 1, firstOpenCall(history, start));
  const end = alignBoundaryBackward(history, latest);
  if (end <= start) return null;
  // A summary right before it is in the new one: the function was shown it.
  for (let above = history[start - 1]; above && isCompactionMessage(above); above = history[start - 1]) start -= 1;
  return { start, end };
}

/** A summary at the end of a range stands for the messages it covers. */
function endOf(
  message: SessionMessage | undefined,
  stored: readonly StoredCompaction[],
  end: "fromMessageId" | "toMessageId"
): string | undefined {
  if (message === undefined || !isCompactionMessage(message)) return message?.id;
  return stored.find(({ id }) => id === overlayIdOf(message.id))?.[end];
}
