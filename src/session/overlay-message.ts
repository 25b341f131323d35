// A summary as the message that histories show in place of what it stands for. The same at every read. Pure.
import { byteLength } from "../util/bytes.ts";
import type { OverlayWithSummary } from "./overlay-rows.ts";
import { COMPACTION_PREFIX, type SessionMessage } from "./session-message.ts";
import { estimateMessageTokens } from "./tokens.ts";

type SummaryFacts = Pick<OverlayWithSummary, "id" | "summary" | "createdAt">;

export function overlayMessage({ id, summary, createdAt }: SummaryFacts): SessionMessage {
  const message = {
    id: overlayMessageId({ id }),
    role: "assistant",
    parts: [{ type: "text", text: summary }]
  };
  const date = timeOf(createdAt);
  return Number.isFinite(date.getTime()) ? { ...message, createdAt: date } : message;
}

export function overlaySize(facts: SummaryFacts): { sizeBytes: number; tokens: number } {
  const message = overlayMessage(facts);
  return { sizeBytes: byteLength(JSON.stringify(message)), tokens: estimateMessageTokens(message) };
}

export function overlayMessageId({ id }: { readonly id: string }): string {
  return `${COMPACTION_PREFIX}${id}`;
}

/** The overlay a message id stands for, or undefined if it is no summary's. */
export function overlayIdOf(messageId: string): string | undefined {
  return messageId.startsWith(COMPACTION_PREFIX) ? messageId.slice(COMPACTION_PREFIX.length) : undefined;
}

/** From SQLite's form of a time, which is in UTC without saying so. */
function timeOf(stored: string): Date {
  return new Date(`${stored.replace(" ", "T")}Z`);
}
