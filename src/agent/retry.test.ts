import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isInterruption,
  isWorthRetrying,
  retry,
  retryPauseMs,
  validateRetry,
  type RetryCallOptions,
  type RetryOptions
} from "./retry.ts";

const DEFAULTS = { maxAttempts: 3, baseDelayMs: 100, maxDelayMs: 3000 };

function setup(random = 0.5) {
  const slept: number[] = [];
  const clock = {
    now: () => 0,
    sleep: async (ms: number) => void slept.push(ms)
  };
  const ids = { next: () => "id", random: () => random };
  const run = <T>(work: (attempt: number) => T | Promise<T>, options: RetryCallOptions = {}) =>
    retry(work, { ...options, defaults: DEFAULTS, clock, ids });
  return { slept, run };
}

describe("validateRetry", () => {
  const REFUSED: readonly [RetryOptions, string][] = [
    [{ maxAttempts: 0 }, "retry.maxAttempts must be >= 1"],
    [{ maxAttempts: -1 }, "retry.maxAttempts must be >= 1"],
    [{ maxAttempts: Number.NaN }, "retry.maxAttempts must be >= 1"],
    [{ maxAttempts: 1.5 }, "retry.maxAttempts must be an integer"],
    [{ maxAttempts: Number.POSITIVE_INFINITY }, "retry.maxAttempts must be an integer"],
    [{ baseDelayMs: 0 }, "retry.baseDelayMs must be > 0"],
    [{ baseDelayMs: Number.NaN }, "retry.baseDelayMs must be > 0"],
    [{ maxDelayMs: 0 }, "retry.maxDelayMs must be > 0"],
    [{ maxDelayMs: Number.POSITIVE_INFINITY }, "retry.maxDelayMs must be finite"],
    [{ baseDelayMs: 5000 }, "retry.baseDelayMs must be <= retry.maxDelayMs"],
    [{ maxDelayMs: 50 }, "retry.baseDelayMs must be <= retry.maxDelayMs"]
  ];

  test.each(REFUSED)("%j is refused with its reason", (options, message) => {
    expect(() => validateRetry(options, DEFAULTS)).toThrow(
      expect.objectContaining({ message, name: "RetryOptionsError" })
    );
  });

  test("missing fields come from the defaults", () => {
    expect(validateRetry({ maxAttempts: 7 }, DEFAULTS)).toEqual({ ...DEFAULTS, maxAttempts: 7 });
    expect(validateRetry(undefined, DEFAULTS)).toEqual(DEFAULTS);
    expect(validateRetry({ baseDelayMs: 5000, maxDelayMs: 6000 }, DEFAULTS).baseDelayMs).toBe(5000);
  });
});

describe("retry", () => {
  test("attempts count from one and the result of the first success is returned", async () => {
    const { run, slept } = setup();
    const seen: number[] = [];
    const value = await run((attempt) => {
      seen.push(attempt);
      if (attempt < 3) throw new Error("not yet");
      return "done";
    });
    expect(value).toBe("done");
    expect(seen).toEqual([1, 2, 3]);
    expect(slept).toEqual([100, 200]);
  });

  test("the last error is thrown once the attempts are used up", async () => {
    const { run } = setup();
    await expect(run((attempt) => Promise.reject(new Error(`failure ${attempt}`)))).rejects.toThrow("failure 3");
  });

  test("shouldRetry gets the next attempt and can end it", async () => {
    const { run, slept } = setup();
    const asked: number[] = [];
    const shouldRetry = (_error: unknown, next: number) => {
      asked.push(next);
      return next < 3;
    };
    await expect(
      run((attempt) => Promise.reject(new Error(`failure ${attempt}`)), { maxAttempts: 9, shouldRetry })
    ).rejects.toThrow("failure 2");
    expect(asked).toEqual([2, 3]);
    expect(slept).toHaveLength(1);
  });

  test("wrong options are refused before the first attempt", async () => {
    const { run } = setup();
    let calls = 0;
    await expect(run(() => void calls++, { maxAttempts: 0 })).rejects.toThrow("retry.maxAttempts must be >= 1");
    expect(calls).toBe(0);
  });

  test("every pause is a whole number below min(2^n * base, max)", () => {
    const delays = fc.record({
      attempt: fc.integer({ min: 1, max: 2000 }),
      baseDelayMs: fc.double({ min: 0.001, max: 1e6, noNaN: true }),
      maxDelayMs: fc.double({ min: 0.001, max: 1e9, noNaN: true }),
      random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    });
    fc.assert(
      fc.property(delays, ({ attempt, baseDelayMs, maxDelayMs, random }) => {
        const pause = retryPauseMs(attempt, { maxAttempts: 1, baseDelayMs, maxDelayMs }, { random: () => random });
        expect(Number.isInteger(pause)).toBe(true);
        expect(pause).toBeGreaterThanOrEqual(0);
        expect(pause).toBeLessThan(Math.min(2 ** attempt * baseDelayMs, maxDelayMs));
      })
    );
  });
});

describe("stored work", () => {
  const lost = new Error("Network connection lost.");
  const reset = new Error("Durable Object reset because its code was updated.");
  const memory = new Error("Durable Object's isolate exceeded its memory limit and was reset.");
  const final = Object.assign(new Error("no such customer"), { retryable: false });
  const finalLost = Object.assign(new Error("Network connection lost."), { retryable: false });
  test.each([
    [new Error("boom"), { retried: true, interrupts: false }],
    [lost, { retried: true, interrupts: true }],
    [reset, { retried: false, interrupts: true }],
    [memory, { retried: false, interrupts: false }],
    [final, { retried: false, interrupts: false }],
    [finalLost, { retried: false, interrupts: false }]
  ])("%s", (error, { retried, interrupts }) => {
    expect(isWorthRetrying(error)).toBe(retried);
    expect(isInterruption(error)).toBe(interrupts);
  });
});
