import { expect, test } from "vitest";
import { beforeDeadline, happensWithin, withinDeadline } from "./deadline.ts";
import type { Clock } from "./ports.ts";

/** Sleeps end when the test says so; those that were given up are counted. */
function handClock() {
  const state = { ring: () => {}, givenUp: 0 };
  const clock: Clock = {
    now: () => 0,
    sleep: (_ms, signal) =>
      new Promise((resolve, reject) => {
        state.ring = resolve;
        signal?.addEventListener("abort", () => {
          state.givenUp += 1;
          reject(signal.reason);
        });
      })
  };
  return { state, init: { clock, timeoutMs: 5, late: () => new Error("too late") } };
}

test("work that ends in time gives its result or its own error, and leaves no timer behind", async () => {
  const { state, init } = handClock();
  await expect(beforeDeadline(Promise.resolve(7), init)).resolves.toBe(7);
  await expect(beforeDeadline(Promise.reject(new Error("own")), init)).rejects.toThrow("own");
  expect(state.givenUp).toBe(2);
});

test("work that is late is not waited for, and what it throws afterwards is dropped", async () => {
  const { state, init } = handClock();
  const { promise, reject } = Promise.withResolvers<void>();
  const waited = beforeDeadline(promise, init);
  state.ring();
  await expect(waited).rejects.toThrow("too late");
  reject(new Error("dropped"));
  await new Promise((resolve) => setImmediate(resolve));
});

test("an event in time is told apart from the end of the time, and an event that fails is a failure", async () => {
  const { state, init } = handClock();
  await expect(happensWithin(5, Promise.resolve(), init.clock)).resolves.toBe(true);
  const waited = happensWithin(5, new Promise(() => {}), init.clock);
  state.ring();
  await expect(waited).resolves.toBe(false);
  await expect(happensWithin(5, Promise.reject(new Error("own")), init.clock)).rejects.toThrow("own");
});

test("a signal that fires ends the wait with its reason, and the signal of the work fires with it", async () => {
  const { state, init } = handClock();
  const stop = new AbortController();
  let told: AbortSignal | undefined;
  const waited = withinDeadline(
    (signal) => {
      told = signal;
      return new Promise(() => {});
    },
    { ...init, signals: [stop.signal] }
  );
  stop.abort(new Error("stopped"));
  await expect(waited).rejects.toThrow("stopped");
  expect(told?.reason).toBe(stop.signal.reason);
  expect(state.givenUp).toBe(1);
});

test("work that was late is told so, and work that has ended is told nothing", async () => {
  const { state, init } = handClock();
  const stop = new AbortController();
  const signals: AbortSignal[] = [];
  const late = withinDeadline((signal) => {
    signals.push(signal);
    return new Promise(() => {});
  }, init);
  state.ring();
  await expect(late).rejects.toThrow("too late");
  await withinDeadline((signal) => void signals.push(signal), { ...init, signals: [stop.signal] });
  stop.abort(new Error("afterwards"));
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
});

test("work is not begun when a signal has fired before, and without a limit no timer runs", async () => {
  const { init } = handClock();
  const clock = { sleep: () => Promise.reject(new Error("a timer was set")) };
  const work = () => 7;
  await expect(withinDeadline(work, { ...init, clock, timeoutMs: Infinity })).resolves.toBe(7);
  const stopped = { ...init, signals: [AbortSignal.abort(new Error("stopped"))] };
  await expect(withinDeadline(() => expect.unreachable(), stopped)).rejects.toThrow("stopped");
});
