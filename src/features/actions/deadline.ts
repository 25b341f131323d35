// The life of one execution: it ends with its result, with the turn's cancellation or with its time, whichever comes
// first. While it runs, `beat` is called at an interval. Work that does not stop in time is no longer listened to.
import { withinDeadline } from "../../host/deadline.ts";
import type { Clock } from "../../host/ports.ts";
import { actionErrors } from "./errors.ts";

interface DeadlineInit {
  readonly clock: Clock;
  /** The turn's. */
  readonly signal: AbortSignal | undefined;
  /** 0: no limit. */
  readonly timeoutMs: number;
  /** A sign of life to give while it runs. */
  readonly heartbeat?: { readonly everyMs: number; readonly beat: () => void };
}

/** `work` gets a signal that fires on cancel, on timeout and never after its end. */
export async function withDeadline<T>(
  { clock, signal, timeoutMs, heartbeat }: DeadlineInit,
  work: (signal: AbortSignal) => T | PromiseLike<T>
): Promise<T> {
  const over = new AbortController();
  if (heartbeat) void beating(clock, heartbeat, over.signal);
  try {
    return await withinDeadline(work, {
      clock,
      timeoutMs: timeoutMs > 0 ? timeoutMs : Infinity,
      late: () => actionErrors.ActionTimeoutError(timeoutMs),
      signals: signal ? [signal] : []
    });
  } finally {
    over.abort();
  }
}

async function beating(
  clock: Clock,
  { everyMs, beat }: NonNullable<DeadlineInit["heartbeat"]>,
  signal: AbortSignal
): Promise<void> {
  while (await slept(clock, everyMs, signal)) {
    try {
      beat();
    } catch (error) {
      // The work goes on; the next beat may succeed.
      console.error("A sign of life of a running action could not be recorded:", error);
    }
  }
}

/** False when the signal came first. */
async function slept(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, signal);
    return !signal.aborted;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
