// The store as reconciliation asks it, and the writing of what reconciliation decided.
import type { AnswerPlace, ReconcilePlan, StoredLookup, StoredText } from "./reconcile.ts";
import { BATCH_BYTES, BATCH_ROWS } from "./message-rows.ts";
import type { MessageStore } from "./message-store.ts";
import { overlayIdOf } from "./overlay-rows.ts";
import { parseStoredMessage, type SessionMessage } from "./session-message.ts";

const BY_CLIENT = { by: "client", why: "posted" } as const;

/** A client's own copy of an answer is of the last few turns: it never got the stored one. */
const RECENT_ANSWER_ROWS = 50;

/** What a caller has besides the store. */
export interface LookupHints {
  isQueued?(id: string): boolean;
  isAsShown?(posted: SessionMessage): boolean;
  /** There is no stored message of this id. False when in doubt. */
  isUnknown?(id: string): boolean;
}

export function storedLookup(store: MessageStore, hints: LookupHints = {}): StoredLookup {
  return {
    isAsShown: (posted) => hints.isAsShown?.(posted) ?? false,
    texts(ids) {
      const found = new Map<string, StoredText>();
      const asked = ids.filter((id) => !hints.isUnknown?.(id));
      for (let start = 0; start < asked.length; start += BATCH_ROWS) {
        for (const row of store.rows.rows(asked.slice(start, start + BATCH_ROWS)).values()) {
          found.set(row.id, { role: row.role, text: row.content });
        }
      }
      return found;
    },
    isQueued: (id) => hints.isQueued?.(id) ?? false,
    hasChildren: (id) => store.hasChildren(id),
    parse: ({ text }) => parsed(text),
    ownersOfCalls: (toolCallIds) => store.messagesOfCalls(toolCallIds),
    lastCovered(summaryId) {
      const overlayId = overlayIdOf(summaryId);
      const lastId = overlayId === undefined ? undefined : store.overlays.rows.one(overlayId)?.toId;
      return lastId !== undefined && store.has(lastId) ? lastId : undefined;
    },
    *recentAnswers() {
      let rowsRead = 0;
      const limits = () => ({ rows: BATCH_ROWS, bytes: BATCH_BYTES });
      for (const row of store.leafId === null ? [] : store.rows.pathRows(store.leafId, limits)) {
        if (++rowsRead > RECENT_ANSWER_ROWS) return;
        const message = row.role === "assistant" ? parsed(row.content) : undefined;
        if (message !== undefined) yield message;
      }
    }
  };
}

function parsed(text: string): SessionMessage | undefined {
  const result = parseStoredMessage(text);
  return result.ok ? result.value : undefined;
}

/**
 * Writes a plan in one transaction and says which message the answer belongs below (null: nothing to answer). Tool
 * results are not written here: they take the same way as results that come in frames.
 */
export function applyPlan(store: MessageStore, plan: ReconcilePlan, archiveId: () => string): string | null {
  return store.scope.conversation.transaction(() => {
    store.updateMessages(plan.update, BY_CLIENT);
    if (plan.edit !== undefined) store.editMessage(plan.edit, archiveId(), BY_CLIENT);
    for (const message of plan.append) store.appendMessage(message, undefined, BY_CLIENT);
    return answerParent(store, plan.answer);
  });
}

function answerParent(store: MessageStore, answer: AnswerPlace): string | null {
  switch (answer.at) {
    case "leaf":
      return store.leafId;
    case "message":
      return answer.messageId;
    case "nowhere":
      return null;
  }
}
