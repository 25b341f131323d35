import fc from "fast-check";
import { expect, test } from "vitest";
import { backoffMs } from "./backoff.ts";

test("a pause doubles with each failure, up to its cap", () => {
  const policy = { baseMs: 30, maxMs: 300 };
  expect([0, 1, 2, 3, 4, 5_000].map((step) => backoffMs(step, policy))).toEqual([30, 60, 120, 240, 300, 300]);
});

test("another factor grows as it says", () => {
  expect([0, 1, 2].map((step) => backoffMs(step, { baseMs: 5, maxMs: 50, factor: 3 }))).toEqual([5, 15, 45]);
});

test("jitter takes at most its share off the pause", () => {
  const pauses = (jitter: number) =>
    [0, 0.5, 1].map((random) => backoffMs(1, { baseMs: 50, maxMs: 500, jitter }, random));
  expect([0, 0.5, 1].map(pauses)).toEqual([
    [100, 100, 100],
    [50, 75, 100],
    [0, 50, 100]
  ]);
});

test("every pause is a finite number from 0 to the cap", () => {
  const unit = fc.double({ min: 0, max: 1, noNaN: true });
  const policy = fc.record({ baseMs: fc.nat(), maxMs: fc.nat(), factor: fc.constantFrom(1, 1.6, 2, 3), jitter: unit });
  fc.assert(
    fc.property(fc.nat(), policy, unit, (step, given, random) => {
      const pauseMs = backoffMs(step, given, random);
      expect(pauseMs).toBeGreaterThanOrEqual(0);
      expect(pauseMs).toBeLessThanOrEqual(given.maxMs);
    })
  );
});
