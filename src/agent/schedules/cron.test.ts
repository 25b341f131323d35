import { Cron } from "croner";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CronError, firstOccurrence, isCron, nextOccurrence } from "./cron.ts";

const AFTER = Date.UTC(2026, 0, 1, 0, 0, 0, 500); // a Thursday

describe("nextOccurrence", () => {
  test.each([
    ["* * * * *", "2026-01-01T00:01:00.000Z"],
    ["*/5 * * * * *", "2026-01-01T00:00:05.000Z"],
    ["0 0 * * 0", "2026-01-04T00:00:00.000Z"],
    ["0 0 * * 7", "2026-01-04T00:00:00.000Z"],
    ["0 0 * * SUN", "2026-01-04T00:00:00.000Z"],
    ["0 9 * jan-mar mon-fri", "2026-01-01T09:00:00.000Z"],
    ["0 12 * FEB *", "2026-02-01T12:00:00.000Z"],
    ["0 0 1,15 * *", "2026-01-15T00:00:00.000Z"],
    ["10-20/5 3 * * *", "2026-01-01T03:10:00.000Z"],
    ["0 0 29 2 *", "2028-02-29T00:00:00.000Z"],
    ["@hourly", "2026-01-01T01:00:00.000Z"],
    ["@daily", "2026-01-02T00:00:00.000Z"],
    ["@midnight", "2026-01-02T00:00:00.000Z"],
    ["@weekly", "2026-01-04T00:00:00.000Z"],
    ["@monthly", "2026-02-01T00:00:00.000Z"],
    ["@yearly", "2027-01-01T00:00:00.000Z"],
    ["  0 0 * * *  ", "2026-01-02T00:00:00.000Z"]
  ])("%s is next due at %s", (expression, expected) => {
    const next = nextOccurrence(expression, AFTER);
    expect(next === null ? null : new Date(next).toISOString()).toBe(expected);
    expect(isCron(expression)).toBe(true);
  });

  test("an occurrence at the given instant is not the next one", () => {
    const midnight = Date.UTC(2026, 0, 1);
    expect(nextOccurrence("0 0 * * *", midnight)).toBe(Date.UTC(2026, 0, 2));
  });

  test.each([
    "",
    "   ",
    "bad",
    "1 2 3",
    "60 * * * *",
    "* 24 * * *",
    "*/0 * * * *",
    "* * * * * * *",
    "@reboot",
    "@every 5m",
    "2026-05-05T00:00:00"
  ])("%j is refused by name", (expression) => {
    expect(() => nextOccurrence(expression, AFTER)).toThrow(CronError);
    expect(isCron(expression)).toBe(false);
  });

  test("an endless expression is refused before it is parsed", () => {
    expect(() => nextOccurrence(`${"1,".repeat(400)}1 * * * *`, AFTER)).toThrow("longer than");
  });

  test("a day that never comes is refused when it is scheduled", () => {
    expect(nextOccurrence("0 0 30 2 *", AFTER)).toBeNull();
    expect(() => firstOccurrence("0 0 30 2 *", AFTER)).toThrow("no date ever matches it");
  });

  test("the next occurrence is after the given time, on a whole second, and in order", () => {
    const expressions = fc.constantFrom(
      "* * * * *",
      "*/7 * * * * *",
      "5 4 * * *",
      "0 0 1 * *",
      "30 2 * * mon,wed",
      "@hourly"
    );
    const times = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2090, 0, 1) });
    fc.assert(
      fc.property(expressions, times, (expression, after) => {
        const first = firstOccurrence(expression, after);
        expect(first).toBeGreaterThan(after);
        expect(first % 1000).toBe(0);
        expect(firstOccurrence(expression, first)).toBeGreaterThan(first);
        // Nothing was skipped: just before it, it is still the next.
        expect(firstOccurrence(expression, first - 1)).toBe(first);
      })
    );
  });
});

describe("against another implementation", () => {
  const field = (min: number, max: number) => {
    const value = fc.integer({ min, max });
    const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
    const step = fc
      .tuple(fc.oneof(fc.constant("*"), range), fc.integer({ min: 1, max }))
      .map(([span, by]) => `${span}/${by}`);
    const part = fc.oneof(value.map(String), range, step);
    return fc.oneof(
      fc.constant("*"),
      part,
      fc.array(part, { minLength: 2, maxLength: 3 }).map((parts) => parts.join(","))
    );
  };
  const expression = fc
    .tuple(field(0, 59), field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 7))
    .map((fields) => fields.join(" "));

  test("every expression is next due at the same instant", () => {
    fc.assert(
      fc.property(expression, fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2090, 0, 1) }), (text, after) => {
        const other = new Cron(text, { timezone: "UTC", paused: true, mode: "5-or-6-parts" });
        const next = nextOccurrence(text, after);
        let expected = other.nextRun(new Date(after))?.getTime() ?? null;
        // croner 11 skips some first days of March: an earlier instant that its own `match` accepts is the right one.
        const hasSkipped = next !== null && expected !== null && next > after && next < expected;
        if (hasSkipped && other.match(new Date(next))) expected = next;
        expect({ text, next }).toEqual({ text, next: expected });
      }),
      { numRuns: 300 }
    );
  });
});
