import { expect, test } from "vitest";
import { alarmLimits, fewFilesWarning, limitsText, openFileLimit, StartLimits } from "./alarm-limits.ts";

test.each([
  { openFiles: 0, perSecond: 1, atOnce: 1 },
  { openFiles: 256, perSecond: 1, atOnce: 10 },
  { openFiles: 1_024, perSecond: 7, atOnce: 74 },
  { openFiles: 4_096, perSecond: 25, atOnce: 330 },
  { openFiles: 20_000, perSecond: 25, atOnce: 500 },
  { openFiles: Infinity, perSecond: 25, atOnce: 500 }
])("$openFiles open files let alarms wake $perSecond a second, $atOnce at once", ({ openFiles, ...limits }) => {
  expect(alarmLimits(openFiles)).toEqual(limits);
  // Woken ones stay for ten seconds after their work, with three files each: half of the files is left for clients.
  const files = 3 * (limits.atOnce + 10 * limits.perSecond);
  if (openFiles >= 256) expect(files).toBeLessThanOrEqual(openFiles / 2);
});

test("a start has a share, half of it after each process in a row that its alarms were too much for", () => {
  const starts = new StartLimits({ perSecond: 25, atOnce: 9 });
  const startAt = (nowMs: number, frozenUntil?: number) => {
    const { perSecond } = starts.at(nowMs, frozenUntil);
    starts.busyUntil(nowMs + 600_000);
    return perSecond;
  };
  expect(startAt(1_000)).toBe(15);
  expect(startAt(40_000, 39_000)).toBe(7);
  // Killed from outside: the same old news.
  expect(startAt(50_000, 39_000)).toBe(7);
  expect(startAt(90_000, 89_000)).toBe(3);
  for (let at = 100_000; at < 200_000; at += 10_000) startAt(at, at - 1);
  expect(startAt(200_000, 199_000)).toBe(1);
  // All had run long before.
  expect(startAt(5_000_000, 4_999_000)).toBe(15);
});

test("with a limit of one a second a start has one, too", () => {
  expect(new StartLimits({ perSecond: 1, atOnce: 1 }).at(0)).toEqual({ perSecond: 1, atOnce: 1 });
});

test("a server with few files says so, and how to give it more", () => {
  expect(fewFilesWarning(1_024)).toContain("LimitNOFILE");
  expect(fewFilesWarning(8_192)).toBeUndefined();
  expect(limitsText(20_000, alarmLimits(20_000))).toBe(
    "20,000 files may be open. Alarms wake 25 agents a second, and no more while 500 of them work."
  );
});

test("the limit of this process is known", () => {
  expect(openFileLimit()).toBeGreaterThan(0);
});
