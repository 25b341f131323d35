import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AlarmRate, LATE_MS } from "./process-alarms.ts";

describe("the rate of alarms", () => {
  const came = fc.record({ afterMs: fc.nat(3_000), lateMs: fc.nat(3 * LATE_MS) });

  test("is always from one to the limit, falls only when one is late and grows only when one is on time, by one", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.array(came, { maxLength: 100 }), (most, all) => {
        const rate = new AlarmRate(most);
        let now = 0;
        for (const { afterMs, lateMs } of all) {
          now += afterMs;
          const before = rate.perSecond;
          const isLate = rate.came(lateMs, now);
          expect(isLate).toBe(lateMs >= LATE_MS);
          expect(rate.perSecond).toBeGreaterThanOrEqual(1);
          expect(rate.perSecond).toBeLessThanOrEqual(most);
          const allowed = isLate ? [before, Math.max(1, Math.floor(before / 2))] : [before, Math.min(most, before + 1)];
          expect(allowed).toContain(rate.perSecond);
        }
      })
    );
  });

  test("a thousand that are late for one reason count once", () => {
    const rate = new AlarmRate(25);
    for (let index = 0; index < 1_000; index += 1) rate.came(LATE_MS, 5_000 + (index % 900));
    expect(rate.perSecond).toBe(12);
  });

  test("is at the bottom after some late seconds, and at the limit again after as many on time as the limit", () => {
    const rate = new AlarmRate(25);
    const seconds = (count: number, lateMs: number, from: number) => {
      for (let second = from; second < from + count; second += 1) rate.came(lateMs, second * 1_000);
    };
    seconds(4, LATE_MS, 0);
    expect(rate.perSecond).toBe(1);
    seconds(24, LATE_MS - 1, 4);
    expect(rate.perSecond).toBe(25);
  });
});
