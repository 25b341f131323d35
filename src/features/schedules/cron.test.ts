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
    ["0 0 ? * MON", "2026-01-05T00:00:00.000Z"],
    ["5/10 * * * *", "2026-01-01T00:05:00.000Z"],
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
    "2026-05-05T00:00:00",
    // What croner takes beyond the documented syntax.
    "2026-05-05T00:00:00 * * * * *",
    "0 0 L * *",
    "0 0 15W * *",
    "0 0 * * 5#2",
    "0 0 * * +1",
    "0 0 * JANFEB *",
    "5* * * * *",
    "/5 * * * *",
    "005 * * * *",
    "1,,2 * * * *",
    "5-1 * * * *"
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

describe("the first instant that matches", () => {
  interface Field {
    text: string;
    values: ReadonlySet<number>;
  }

  /** Fields with what they mean, so that the expectation reads no expression. */
  const field = (min: number, max: number): fc.Arbitrary<Field> => {
    const every = (from: number, to: number, step: number) =>
      Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);
    const value = fc.integer({ min, max });
    const part = fc.oneof(
      value.map((one) => ({ text: String(one), values: [one] })),
      fc.tuple(value, value, fc.integer({ min: 1, max })).map(([a, b, step]) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        return { text: `${from}-${to}${step === 1 ? "" : `/${step}`}`, values: every(from, to, step) };
      }),
      fc.integer({ min: 1, max }).map((step) => ({ text: `*/${step}`, values: every(min, max, step) }))
    );
    return fc.oneof(
      fc.constant({ text: "*", values: new Set(every(min, max, 1)) }),
      fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => ({
        text: parts.map(({ text }) => text).join(","),
        values: new Set(parts.flatMap(({ values }) => values))
      }))
    );
  };
  const fields = fc.tuple(field(0, 59), field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7));
  type Fields = typeof fields extends fc.Arbitrary<infer Value> ? Value : never;

  const DAY_MS = 86_400_000;

  function matchesDay([, , , days, months, weekdays]: Fields, day: Date): boolean {
    if (!months.values.has(day.getUTCMonth() + 1)) return false;
    const isDate = days.values.has(day.getUTCDate());
    const weekday = day.getUTCDay();
    const isWeekday = weekdays.values.has(weekday) || (weekday === 0 && weekdays.values.has(7));
    return days.text === "*" || weekdays.text === "*" ? isDate && isWeekday : isDate || isWeekday;
  }

  /** By looking at every day, hour, minute and second: slow, and too simple to be wrong. */
  function firstMatch(fields: Fields, after: number): number | null {
    const [seconds, minutes, hours] = fields.slice(0, 3).map(({ values }) => [...values].sort((a, b) => a - b));
    const start = Math.floor(after / DAY_MS) * DAY_MS;
    for (let day = start; day < start + 9 * 366 * DAY_MS; day += DAY_MS) {
      if (!matchesDay(fields, new Date(day))) continue;
      for (const hour of hours!) {
        for (const minute of minutes!) {
          if (day + hour * 3_600_000 + minute * 60_000 + 59_000 <= after) continue;
          const second = seconds!.find((one) => day + ((hour * 60 + minute) * 60 + one) * 1000 > after);
          if (second !== undefined) return day + ((hour * 60 + minute) * 60 + second) * 1000;
        }
      }
    }
    return null;
  }

  const check = (numRuns: number, times: fc.Arbitrary<number>) =>
    fc.assert(
      fc.property(fields, times, (given, after) => {
        const text = given.map((one) => one.text).join(" ");
        expect({ text, next: nextOccurrence(text, after) }).toEqual({ text, next: firstMatch(given, after) });
      }),
      { numRuns }
    );

  test("is found for every expression", () => {
    check(500, fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2090, 0, 1) }));
  });

  test("is found for every expression asked about in February", () => {
    const offsets = fc.integer({ min: 0, max: 29 * DAY_MS });
    check(
      500,
      fc.tuple(fc.integer({ min: 2000, max: 2089 }), offsets).map(([year, offset]) => Date.UTC(year, 1, 1) + offset)
    );
  });

  test.each(["0 0 1,30 * *", "0 0 1,31 * *", "0 0 */29 * *"])("is 1 March for %s in February", (expression) => {
    expect(nextOccurrence(expression, Date.UTC(2026, 1, 5))).toBe(Date.UTC(2026, 2, 1));
  });
});
