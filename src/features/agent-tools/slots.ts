// How many children of an agent work at the same time. A run that finds no slot waits in order, or is refused where too
// many wait already; which of them is decided in the moment it is asked for, so that runs that are asked for together
// cannot pass the limits together. What counts is decided anew for every run: the limits are the class's and may change.
import type { AgentToolsMembers } from "./members.ts";
import type { RunRow } from "./run-table.ts";
import { abortReasonText } from "./run.ts";

/** The limits, and the runs that are stored. */
interface SlotOwner {
  readonly agent: Pick<AgentToolsMembers, "maxConcurrentAgentTools" | "maxQueuedAgentTools">;
  readonly table: { open(): readonly Pick<RunRow, "run_id" | "status">[] };
}

interface Waiting {
  readonly runId: string;
  readonly turn: PromiseWithResolvers<void>;
}

export class Slots {
  readonly #owner: SlotOwner;
  readonly #held = new Set<string>();
  readonly #waiting: Waiting[] = [];

  constructor(owner: SlotOwner) {
    this.#owner = owner;
  }

  /** A slot, or a place among those that wait, for a new run. False: there is neither. */
  reserve(runId: string): boolean {
    if (this.#isNext) this.#held.add(runId);
    else if (this.#waiting.length < this.#owner.agent.maxQueuedAgentTools) this.#wait(runId);
    else return false;
    return true;
  }

  /** Resolves when the run may begin; one that has reserved nothing waits in any case. Rejects if the signal fires first. */
  async take(runId: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#held.has(runId)) return;
    const known = this.#waiting.find((waiting) => waiting.runId === runId);
    if (!known && this.#isNext) return void this.#held.add(runId);
    const { turn } = known ?? this.#wait(runId);
    const onAbort = () => {
      this.leave(runId);
      turn.reject(signal.reason ?? new Error(abortReasonText(undefined)));
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await turn.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** The run does not wait any more. One that has a slot keeps it. */
  leave(runId: string): void {
    const index = this.#waiting.findIndex((waiting) => waiting.runId === runId);
    if (index >= 0) this.#waiting.splice(index, 1);
  }

  /** The run is over, or its caller is gone. */
  free(runId: string): void {
    this.leave(runId);
    this.#held.delete(runId);
    while (this.#isFree) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#held.add(next.runId);
      next.turn.resolve();
    }
  }

  #wait(runId: string): Waiting {
    const waiting = { runId, turn: Promise.withResolvers<void>() };
    this.#waiting.push(waiting);
    return waiting;
  }

  get #isNext(): boolean {
    return this.#isFree && this.#waiting.length === 0;
  }

  get #isFree(): boolean {
    const { agent, table } = this.#owner;
    const running = table.open().flatMap(({ run_id, status }) => (status === "running" ? [run_id] : []));
    return new Set([...this.#held, ...running]).size < agent.maxConcurrentAgentTools;
  }
}
