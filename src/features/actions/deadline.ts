// The life of one execution: it ends with its result, with the turn's cancellation or with its time, whichever comes
// first. While it runs, `beat` is called at an interval. Work that does not stop in time is no longer listened to.
import { beforeDeadline } from "../../host/deadline.ts";
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
  init: DeadlineInit,
  work: (signal: AbortSignal) => T | PromiseLike<T>
): Promise<T> {
  const { signal: outer, timeoutMs, heartbeat } = init;
  outer?.throwIfAborted();
  const inner = new AbortController();
  const over = new AbortController();
  const stopped = Promise.withResolvers<never>();
  const cancel = () => {
    inner.abort(outer?.reason);
    stopped.reject(outer?.reason);
  };
  const late = () => {
    const error = actionErrors.ActionTimeoutError(timeoutMs);
    inner.abort(error);
    return error;
  };
  outer?.addEventListener("abort", cancel, { once: true });
  if (heartbeat) void beating(init.clock, heartbeat, over.signal);
  try {
    const ended = Promise.race([stopped.promise, invoke(work, inner.signal)]);
    return await (timeoutMs > 0 ? beforeDeadline(ended, { clock: init.clock, timeoutMs, late }) : ended);
  } finally {
    outer?.removeEventListener("abort", cancel);
    over.abort();
  }
}

/** A throw becomes a rejection. One that comes after the deadline is dropped by the race. */
async function invoke<T>(work: (signal: AbortSignal) => T | PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return work(signal);
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
