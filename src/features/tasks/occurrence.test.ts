// When a task runs next: on days without a change of the clock, on both days with one in five zones, and after a sleep.
import { describe, expect, test } from "vitest";
import { firstTaskTime, nextTaskTime, type ZonedRule } from "./occurrence.ts";

const at = (text: string) => Date.parse(text);
const hourly: ZonedRule = { kind: "interval", everyMs: 3_600_000, text: "every 1 hour" };

function daily(time: string, timezone: string, days?: readonly number[]): ZonedRule {
  const [hour = 0, minute = 0] = time.split(":").map(Number);
  return { kind: "wall-clock", hour, minute, days, timezone, text: `every day at ${time}` };
}

/** The occurrences after a time, each computed at the one before. */
function following(rule: ZonedRule, from: string, count: number): string[] {
  const times: number[] = [];
  for (let now = at(from); times.length < count; now = times.at(-1) ?? now) times.push(nextTaskTime(rule, now, now));
  return times.map((time) => new Date(time).toISOString().replace(":00.000Z", "Z"));
}

describe("intervals", () => {
  test("the first is one interval from now", () => {
    expect(firstTaskTime(hourly, at("2026-01-01T08:20Z"))).toBe(at("2026-01-01T09:20Z"));
  });

  test("hourly, meant for 08:00 and run at 10:30: the next is at 11:00", () => {
    const next = nextTaskTime(hourly, at("2026-01-01T08:00Z"), at("2026-01-01T10:30Z"));
    expect(new Date(next).toISOString()).toBe("2026-01-01T11:00:00.000Z");
  });

  test("run in time, and run exactly one interval late: the next is in the future", () => {
    expect(nextTaskTime(hourly, at("2026-01-01T08:00Z"), at("2026-01-01T08:00Z"))).toBe(at("2026-01-01T09:00Z"));
    expect(nextTaskTime(hourly, at("2026-01-01T08:00Z"), at("2026-01-01T09:00Z"))).toBe(at("2026-01-01T10:00Z"));
  });
});

describe("wall-clock times", () => {
  test("the next is strictly after now", () => {
    expect(following(daily("09:00", "UTC"), "2026-01-01T09:00Z", 1)).toEqual(["2026-01-02T09:00Z"]);
    expect(following(daily("09:00", "UTC"), "2026-01-01T08:59:59Z", 1)).toEqual(["2026-01-01T09:00Z"]);
  });

  test("weekdays and named days are those of the timezone", () => {
    // Friday in UTC, Saturday in Tokyo.
    const weekdays = daily("01:00", "Asia/Tokyo", [1, 2, 3, 4, 5]);
    expect(following(weekdays, "2026-01-02T15:30Z", 1)).toEqual(["2026-01-04T16:00Z"]);
    expect(following(daily("09:00", "Europe/London", [1, 3]), "2026-01-01T00:00Z", 3)).toEqual([
      "2026-01-05T09:00Z",
      "2026-01-07T09:00Z",
      "2026-01-12T09:00Z"
    ]);
  });
});

/** The day before, the day of the change, the day after. */
describe("days on which the clock changes", () => {
  test.each<[what: string, time: string, timezone: string, from: string, expected: string[]]>([
    [
      "left out in London",
      "01:30",
      "Europe/London",
      "2026-03-28T00:00Z",
      ["2026-03-28T01:30Z", "2026-03-29T01:00Z", "2026-03-30T00:30Z"]
    ],
    [
      "twice in London",
      "01:30",
      "Europe/London",
      "2026-10-24T00:00Z",
      ["2026-10-24T00:30Z", "2026-10-25T00:30Z", "2026-10-26T01:30Z"]
    ],
    [
      "left out in New York",
      "02:30",
      "America/New_York",
      "2026-03-07T00:00Z",
      ["2026-03-07T07:30Z", "2026-03-08T07:00Z", "2026-03-09T06:30Z"]
    ],
    [
      "twice in New York",
      "01:30",
      "America/New_York",
      "2026-10-31T00:00Z",
      ["2026-10-31T05:30Z", "2026-11-01T05:30Z", "2026-11-02T06:30Z"]
    ],
    [
      "left out by half an hour in Lord Howe",
      "02:15",
      "Australia/Lord_Howe",
      "2026-10-02T00:00Z",
      ["2026-10-02T15:45Z", "2026-10-03T15:30Z", "2026-10-04T15:15Z"]
    ],
    [
      "twice by half an hour in Lord Howe",
      "01:45",
      "Australia/Lord_Howe",
      "2026-04-03T00:00Z",
      ["2026-04-03T14:45Z", "2026-04-04T14:45Z", "2026-04-05T15:15Z"]
    ],
    [
      "midnight left out in Sao Paulo",
      "00:00",
      "America/Sao_Paulo",
      "2018-11-02T12:00Z",
      ["2018-11-03T03:00Z", "2018-11-04T03:00Z", "2018-11-05T02:00Z"]
    ],
    [
      "twice before midnight in Sao Paulo",
      "23:30",
      "America/Sao_Paulo",
      "2018-02-16T12:00Z",
      ["2018-02-17T01:30Z", "2018-02-18T01:30Z", "2018-02-19T02:30Z"]
    ],
    [
      "left out in Cairo",
      "00:30",
      "Africa/Cairo",
      "2026-04-22T12:00Z",
      ["2026-04-22T22:30Z", "2026-04-23T22:00Z", "2026-04-24T21:30Z"]
    ],
    [
      "twice in Cairo",
      "23:30",
      "Africa/Cairo",
      "2026-10-28T12:00Z",
      ["2026-10-28T20:30Z", "2026-10-29T20:30Z", "2026-10-30T21:30Z"]
    ],
    [
      "the day that Apia left out",
      "09:00",
      "Pacific/Apia",
      "2011-12-28T20:00Z",
      ["2011-12-29T19:00Z", "2011-12-30T19:00Z", "2011-12-31T19:00Z"]
    ]
  ])("%s: %s in %s", (_what, time, timezone, from, expected) => {
    expect(following(daily(time, timezone), from, 3)).toEqual(expected);
  });

  test.each([
    ["Europe/London", "01:30", "2026-10-25T00:45Z", "2026-10-26T01:30Z"],
    ["Europe/London", "01:30", "2026-10-25T01:10Z", "2026-10-26T01:30Z"],
    ["America/New_York", "01:30", "2026-11-01T06:10Z", "2026-11-02T06:30Z"],
    ["Australia/Lord_Howe", "01:45", "2026-04-04T15:05Z", "2026-04-05T15:15Z"],
    ["Europe/London", "01:30", "2026-03-29T00:59Z", "2026-03-29T01:00Z"],
    ["Europe/London", "01:30", "2026-03-29T01:10Z", "2026-03-30T00:30Z"]
  ])("in %s, %s is not run a second time: after %s comes %s", (timezone, time, now, next) => {
    expect(following(daily(time, timezone), now, 1)).toEqual([next]);
  });

  test("a Friday that does not exist moves to the next one", () => {
    expect(following(daily("09:00", "Pacific/Apia", [5]), "2011-12-28T00:00Z", 1)).toEqual(["2012-01-05T19:00Z"]);
  });
});
