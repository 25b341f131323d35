// Whether clients are shown that an interrupted turn is being continued. It is derived from the open turns; here it only
// becomes frames, one per change.
import type { RecoveringTurn } from "../turn/turns.ts";
import type { Audience } from "./audience.ts";
import type { ClientView } from "./client-view.ts";
import { chatFrames } from "./frames.ts";

/** Older than this it says nothing any more: a new client should not wait for it. */
export const RECOVERING_LIFETIME_MS = 15 * 60_000;

export class RecoveryFlag {
  readonly #audience: Audience;
  readonly #turns: { recovering(): RecoveringTurn | undefined };
  /** What clients were last told. An earlier process has told them of a turn that was being recovered then. */
  #isOn: boolean;

  constructor(audience: Audience, turns: { recovering(): RecoveringTurn | undefined }) {
    this.#audience = audience;
    this.#turns = turns;
    this.#isOn = turns.recovering() !== undefined;
  }

  /** Something happened that may have changed it. */
  refresh(): void {
    const turn = this.#turns.recovering();
    const isOn = turn !== undefined;
    if (this.#isOn === isOn) return;
    this.#isOn = isOn;
    // One that was offered a stream learns of the end of the incident all the same: it may have seen its beginning.
    const hearers = this.#audience.all().filter((view) => !isOn || view.offered === undefined);
    this.#audience.sendAll(hearers, () => chatFrames.recovering(isOn, turn?.requestId));
  }

  greet(view: ClientView, now: number): void {
    const turn = this.#turns.recovering();
    if (!turn || now - turn.since >= RECOVERING_LIFETIME_MS) return;
    this.#audience.send(view, chatFrames.recovering(true, turn.requestId));
  }
}
