// Tells clients how large the conversation is for the model: at most one frame per tick, however many writes it had, and
// the phases of a compaction. The number is a running sum, so a frame reads few rows. A session without clients
// sends and computes nothing.
import { errorMessage } from "../util/errors.ts";
import type { SessionScope } from "./session-host.ts";

export interface SessionStatus {
  readonly phase: "idle" | "compacting";
  readonly tokenEstimate: number;
  readonly tokenThreshold: number | null;
  /** After a compaction that shortened the conversation. */
  readonly compacted?: { readonly tokensBefore: number };
}

/** What holds the numbers. */
export interface StatusSource {
  /** Later only if a prompt or a user's counter has to be asked. */
  estimate(): number | Promise<number>;
  readonly threshold: number | null;
}

export class StatusFrames {
  readonly #broadcast: (frame: string) => void;
  #source: StatusSource;
  #phase: SessionStatus["phase"] = "idle";
  #isDue = false;

  constructor(broadcast: (frame: string) => void, source: StatusSource) {
    this.#broadcast = broadcast;
    this.#source = source;
  }

  /** A session with a threshold has the better numbers than one that only reads. */
  offer(source: StatusSource): void {
    if (source.threshold !== null || this.#source.threshold === null) this.#source = source;
  }

  /** Sends the status after the current tick, so that writes made together are reported together. */
  changed(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#report();
    });
  }

  compacting(tokenEstimate: number): void {
    this.#phase = "compacting";
    this.#status(tokenEstimate);
  }

  /** Ends the phase, whatever came of it. */
  idle(tokenEstimate: number, compacted?: SessionStatus["compacted"]): void {
    this.#phase = "idle";
    this.#status(tokenEstimate, compacted);
  }

  failed(error: unknown): void {
    this.#send({ type: "cf_agent_session_error", error: errorMessage(error) });
  }

  #report(): void {
    try {
      const estimate = this.#source.estimate();
      if (typeof estimate === "number") this.#status(estimate);
      else void estimate.then((tokens) => this.#status(tokens), warnUnsent);
    } catch (error) {
      warnUnsent(error);
    }
  }

  #status(tokenEstimate: number, compacted?: SessionStatus["compacted"]): void {
    const status: SessionStatus = {
      phase: this.#phase,
      tokenEstimate,
      tokenThreshold: this.#source.threshold,
      compacted
    };
    this.#send({ type: "cf_agent_session", ...status });
  }

  #send(frame: object): void {
    try {
      this.#broadcast(JSON.stringify(frame));
    } catch (error) {
      warnUnsent(error);
    }
  }
}

/** A write is never undone for a status frame that was not sent. */
function warnUnsent(error: unknown): void {
  console.warn("The session's status could not be sent:", error);
}

const watched = new WeakMap<SessionScope, StatusFrames>();

/** Reports every change of the scope to its host's clients, once however many sessions ask. Undefined without a way to reach clients. */
export function reportStatus(scope: SessionScope, source: StatusSource): StatusFrames | undefined {
  const { host } = scope;
  if (host.broadcast === undefined) return undefined;
  const known = watched.get(scope);
  if (known !== undefined) {
    known.offer(source);
    return known;
  }
  const frames = new StatusFrames((frame) => host.broadcast?.(frame), source);
  watched.set(scope, frames);
  scope.changes.subscribe((change) => {
    // A compaction reports itself, with what it saved.
    if (change.kind !== "shortened" && change.kind !== "compacted") frames.changed();
  });
  return frames;
}
