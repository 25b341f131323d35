import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import {
  LATE_MS,
  ALARM_LIMITS_VARIABLE,
  MAX_COUNTED_MS,
  MAX_POSTPONED_MS,
  ProcessAlarms,
  processAlarms
} from "./process-alarms.ts";

const NOW = 1_000_000;

describe("alarms of one process", () => {
  test("are at most so many to a second, none before its time, and each on time where there is space", () => {
    const wishes = fc.array(fc.integer({ min: NOW, max: NOW + 20_000 }), { maxLength: 200 });
    fc.assert(
      fc.property(wishes, fc.integer({ min: 1, max: 7 }), (wanted, perSecond) => {
        const alarms = new ProcessAlarms({ perSecond, atOnce: 1 });
        const set = wanted.map((at) => alarms.take(at, NOW));
        const bySecond = Map.groupBy(set, (at) => Math.floor(at / 1_000));
        for (const inSecond of bySecond.values()) expect(inSecond.length).toBeLessThanOrEqual(perSecond);
        for (const [index, at] of wanted.entries()) {
          const given = set[index] ?? 0;
          expect(given).toBeGreaterThanOrEqual(at);
          // A later second only when every one before it was full.
          for (let second = Math.floor(at / 1_000); second < Math.floor(given / 1_000); second += 1) {
            const before = set.slice(0, index).filter((one) => Math.floor(one / 1_000) === second);
            expect(before).toHaveLength(perSecond);
          }
        }
      })
    );
  });

  test("20,000 at one time are placed in a few steps each", () => {
    const alarms = new ProcessAlarms({ perSecond: 40, atOnce: 1 });
    const set = Array.from({ length: 20_000 }, () => alarms.take(NOW, NOW));
    expect(Math.max(...set)).toBe(NOW + 499_000 + 975);
    expect(new Set(set).size).toBe(20_000);
  });

  test("of many different times cost the same each", () => {
    const alarms = new ProcessAlarms({ perSecond: 1, atOnce: 1 });
    const visited = vi.spyOn(Map.prototype, "keys");
    for (let second = 0; second < 40_000; second += 1) alarms.take(NOW + second * 1_000, NOW);
    const walks = visited.mock.calls.length;
    visited.mockRestore();
    expect(walks).toBeLessThan(10);
  });

  test("that are set no more leave their space to others", () => {
    const alarms = new ProcessAlarms({ perSecond: 1, atOnce: 1 });
    const first = alarms.take(NOW, NOW);
    alarms.release(first);
    expect(alarms.take(NOW, NOW)).toBe(NOW);
    expect(alarms.take(NOW, NOW)).toBe(NOW + 1_000);
  });

  test.each([
    { perSecond: 40, count: 20_000, hours: 0.14 },
    { perSecond: 4, count: 20_000, hours: 1.39 },
    { perSecond: 1, count: 20_000, hours: 5.56 },
    { perSecond: 1, count: 100_000, hours: 27.78 }
  ])("$count at one time take $hours hours at $perSecond a second, and no second has more", (row) => {
    const { perSecond, count, hours } = row;
    const alarms = new ProcessAlarms({ perSecond, atOnce: 1 });
    const bySecond = new Map<number, number>();
    let last = 0;
    for (let taken = 0; taken < count; taken += 1) {
      last = alarms.take(NOW, NOW);
      const second = Math.floor(last / 1_000);
      bySecond.set(second, (bySecond.get(second) ?? 0) + 1);
    }
    expect(new Set(bySecond.values())).toEqual(new Set([perSecond]));
    expect((last - NOW) / 3_600_000).toBeCloseTo(hours, 2);
  });

  test("of seconds that are over are forgotten", () => {
    const alarms = new ProcessAlarms({ perSecond: 1, atOnce: 1 });
    for (let second = 0; second < 20_000; second += 1) alarms.take(NOW + second * 1_000, NOW + second * 1_000);
    // In the past of the clock, which only a map that forgot it has space for.
    expect(alarms.take(NOW, NOW)).toBe(NOW);
  });
});

describe("a woken object", () => {
  const alarms = () => new ProcessAlarms({ perSecond: 1, atOnce: 2 });

  test("is let in while fewer than the limit work, and again when one has ended", () => {
    const subject = alarms();
    const ended = subject.begin(NOW);
    expect(subject.postponedUntil("a", NOW)).toBeUndefined();
    subject.begin(NOW);
    expect(subject.postponedUntil("a", NOW)).toBe(NOW + 5_000);
    ended();
    ended();
    expect(subject.postponedUntil("a", NOW)).toBeUndefined();
    subject.begin(NOW);
    expect(subject.postponedUntil("b", NOW)).toBe(NOW + 5_000);
  });

  test("whose alarm comes on time is let in, however many are", () => {
    const subject = alarms();
    for (let index = 0; index < 20; index += 1) {
      expect(subject.postponedUntil(`on time ${index}`, NOW, NOW - LATE_MS + 1)).toBeUndefined();
    }
  });

  test("whose alarm comes late is let in as the process can start it, so that some always are, and comes again beyond that", () => {
    const subject = new ProcessAlarms({ perSecond: 8, atOnce: 500 });
    const letIn = [0, 1, 2, 3, 4].map((second) => {
      const now = NOW + second * 1_000;
      const all = Array.from({ length: 40 }, (_, index) => subject.postponedUntil(`${index}`, now, now - LATE_MS));
      expect(new Set(all)).toEqual(new Set([undefined, now + 5_000]));
      return all.filter((until) => until === undefined).length;
    });
    expect(letIn).toEqual([4, 2, 1, 1, 1]);
    // What is set now has the space that is left.
    const set = Array.from({ length: 3 }, () => subject.take(NOW + 10_000, NOW));
    expect(set).toEqual([NOW + 10_000, NOW + 11_000, NOW + 12_000]);
  });

  test("is not sent away for longer than ten minutes", () => {
    const subject = alarms();
    for (let at = NOW; at < NOW + MAX_POSTPONED_MS; at += 60_000) {
      subject.begin(at);
      subject.begin(at);
      expect(subject.postponedUntil("a", at)).toBeDefined();
    }
    expect(subject.postponedUntil("a", NOW + MAX_POSTPONED_MS)).toBeUndefined();
    expect(subject.postponedUntil("a", NOW + MAX_POSTPONED_MS)).toBeDefined();
  });

  test("does not wait for work that goes on for ever, or died without a word", () => {
    const subject = alarms();
    subject.begin(NOW);
    subject.begin(NOW);
    expect(subject.postponedUntil("a", NOW + MAX_COUNTED_MS - 1)).toBeDefined();
    expect(subject.postponedUntil("a", NOW + MAX_COUNTED_MS)).toBeUndefined();
  });
});

describe("the limits", () => {
  const limits = JSON.stringify({ perSecond: 2, atOnce: 2 });

  test("belong to the process, whatever the object", () => {
    const process = {};
    const env = { [ALARM_LIMITS_VARIABLE]: limits };
    expect(processAlarms(process, env)).toBe(processAlarms(process, { ...env }));
    expect(processAlarms({}, env)).not.toBe(processAlarms(process, env));
  });

  test.each([
    undefined,
    {},
    { [ALARM_LIMITS_VARIABLE]: 5 },
    ...["", "[]", '{"perSecond":0,"atOnce":1}', '{"atOnce":1}'].map((text) => ({ [ALARM_LIMITS_VARIABLE]: text }))
  ])("that are not there change nothing: %j", (env) => expect(processAlarms({}, env)).toBeUndefined());
});
