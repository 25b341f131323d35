// Adding messages to the transcript without a turn: each below the one before, in one transaction. Doing it twice
// changes nothing. No queue is involved, so it is safe from inside a tool.
import { recordChange, ALREADY_RECORDED, USER_CODE } from "./change-log.ts";
import { sessionErrors } from "./errors.ts";
import type { MessageStore } from "./message-store.ts";
import { isCompactionMessage, type SessionMessage } from "./session-message.ts";

export interface ChainOptions {
  /** Where the first one goes: below the latest message (default), as a root (`null`), or below this message. */
  readonly parentId?: string | null;
  /** What happens to a message whose id is stored: it is left alone (`append`, default) or gets the new content. */
  readonly mode?: "append" | "upsert";
}

/** One record for what was added, and one for what got new content. Throws UnknownParentError before anything is written. */
export function addMessages(
  store: MessageStore,
  messages: readonly SessionMessage[],
  { parentId, mode = "append" }: ChainOptions = {}
): void {
  if (messages.length === 0) return;
  store.scope.conversation.transaction(() => {
    if (typeof parentId === "string" && !store.has(parentId)) throw sessionErrors.UnknownParentError(parentId);
    let parent = parentId;
    const [added, updated]: [string[], string[]] = [[], []];
    for (const message of messages) {
      // What a history shows may be added again; a summary is not part of the tree.
      if (isCompactionMessage(message)) continue;
      const isNew = store.appendMessage(message, parent, ALREADY_RECORDED);
      if (isNew) added.push(message.id);
      else if (mode === "upsert" && store.updateMessage(message, ALREADY_RECORDED)) updated.push(message.id);
      parent = message.id;
    }
    recordChange(store.scope, USER_CODE, { change: "appended", ids: added });
    recordChange(store.scope, USER_CODE, { change: "edited", ids: updated });
  });
}
