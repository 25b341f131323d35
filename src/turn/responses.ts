// The user's hook after a turn: in turn order, at least once per turn, bounded in time. The turn is over when it runs.
import { beforeDeadline } from "../host/deadline.ts";
import type { TurnAdmitted, TurnSettled } from "../journal/records.ts";
import { turnId } from "../util/ids.ts";
import type { Desk } from "./desk.ts";
import { LiveTurn } from "./live-turn.ts";
import type { TurnOutcome } from "./turn.ts";

/** A hook that has not returned by then counts as run: its turn's records must not be kept for ever. */
export const RESPONSE_LIMIT_MS = 15 * 60_000;

export class Responses {
  readonly #desk: Desk;
  #last: Promise<void> = Promise.resolve();

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  /** A crash kept the hook of a settled turn from running, and the user was promised to hear of it. */
  tellAgain(id: string): void {
    const finished = this.#readFinished(id);
    if (finished) this.#desk.init.background(this.tell(finished.live, finished.outcome));
    // Its records are gone: there is nothing left to tell.
    else this.#appendResponded(id);
  }

  /** In turn order, except for a turn that a hook itself started and may be waiting for. */
  async tell(live: LiveTurn, outcome: TurnOutcome): Promise<void> {
    const before = live.isNested ? Promise.resolve() : this.#last;
    const done = before.then(() => this.#callIfOwed(live, outcome));
    if (!live.isNested) this.#last = done;
    await done;
    live.resolve(outcome);
  }

  #readFinished(id: string): { live: LiveTurn; outcome: TurnOutcome } | undefined {
    const { journal, transcript } = this.#desk.init;
    let admitted: TurnAdmitted | undefined;
    let settled: TurnSettled | undefined;
    for (const page of journal.reader.pages({ turnId: turnId(id), outline: true })) {
      for (const { record } of page.entries) {
        if (record.type === "turn-admitted") admitted = record;
        if (record.type === "turn-settled") settled = record;
      }
    }
    if (!admitted || !settled) return undefined;
    const message = settled.messageStored ? transcript.get(admitted.messageId) : undefined;
    const status = settled.outcome === "failed" ? "error" : settled.outcome;
    const error = settled.error && { error: settled.error.message };
    return {
      live: new LiveTurn({ admitted }),
      outcome: { status, ...error, ...(message && { message }), streamed: true }
    };
  }

  /** Nobody is kept awake for a hook that was not promised: most agents have none. */
  async #callIfOwed(live: LiveTurn, outcome: TurnOutcome): Promise<void> {
    const { conversation, keepAlive } = this.#desk.init;
    if (!conversation.row.respondingTurns.includes(live.admitted.turnId)) return;
    await keepAlive(() => this.#callHook(live, outcome));
  }

  async #callHook(live: LiveTurn, outcome: TurnOutcome): Promise<void> {
    const { hooks, conversation, clock } = this.#desk.init;
    // The turn is over, and so is what could stop it.
    const turn = { ...live.context(live.attempt), signal: new AbortController().signal };
    try {
      const hook = this.#desk.nesting.inResponse(() => hooks.runIn(turn, () => hooks.respond(turn, outcome)));
      const late = () => new Error(`It has not returned for ${RESPONSE_LIMIT_MS} ms.`);
      await beforeDeadline(hook, { clock, timeoutMs: RESPONSE_LIMIT_MS, late });
    } catch (error) {
      console.error("The response hook failed:", error);
    }
    // A clear may have forgotten the turn meanwhile.
    if (conversation.row.respondingTurns.includes(turn.turnId)) this.#appendResponded(turn.turnId);
  }

  #appendResponded(id: string): void {
    const { journal } = this.#desk.init;
    journal.writer.append([{ type: "turn-responded", turnId: turnId(id), at: this.#desk.now() }]);
  }
}
