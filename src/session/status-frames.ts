// Tells clients how large the conversation is for the model: at most one frame per tick, however many writes it had.
// The number is a running sum, so a frame reads one row. A session that nobody can watch sends and computes nothing.
import type { SessionScope } from "./session-host.ts";

export interface SessionStatus {
  readonly phase: "idle" | "compacting";
  readonly tokenEstimate: number;
  readonly tokenThreshold: number | null;
}

export class StatusFrames {
  readonly #broadcast: (frame: string) => void;
  readonly #status: () => SessionStatus;
  #isDue = false;

  constructor(init: { broadcast: (frame: string) => void; status: () => SessionStatus }) {
    this.#broadcast = init.broadcast;
    this.#status = init.status;
  }

  /** Sends the status after the current tick, so that writes made together are reported together. */
  changed(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#send();
    });
  }

  #send(): void {
    try {
      this.#broadcast(JSON.stringify({ type: "cf_agent_session", ...this.#status() }));
    } catch (error) {
      // A write is never undone for a status nobody got.
      console.warn("The session's status could not be sent:", error);
    }
  }
}

const watched = new WeakSet<SessionScope>();

/** Reports every change of the scope to its host's clients, once whoever asks. */
export function reportStatus(scope: SessionScope, status: () => SessionStatus): void {
  const { host } = scope;
  if (host.broadcast === undefined || watched.has(scope)) return;
  watched.add(scope);
  const frames = new StatusFrames({ broadcast: (frame) => host.broadcast?.(frame), status });
  scope.changes.subscribe((change) => {
    if (change.kind !== "shortened") frames.changed();
  });
}
