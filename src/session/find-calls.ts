// Which messages of the active path hold some tool calls: one walk from the newest message up, which parses only what can
// hold one of them and ends when all are found.
import { BATCH_BYTES, BATCH_ROWS } from "./message-rows.ts";
import type { MessageStore } from "./message-store.ts";
import { isToolPart } from "../model/tool-part.ts";
import type { SessionMessage } from "./session-message.ts";

/** Above this many, parsing a message is cheaper than looking for each of them in its text. */
const MANY_CALLS = 16;

/** By call; of several messages with one call, the newest. */
export function findCalls(store: MessageStore, toolCallIds: ReadonlySet<string>): Map<string, SessionMessage> {
  const missing = new Map([...toolCallIds].map((id) => [id, JSON.stringify(id)]));
  const found = new Map<string, SessionMessage>();
  const limits = () => ({ rows: BATCH_ROWS, bytes: BATCH_BYTES });
  for (const row of store.leafId === null ? [] : store.rows.pathRows(store.leafId, limits)) {
    if (missing.size === 0) break;
    if (row.role !== "assistant" || !row.content.includes('"toolCallId"')) continue;
    const isLikely = missing.size > MANY_CALLS || [...missing.values()].some((needle) => row.content.includes(needle));
    const message = isLikely ? store.decode(row) : undefined;
    for (const part of message?.parts ?? []) {
      if (message !== undefined && isToolPart(part) && missing.delete(part.toolCallId)) {
        found.set(part.toolCallId, message);
      }
    }
  }
  return found;
}
