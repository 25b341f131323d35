// Whether clients are shown that an interrupted turn is being continued. Which turn that is, and since when, is told by
// whoever decides about recovery; here it only becomes frames, one per change.
import type { TurnView } from "../turn/turn.ts";
import type { Audience } from "./audience.ts";
import type { ClientView } from "./client-view.ts";
import { chatFrames } from "./frames.ts";

/** Older than this it says nothing any more: a new client should not wait for it. */
export const RECOVERING_LIFETIME_MS = 15 * 60_000;

export class RecoveryFlag {
  readonly #audience: Audience;
  #recovering: { readonly requestId: string; readonly since: number } | undefined;

  constructor(audience: Audience) {
    this.#audience = audience;
  }

  /** `since`: when the interruption was noticed. Repeating what is known sends nothing. */
  set(turn: Pick<TurnView, "requestId"> | undefined, since: number): void {
    const wasOn = this.#recovering !== undefined;
    this.#recovering = turn && { requestId: turn.requestId, since: this.#recovering?.since ?? since };
    const isOn = turn !== undefined;
    if (wasOn === isOn) return;
    // One that was offered a stream learns of the end of the incident all the same: it may have seen its beginning.
    const hearers = this.#audience.all().filter((view) => !isOn || view.offered === undefined);
    this.#audience.sendAll(hearers, () => chatFrames.recovering(isOn, turn?.requestId));
  }

  greet(view: ClientView, now: number): void {
    if (!this.#recovering || now - this.#recovering.since >= RECOVERING_LIFETIME_MS) return;
    this.#audience.send(view, chatFrames.recovering(true, this.#recovering.requestId));
  }
}
