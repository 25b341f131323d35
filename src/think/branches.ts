// The versions of messages that edits and regenerations leave, as clients list and choose them. A choice is a stored
// fact: one transaction moves the end of the active path and ends what belonged to the path that was left. What waits
// for a person on that path waits there, and is asked again when somebody comes back.
import { getCurrentAgent } from "../agent/context.ts";
import type { ArmedContinuation } from "../journal/conversation.ts";
import { versionsOf } from "../session/branches.ts";
import { UnknownMessageError } from "../session/errors.ts";
import type { MessageStore } from "../session/message-store.ts";
import { BranchInUseError } from "./errors.ts";
import type { StoredTranscript } from "./stored-transcript.ts";

export interface BranchesInit {
  readonly store: MessageStore;
  readonly transcript: Pick<StoredTranscript, "shownIds" | "announce">;
}

export class Branches {
  readonly #init: BranchesInit;

  constructor(init: BranchesInit) {
    this.#init = init;
  }

  list(): Record<string, string[]> {
    const { store, transcript } = this.#init;
    return versionsOf(store, transcript.shownIds());
  }

  /** Throws UnknownMessageError, or BranchInUseError while a turn is open. */
  select(messageId: unknown): void {
    const { store, transcript } = this.#init;
    const { conversation } = store.scope;
    // Clients may send anything.
    if (typeof messageId !== "string") throw new UnknownMessageError(String(messageId));
    conversation.transaction((row) => {
      if (row.openTurns.length > 0) throw new BranchInUseError();
      const by = getCurrentAgent().connection === undefined ? "code" : "client";
      if (!store.selectBranch(messageId, { by })) return;
      // Said of a question that may not be on the screen any more.
      row.failedTurn = null;
      // The other calls of its message cannot be answered from here, and it would stand in the way of continuations
      // that can. Whoever comes back and gives the last answer arms it again.
      row.armedContinuations = row.armedContinuations.filter((armed) => this.#isShown(armed));
      conversation.afterCommit(() => transcript.announce());
    });
  }

  #isShown({ messageId }: ArmedContinuation): boolean {
    const { store } = this.#init;
    const header = store.rows.header(messageId);
    return header !== undefined && store.locate(header).isOnPath;
  }
}
