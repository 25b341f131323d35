// Steers that are passed on: the running turn waits for a sub-agent, and that one is to read them. A record says so before
// the sub-agent is asked, and from then on the message can neither be edited, withdrawn nor take effect here. It ends here
// when the sub-agent has read it, and waits again, in its place, when that one is over without having read it.
import type { UIMessage } from "ai";
import { announceReceipt, steersFor } from "./receipts.ts";
import { announceEnding, recordEnding } from "./settle.ts";
import type { TurnStore } from "./store.ts";
import { PASSED_ON, type Turn } from "./turn.ts";

/** A message that a run was given. */
export interface PassedSteer {
  readonly id: string;
  readonly runId: string;
  readonly messages: readonly UIMessage[];
  readonly body: Record<string, unknown> | undefined;
}

export class Passing {
  readonly #store: TurnStore;
  readonly #drive: () => void;

  constructor(store: TurnStore, drive: () => void) {
    this.#store = store;
    this.#drive = drive;
  }

  /** Gives the run what may take over from this turn, if that is the one that runs. Durable when it returns. */
  pass(turnId: string, runId: string): readonly PassedSteer[] {
    const { started, init } = this.#store;
    if (started?.turnId !== turnId || started.signal.aborted) return [];
    const steers = steersFor(this.#store, started);
    if (steers.length === 0) return [];
    const at = this.#store.now();
    init.journal.writer.append(steers.map((steer) => ({ type: "steer-passed", turnId: steer.turnId, at, runId })));
    init.conversation.afterCommit(() => {
      for (const steer of steers) announceReceipt(this.#store, steer);
    });
    return steers.map((steer) => passedSteer(steer, runId));
  }

  /** What runs have, and it is not known whether they read it. */
  list(): readonly PassedSteer[] {
    if (!this.#store.hasEntries) return [];
    return this.#store.turns.flatMap((turn) => {
      const { passedTo } = turn.fold;
      return passedTo === null ? [] : [passedSteer(turn, passedTo)];
    });
  }

  /** The run has read it: it stays in the conversation, and is not answered by a turn of its own. */
  wasRead({ id, runId }: Pick<PassedSteer, "id" | "runId">): void {
    const turn = this.#find(id, runId);
    if (!turn) return;
    const { init, listeners, started } = this.#store;
    const outcome = recordEnding(this.#store, turn, { status: "skipped", reason: PASSED_ON, placesInput: true });
    init.conversation.afterCommit(() => {
      if (started) turn.handOver(started);
      announceEnding(this.#store, turn, outcome);
      listeners.transcriptChanged(undefined);
      this.#store.forget(turn);
      turn.resolve(outcome);
      this.#drive();
    });
  }

  /** The run never read it: it waits here again. */
  giveBack({ id, runId }: Pick<PassedSteer, "id" | "runId">): void {
    const turn = this.#find(id, runId);
    if (!turn) return;
    const { init } = this.#store;
    init.journal.writer.append([{ type: "steer-passed", turnId: turn.turnId, at: this.#store.now(), runId: null }]);
    init.conversation.afterCommit(() => {
      if (!turn.signal.aborted) announceReceipt(this.#store, turn);
      this.#drive();
    });
  }

  #find(id: string, runId: string): Turn | undefined {
    const turn = this.#store.findByRequest(id);
    return turn?.fold.passedTo === runId ? turn : undefined;
  }
}

function passedSteer({ requestId, admitted }: Turn, runId: string): PassedSteer {
  return {
    id: requestId,
    runId,
    // Stored by `admit` as the messages they are, and as an object or null.
    messages: admitted.input as readonly unknown[] as readonly UIMessage[],
    body: (admitted.body as Record<string, unknown> | null) ?? undefined
  };
}
