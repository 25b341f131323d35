// The listeners of turns: sockets, an RPC callback, later a messenger or a parent agent. All of them get the same
// calls in the same order; what they do with it is theirs. A listener must not throw and cannot hold up the turn.
import type { UIMessage } from "ai";
import type { Receipt } from "./receipts.ts";
import type { TurnOutcome, TurnView } from "./turn.ts";

export interface TurnListener {
  /** Durable, and waiting for its time. */
  accepted?(turn: TurnView): void;
  /** Its stream is open: the next thing is a chunk or the end. */
  streaming?(turn: TurnView): void;
  /** One UI message chunk as JSON text. `seq` is its number in the turn's stored stream. */
  chunk?(turn: TurnView, chunk: { readonly seq: number; readonly body: string }): void;
  /** Its model has said nothing since then; the next chunk, or the end of the attempt, ends the silence. */
  silent?(turn: TurnView, sinceMs: number): void;
  /** An attempt ended and the turn goes on, now or later: it is neither done nor failed. */
  interrupted?(turn: TurnView): void;
  /**
   * Of what it has streamed, only this stays; what follows is streamed behind it. A listener without this member is
   * notified of an interruption: it must not show what follows behind what it has.
   */
  takenBack?(turn: TurnView, kept: UIMessage): void;
  /** The outcome and the answer are stored. */
  settled?(turn: TurnView, outcome: TurnOutcome): void;
  /** A steer or a follow-up was accepted, was edited, took effect, or never will. */
  receipt?(receipt: Receipt): void;
  /** A stored message changed outside its own stream: a tool result, an approval. */
  messageUpdated?(message: UIMessage): void;
  /** Messages joined or left the transcript. `origin` already shows them. */
  transcriptChanged?(origin: unknown): void;
  /** The conversation was emptied. `origin` asked for it. */
  cleared?(origin: unknown): void;
  /** Every turn was given up, and the messages are as they were. */
  reset?(): void;
}

export class TurnListeners implements Required<TurnListener> {
  readonly #listeners = new Set<TurnListener>();

  add(listener: TurnListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  accepted(turn: TurnView): void {
    this.#notify((listener) => listener.accepted?.(turn));
  }

  streaming(turn: TurnView): void {
    this.#notify((listener) => listener.streaming?.(turn));
  }

  chunk(turn: TurnView, chunk: { readonly seq: number; readonly body: string }): void {
    this.#notify((listener) => listener.chunk?.(turn, chunk));
  }

  silent(turn: TurnView, sinceMs: number): void {
    this.#notify((listener) => listener.silent?.(turn, sinceMs));
  }

  interrupted(turn: TurnView): void {
    this.#notify((listener) => listener.interrupted?.(turn));
  }

  takenBack(turn: TurnView, kept: UIMessage): void {
    this.#notify((listener) => {
      if (listener.takenBack) listener.takenBack(turn, kept);
      else listener.interrupted?.(turn);
    });
  }

  settled(turn: TurnView, outcome: TurnOutcome): void {
    this.#notify((listener) => listener.settled?.(turn, outcome));
  }

  receipt(receipt: Receipt): void {
    this.#notify((listener) => listener.receipt?.(receipt));
  }

  messageUpdated(message: UIMessage): void {
    this.#notify((listener) => listener.messageUpdated?.(message));
  }

  transcriptChanged(origin: unknown): void {
    this.#notify((listener) => listener.transcriptChanged?.(origin));
  }

  cleared(origin: unknown): void {
    this.#notify((listener) => listener.cleared?.(origin));
  }

  reset(): void {
    this.#notify((listener) => listener.reset?.());
  }

  #notify(call: (listener: TurnListener) => void): void {
    for (const listener of this.#listeners) {
      try {
        call(listener);
      } catch (error) {
        console.error("A listener of turns failed:", error);
      }
    }
  }
}
