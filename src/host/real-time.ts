import type { Clock } from "./ports.ts";

/** Sleeps in real time: what the platform's clock does, and the deadline of isolates that have no agent with a clock. */
export const realTime: Pick<Clock, "sleep"> = {
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const timer = setTimeout(done, ms);
      function done() {
        signal?.removeEventListener("abort", abort);
        resolve();
      }
      function abort() {
        clearTimeout(timer);
        reject(signal?.reason);
      }
      signal?.addEventListener("abort", abort, { once: true });
    });
  }
};
