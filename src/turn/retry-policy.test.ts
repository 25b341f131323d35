// Budgets as tables over histories of attempts, and what must hold for every history.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AttemptView } from "../journal/folds/turn-fold.ts";
import {
  countFailures,
  DEBOUNCE_MS,
  evaluateBudget,
  FAILURES_IN_A_ROW,
  failurePauseMs,
  FAILURES_IN_ALL,
  hookFailuresInARow,
  LONG_SILENCE,
  LONG_SILENCES_IN_A_ROW,
  OUT_OF_MEMORY,
  OUT_OF_MEMORY_LIMIT,
  pauseAfterDeath,
  RECOVERY_HOOK_FAILED,
  type Budget,
  type NewFailure,
  type RecoveryLimits
} from "./retry-policy.ts";

const LIMITS: RecoveryLimits = {
  maxAttempts: 3,
  noProgressTimeoutMs: 300_000,
  maxRecoveryWork: 100,
  maxInterruptedAttempts: 5
};

type Past = Partial<AttemptView> & { readonly end: AttemptView["end"] };

/** The end of each attempt is the start of the next, unless told otherwise. */
function history(...past: Past[]): AttemptView[] {
  let at = 0;
  return past.map((one, index) => {
    const startedAt = one.startedAt ?? at;
    at = one.endedAt ?? startedAt + 40_000;
    const rest = { produced: 0, finishedSteps: 0, repairedTo: 0, errorCode: null, retryAt: null };
    const identity = { attempt: index + 1, kind: "retry" as const };
    return { ...identity, ...rest, ...one, startedAt, endedAt: one.end === null ? null : at };
  });
}

function evaluate(
  attempts: AttemptView[],
  more: Partial<RecoveryLimits & { nowMs: number; isAwaiting: boolean }> = {}
) {
  const { nowMs = attempts.at(-1)?.endedAt ?? 0, isAwaiting = false, ...limits } = more;
  return evaluateBudget({ attempts, limits: { ...LIMITS, ...limits }, nowMs, isAwaiting });
}

const dies = (endedAt: number, more: Partial<AttemptView> = {}): Past => ({ end: "interrupted", endedAt, ...more });
const stalls = (endedAt: number, more: Partial<AttemptView> = {}): Past => ({ end: "stalled", endedAt, ...more });

describe("a turn", () => {
  test.each<[string, Past[]]>([
    ["never attempted", []],
    ["in its first attempt", [{ end: null }]],
    ["that outgrew its context", [{ end: "overflow" }, { end: "restarted" }]],
    ["that is settled", [{ end: "settled" }]]
  ])("%s has no budget: nothing interrupted it", (_name, past) => {
    expect(evaluate(history(...past))).toBeUndefined();
  });

  test.each(["interrupted", "stalled", "failed"] as const)(
    "that was %s once is at attempt 1, exhausted by nothing",
    (end) => {
      const once = evaluate(history({ end, endedAt: 7, produced: 9 }), {
        maxRecoveryWork: 0,
        noProgressTimeoutMs: 0,
        nowMs: 1e9
      });
      expect(once).toMatchObject({
        attempt: 1,
        detections: 1,
        work: 0,
        openedAt: 7,
        progressAt: 7,
        exhausted: undefined
      });
    }
  );
});

describe("attempts without progress", () => {
  const rows: [string, Past[], Partial<Budget>][] = [
    ["30 s apart count each", [stalls(0), stalls(DEBOUNCE_MS)], { attempt: 2, detections: 2 }],
    ["closer together count once", [stalls(0), stalls(DEBOUNCE_MS - 1)], { attempt: 1, detections: 2 }],
    [
      "are spaced from the last that counted",
      [stalls(0), stalls(20_000), stalls(40_000)],
      { attempt: 2, detections: 3 }
    ],
    ["begin again at 1 after progress", [stalls(0), stalls(40_000), stalls(80_000, { produced: 1 })], { attempt: 1 }],
    ["do not count what the first one wrote", [stalls(0, { produced: 5 }), stalls(40_000)], { attempt: 2, work: 0 }],
    [
      "count what a handover wrote",
      [stalls(0), { end: "overflow", produced: 4 }, stalls(99_000)],
      { attempt: 1, work: 4 }
    ],
    ["are at most the limit", [0, 1, 2].map((n) => stalls(n * 40_000)), { attempt: 3, exhausted: undefined }],
    [
      "and not one more",
      [0, 1, 2, 3].map((n) => stalls(n * 40_000)),
      { attempt: 4, exhausted: "max_attempts_exceeded" }
    ]
  ];

  test.each(rows)("%s", (_promise, past, budget) => {
    expect(evaluate(history(...past))).toMatchObject(budget);
  });

  test("maxAttempts 1 gives up at the second interruption, as attempt 2; two within 30 s are one", () => {
    const giveUp = { attempt: 2, exhausted: "max_attempts_exceeded" };
    expect(evaluate(history(dies(0), dies(30_000)), { maxAttempts: 1 })).toMatchObject(giveUp);
    expect(evaluate(history(dies(0), dies(29_999)), { maxAttempts: 1 })).toMatchObject({
      attempt: 1,
      exhausted: undefined
    });
  });
});

describe("time without progress", () => {
  const twice = history(stalls(1_000), stalls(2_000));

  test("counts from the first interruption, and only from the second one on", () => {
    expect(evaluate(twice, { nowMs: 301_000 })?.exhausted).toBeUndefined();
    expect(evaluate(twice, { nowMs: 301_001 })?.exhausted).toBe("no_progress_timeout");
    expect(evaluate(twice.slice(0, 1), { nowMs: 9e9 })?.exhausted).toBeUndefined();
  });

  test("begins anew with progress: hours of slow progress are not sealed by the clock", () => {
    const hours = history(
      ...Array.from({ length: 19 }, (_, hour) => stalls(hour * 3_600_000, { produced: 1, finishedSteps: 1 }))
    );
    expect(evaluate(hours)).toMatchObject({ attempt: 1, work: 18, exhausted: undefined });
  });
});

describe("work", () => {
  const worked = (units: number) => history(dies(0), dies(40_000, { produced: units }));

  test("is exhausted above the limit, not at it", () => {
    expect(evaluate(worked(100))).toMatchObject({ work: 100, exhausted: undefined });
    expect(evaluate(worked(101))).toMatchObject({ work: 101, exhausted: "work_budget_exceeded" });
    expect(evaluate(worked(1), { maxRecoveryWork: 0 })?.exhausted).toBe("work_budget_exceeded");
    expect(evaluate(worked(1e9), { maxRecoveryWork: Infinity })?.exhausted).toBeUndefined();
  });
});

describe("deaths", () => {
  const deaths = (count: number) =>
    history(...Array.from({ length: count }, (_, index) => dies(index * 60_000, { produced: 3 })));

  test("are counted for ever, whatever progress each made", () => {
    expect(evaluate(deaths(4))).toMatchObject({ attempt: 1, interruptions: 4, exhausted: undefined });
    expect(evaluate(deaths(5))).toMatchObject({ interruptions: 5, exhausted: "interrupted_attempts_exceeded" });
  });

  test("are not stalls or failures", () => {
    const others = history(...Array.from({ length: 4 }, (_, index) => stalls(index * 60_000, { produced: 1 })));
    expect(evaluate(others)).toMatchObject({ interruptions: 0, exhausted: undefined });
  });

  test("in quick succession are spaced out; a long attempt before its death is no quick one", () => {
    const pause = (attempts: AttemptView[], nowMs: number, maxInterruptedAttempts = 5) =>
      pauseAfterDeath({ attempts, nowMs, maxInterruptedAttempts });
    const quick = (count: number) => history(...Array.from({ length: count }, (_, at) => dies(at * 1_000 + 1)));
    const pauses = (counts: number[], allowed?: number) =>
      counts.map((count) => pause([...quick(count), ...history(open(20_000))], 20_001, allowed));
    expect(pauses([0, 1, 2, 3, 4, 9])).toEqual([null, 25_001, 35_001, 60_001, 60_001, 60_001]);
    expect(pauses([1, 4, 5, 6, 7, 8], 10)).toEqual([null, null, null, 25_001, 35_001, 60_001]);
    expect(pauses([1, 99], Infinity)).toEqual([null, null]);
    expect(pause([...quick(4), ...history(open(0))], DEBOUNCE_MS)).toBeNull();
    expect(pause([...quick(4), ...history(stalls(5_000)), ...history(open(5_000))], 6_000)).toBeNull();
  });

  const open = (startedAt: number): Past => ({ end: null, startedAt });
});

describe("memory", () => {
  const fails = (errorCode: string): Past => ({ end: "failed", produced: 1, errorCode });

  test(`that ran out ${OUT_OF_MEMORY_LIMIT} times in a row will run out again, whatever was made meanwhile`, () => {
    const times = (count: number) => Array.from({ length: count }, () => fails(OUT_OF_MEMORY));
    expect(evaluate(history(...times(2)))?.exhausted).toBeUndefined();
    expect(evaluate(history(...times(3)))?.exhausted).toBe("out_of_memory");
    expect(evaluate(history(...times(2), fails("platform"), ...times(1)))?.exhausted).toBeUndefined();
  });
});

describe("failures of the provider", () => {
  const fails = (finishedSteps = 0): Past => ({ end: "failed", produced: 1, finishedSteps, errorCode: "transient" });
  const silent = (finishedSteps = 0): Past => ({ end: "stalled", produced: 1, finishedSteps });
  const hangs = (finishedSteps = 0): Past => ({ ...silent(finishedSteps), errorCode: LONG_SILENCE });
  const hookFails: Past = { end: "failed", errorCode: RECOVERY_HOOK_FAILED };
  const rows: [string, Past[], number, number][] = [
    ["none", [], 0, 0],
    ["each, whether or not text came before it", [fails(), { ...fails(), produced: 0 }], 2, 2],
    ["silences too", [silent(), fails(), silent()], 3, 3],
    ["since the last finished step", [fails(), fails(), fails(1), silent()], 2, 4],
    ["none since a step that the open attempt finished", [fails(), fails(), { end: null, finishedSteps: 1 }], 0, 2],
    ["those before the attempt that is still open", [fails(), fails(), { end: null, produced: 3 }], 2, 2],
    ["over deaths and new beginnings", [fails(), dies(9), { end: "restarted" }, { end: "overflow" }, fails()], 2, 2],
    ["not those of the user's hook", [fails(), hookFails, fails()], 2, 2]
  ];

  test.each(rows)("count %s", (_promise, past, inARow, inAll) => {
    expect(countFailures(history(...past))).toMatchObject({ inARow, inAll });
  });

  test.each([
    ["in a row", FAILURES_IN_A_ROW, () => silent()],
    ["in all", FAILURES_IN_ALL, () => silent(1)],
    ["that are long silences in a row", LONG_SILENCES_IN_A_ROW, () => hangs()]
  ])("%s end the turn at the limit of %i", (_what, limit, one) => {
    const times = (count: number) => history(...Array.from({ length: count }, one));
    expect(evaluate(times(limit - 1), { maxAttempts: 99 })?.exhausted).toBeUndefined();
    expect(evaluate(times(limit), { maxAttempts: 99 })?.exhausted).toBe("provider_failures_exceeded");
  });

  test.each<[string, Past[], number]>([
    ["in a row", [fails(), hangs(), hangs()], 2],
    ["over deaths", [hangs(), dies(9), hangs()], 2],
    ["not over a failure that the provider reported", [hangs(), fails(), hangs()], 1],
    ["not over a finished step", [hangs(), hangs(1)], 1],
    ["not before a failure, or a short one", [hangs(), silent()], 0]
  ])("that are long silences count %s", (_promise, past, longSilences) => {
    expect(countFailures(history(...past)).longSilences).toBe(longSilences);
  });

  const hanging = { isLongSilence: true };
  test.each<[string, Past[], NewFailure, boolean]>([
    ["a first long silence", [], hanging, true],
    ["a second long silence", [hangs()], hanging, false],
    ["a failure after a long silence", [hangs()], {}, true],
    ["a long silence after a failure", [hangs(), fails()], hanging, true],
    ["a long silence after a finished step", [hangs(), { end: null, finishedSteps: 1 }], hanging, true]
  ])("after %s the provider is asked again, or not", (_what, past, failure, isAskedAgain) => {
    expect(failurePauseMs(history(...past), failure) !== undefined).toBe(isAskedAgain);
  });

  test("of the user's hook are counted apart", () => {
    expect(hookFailuresInARow(history(hookFails, fails(), hookFails, hookFails))).toBe(2);
    expect(hookFailuresInARow(history(hookFails, fails()))).toBe(0);
  });
});

describe("for every history", () => {
  const past: fc.Arbitrary<Past> = fc.record({
    end: fc.constantFrom("interrupted", "stalled", "failed", "overflow", "restarted"),
    produced: fc.nat(5),
    errorCode: fc.constantFrom(null, OUT_OF_MEMORY, "platform")
  });
  const gaps = fc.array(fc.tuple(past, fc.nat(90_000)), { minLength: 1, maxLength: 12 });
  const anyHistory = gaps.map((steps) => {
    let at = 0;
    return history(...steps.map(([one, gap]) => ({ ...one, startedAt: at, endedAt: (at += gap) })));
  });

  test("waiting for a person suspends every bound", () => {
    fc.assert(
      fc.property(anyHistory, fc.nat(), (attempts, later) => {
        const budget = evaluate(attempts, { isAwaiting: true, nowMs: 1e7 + later });
        expect(budget?.exhausted).toBeUndefined();
        if (budget) expect(budget.progressAt).toBe(1e7 + later);
      })
    );
  });

  test("what is counted is in bounds, and a further interruption never takes work or deaths back", () => {
    fc.assert(
      fc.property(anyHistory, (attempts) => {
        const [before, after] = [evaluate(attempts.slice(0, -1)), evaluate(attempts)];
        const produced = attempts.reduce((sum, one) => sum + one.produced, 0);
        expect(after?.work ?? 0).toBeLessThanOrEqual(produced);
        expect(after?.work ?? 0).toBeGreaterThanOrEqual(before?.work ?? 0);
        expect(after?.interruptions ?? 0).toBeGreaterThanOrEqual(before?.interruptions ?? 0);
        expect(after?.attempt ?? 1).toBeLessThanOrEqual(Math.max((before?.attempt ?? 0) + 1, 1));
        if (after) expect([after.attempt >= 1, after.attempt <= after.detections]).toEqual([true, true]);
        if (before && after) expect(after.openedAt).toBe(before.openedAt);
      })
    );
  });

  test("looser limits never exhaust what tighter ones let pass", () => {
    const limit = fc.record({
      maxAttempts: fc.integer({ min: 1, max: 6 }),
      noProgressTimeoutMs: fc.nat(400_000),
      maxRecoveryWork: fc.nat(30),
      maxInterruptedAttempts: fc.integer({ min: 1, max: 6 })
    });
    fc.assert(
      fc.property(anyHistory, limit, fc.nat(400_000), (attempts, limits, laterMs) => {
        const nowMs = (attempts.at(-1)?.endedAt ?? 0) + laterMs;
        const looser = Object.fromEntries(Object.entries(limits).map(([name, value]) => [name, value + 1]));
        if (evaluate(attempts, { ...limits, nowMs })?.exhausted === undefined) {
          expect(evaluate(attempts, { ...limits, ...looser, nowMs })?.exhausted).toBeUndefined();
        }
      })
    );
  });
});
