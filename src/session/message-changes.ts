// Notifies listeners that hold a view of the conversation that it changed. They are called while the transaction is still
// open, which may yet be undone: a change says what to read again. A listener that keeps a row checks that it is on the path.

import type { MessageRow } from "./message-rows.ts";

export type MessageChange =
  /** `row` is what is there, if it is not undone. */
  | { readonly kind: "appended"; readonly id: string; readonly sizeBytes: number; readonly row: MessageRow }
  | { readonly kind: "updated"; readonly id: string; readonly sizeBytes: number }
  /** Maintenance: what is shown of a message became shorter. No client needs a frame. */
  | { readonly kind: "shortened"; readonly id: string }
  /** An append of an id that is already stored. */
  | { readonly kind: "repeated"; readonly id: string }
  /** `compacted`: a summary is shown where messages were. */
  | { readonly kind: "restructured" | "cleared" | "compacted" };

/** What changed, for listeners that do not need what is there now. */
export type MessageTrace = { readonly kind: MessageChange["kind"]; readonly id?: string };

export type MessageListener = (change: MessageChange) => void;

export class MessageChanges {
  readonly #listeners = new Set<MessageListener>();

  /** Returns the function that stops it. */
  subscribe(listener: MessageListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  emit(change: MessageChange): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        // The write stands whatever its observers make of it.
        console.error("An observer of the conversation failed:", error);
      }
    }
  }
}
