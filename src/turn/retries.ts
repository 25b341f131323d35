// Which failures of an attempt are worth another one, and after which pause. Bounded by number: what the provider, the
// platform or a compaction cannot mend in a few tries is told to people.
import type { UIMessage } from "ai";
import { isOutOfMemory, isPlatformTransient } from "../host/platform-errors.ts";
import type { AttemptEnded } from "../journal/records.ts";
import { isToolPart, SHRINKS_ABOVE_CHARS } from "../model/index.ts";
import { backoffMs } from "../util/backoff.ts";
import { areTooMany, countFailures, OUT_OF_MEMORY } from "./budget.ts";
import type { Desk } from "./desk.ts";
import type { FailureClass } from "./hooks.ts";
import type { LiveTurn } from "./live-turn.ts";
import type { Recovery } from "./recovery.ts";
import type { TurnStream } from "./stream.ts";

/** The pause after the first failure; it doubles. A provider that names its own is obeyed, up to the longest. */
export const FAILURE_PAUSE_MS = 1_000;
export const MAX_FAILURE_PAUSE_MS = 60_000;

const HOOK_PAUSE_MS = 30_000;
const MAX_HOOK_PAUSE_MS = 300_000;

/** How long recovery waits after its hook failed so many times in a row before. */
export function hookPauseMs(failures: number): number {
  return backoffMs(failures, { baseMs: HOOK_PAUSE_MS, maxMs: MAX_HOOK_PAUSE_MS });
}

export interface FailedAttempt {
  readonly error: unknown;
  readonly classification: FailureClass | undefined;
  readonly stream: Pick<TurnStream, "flush">;
}

export class Retries {
  readonly #desk: Desk;
  readonly #recovery: Recovery;

  constructor(desk: Desk, recovery: Recovery) {
    this.#desk = desk;
    this.#recovery = recovery;
  }

  /** How the attempt ends when another one is due; undefined when the turn has failed. */
  after(live: LiveTurn, failure: FailedAttempt): Pick<AttemptEnded, "error" | "retryAt"> | undefined {
    const { error, classification, stream } = failure;
    const { hooks } = this.#desk.init;
    const code = retryCode(error, classification);
    if (!code || !hooks.recovery.enabled || live.signal.aborted) return undefined;
    const retryAt = this.#retryAt(live, stream, hooks.retryAfterMs(error));
    return retryAt === undefined
      ? undefined
      : { error: { code, message: "The model could not answer; it is asked again." }, retryAt };
  }

  /** When a provider that fell silent is asked again; null when it fell silent too often: the turn is given up then. */
  afterStall(live: LiveTurn, stream: Pick<TurnStream, "flush">): number | null {
    return this.#retryAt(live, stream) ?? null;
  }

  /** Undefined: this failure is one too many. */
  #retryAt(live: LiveTurn, stream: Pick<TurnStream, "flush">, askedForMs?: number): number | undefined {
    // A step that it finished before it failed counts only once it is written.
    stream.flush();
    const before = countFailures(this.#recovery.attemptsOf(live));
    if (areTooMany({ inARow: before.inARow + 1, inAll: before.inAll + 1 })) return undefined;
    const policy = { baseMs: FAILURE_PAUSE_MS, maxMs: MAX_FAILURE_PAUSE_MS };
    return this.#desk.now() + Math.min(askedForMs ?? backoffMs(before.inARow, policy), MAX_FAILURE_PAUSE_MS);
  }

  /**
   * Makes the history shorter, as often as allowed; false when that cannot help. What the turn's own tools brought into
   * the answer so far is cut by the next attempt.
   */
  async shorten(live: LiveTurn, answer: UIMessage): Promise<boolean> {
    const { hooks } = this.#desk.init;
    if (hooks.overflowRetries === 0 || live.signal.aborted) return false;
    const overflows = this.#recovery.attemptsOf(live).filter(({ end }) => end === "overflow").length;
    if (overflows >= hooks.overflowRetries) return false;
    const turn = live.context(live.attempt);
    const compacted = hooks.runIn(turn, () => hooks.compact(turn, overflows + 1));
    const isShorter = await unlessAborted(live.signal, compacted);
    return !live.signal.aborted && (isShorter || hasLongResults(answer));
  }
}

/** Who stops a turn does not wait for what is done for it. */
async function unlessAborted(signal: AbortSignal, work: Promise<boolean>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const onAbort = () => resolve(false);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function hasLongResults({ parts }: UIMessage): boolean {
  return parts.some((part) => isToolPart(part) && (JSON.stringify(part.output) ?? "").length > SHRINKS_ABOVE_CHARS);
}

/** What is recorded of a failure that may pass; undefined for one that will not. */
function retryCode(error: unknown, classification: FailureClass | undefined): string | undefined {
  if (isOutOfMemory(error)) return OUT_OF_MEMORY;
  if (isPlatformTransient(error)) return "platform";
  return classification === "rate_limit" || classification === "transient" ? classification : undefined;
}
