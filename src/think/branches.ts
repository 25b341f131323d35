// The versions of messages that edits and regenerations leave, as clients list and choose them. A choice is stored:
// one transaction moves the end of the active path and ends what belonged to the path that was left. A call that waits
// for the user on that path waits there, and is asked about again when that branch is selected again.
import { currentContext } from "../agent/context.ts";
import type { ArmedContinuation } from "../journal/conversation.ts";
import { versionsOf } from "../session/branches.ts";
import { sessionErrors } from "../session/errors.ts";
import type { MessageStore } from "../session/message-store.ts";
import { featureErrors } from "../feature/errors.ts";
import type { StoredTranscript } from "../session/transcript.ts";

export interface BranchStores {
  readonly store: MessageStore;
  readonly transcript: Pick<StoredTranscript, "shownIds" | "announce">;
}

export function listBranches({ store, transcript }: BranchStores): Record<string, string[]> {
  return versionsOf(store, transcript.shownIds());
}

/** Throws UnknownMessageError, or BranchInUseError while a turn is open. */
export function selectBranch({ store, transcript }: BranchStores, messageId: unknown): void {
  const { conversation } = store.scope;
  // Clients may send anything.
  if (typeof messageId !== "string") throw sessionErrors.UnknownMessageError(String(messageId));
  conversation.transaction((row) => {
    if (row.openTurns.length > 0) throw featureErrors.BranchInUseError();
    const by = currentContext().connection === undefined ? "code" : "client";
    if (!store.selectBranch(messageId, { by })) return;
    // Said of a question that may not be on the screen any more.
    row.failedTurn = null;
    // The other calls of its message cannot be answered from here, and it would stand in the way of continuations
    // that can. The last answer, given after that branch is selected again, arms it again.
    row.armedContinuations = row.armedContinuations.filter((armed) => isShown(store, armed));
    conversation.afterCommit(() => transcript.announce());
  });
}

function isShown(store: MessageStore, { messageId }: ArmedContinuation): boolean {
  const header = store.rows.header(messageId);
  return header !== undefined && store.locate(header).isOnPath;
}
