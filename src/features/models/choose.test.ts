import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AttemptView } from "../../journal/folds/turn-fold.ts";
import {
  chooseModel,
  decideNextModel,
  LASTING_FAILURES,
  MAX_SWITCHES,
  passedOverUntil,
  PASSING_FAILURES,
  type Candidate,
  type FailureCode,
  type RememberedProvider
} from "./choose.ts";
import { afterAnswer, restAfterFailure, MAX_REMEMBER_MS } from "./memory.ts";

const NOW = 1_000_000;
const A = { name: "a/one", provider: "a" };
const A2 = { name: "a/two", provider: "a" };
const B = { name: "b/one", provider: "b" };
const C = { name: "c/one", provider: "c" };

const remembered = (provider: string, until: number, more: Partial<RememberedProvider> = {}): RememberedProvider => ({
  provider,
  until,
  failures: 1,
  failed: [],
  answered: [],
  ...more
});

function attempt(model: string, more: Partial<AttemptView> = {}): AttemptView {
  const ended = { produced: 0, finishedSteps: 0, repairedTo: 0, endedAt: 1, errorCode: "transient", retryAt: null };
  return { attempt: 1, kind: "first", startedAt: 0, end: "failed", ...ended, model, ...more };
}

/** It failed, and another model was asked at once. */
const switched = (model: string, errorCode: FailureCode = "transient", more: Partial<AttemptView> = {}) =>
  attempt(model, { errorCode, next: { model: "x", keepsText: false }, ...more });
/** It failed, and a pause followed. */
const paused = (model: string) => attempt(model, { retryAt: NOW });
const open = (model: string, more: Partial<AttemptView> = {}) =>
  attempt(model, { end: null, errorCode: null, ...more });

describe("the first model", () => {
  test.each([
    ["the first of the list", [], undefined, A],
    ["the next one, while the provider of the first is passed over", [remembered("a", NOW + 1)], undefined, B],
    ["the first again, when its time is over", [remembered("a", NOW)], undefined, A],
    [
      "the one whose time ends first, when all are passed over",
      [remembered("a", NOW + 9), remembered("b", NOW + 5), remembered("c", NOW + 7)],
      undefined,
      B
    ],
    ["the one that was chosen for the turn, whatever is remembered of it", [remembered("c", NOW + 9)], C.name, C],
    ["another one, when the chosen one is no longer in the list", [], "gone", A]
  ] as const)("is %s", (_name, memory, chosen, expected) => {
    expect(chooseModel({ candidates: [A, B, C], memory, nowMs: NOW }, chosen)).toBe(expected);
  });

  test("is another one of the same provider, if that has answered since", () => {
    const memory = [remembered("a", NOW + 9, { failed: [A.name], answered: [A2.name] })];
    expect(chooseModel({ candidates: [A, A2, B], memory, nowMs: NOW })).toBe(A2);
  });
});

describe("the next model", () => {
  const decide = (
    attempts: readonly AttemptView[],
    code: FailureCode = "transient",
    memory: readonly RememberedProvider[] = []
  ) =>
    decideNextModel({
      candidates: [A, B, C],
      memory,
      nowMs: NOW,
      attempts,
      failing: attempts.at(-1)?.model ?? "",
      code
    });

  test.each<[string, readonly AttemptView[], FailureCode, ReturnType<typeof decide>]>([
    ["is the next of the list", [open(A.name)], "transient", { do: "switch", model: B.name }],
    [
      "is the first one, after a turn that began further down",
      [open(B.name)],
      "transient",
      { do: "switch", model: A.name }
    ],
    ["is none that has failed already", [switched(A.name), open(B.name)], "silence", { do: "switch", model: C.name }],
    [
      "is the first again after a pause, when all have failed",
      [switched(A.name), switched(B.name), open(C.name)],
      "transient",
      { do: "again", model: A.name }
    ],
    [
      "counts anew after a pause",
      [switched(A.name), switched(B.name), paused(C.name), open(A.name)],
      "transient",
      { do: "switch", model: B.name }
    ],
    [
      "counts anew after a finished step",
      [switched(A.name), open(B.name, { finishedSteps: 1 })],
      "transient",
      { do: "switch", model: A.name }
    ],
    [
      "is never one that can only fail again",
      [switched(A.name, "context_overflow"), switched(B.name), open(C.name)],
      "transient",
      { do: "again", model: B.name }
    ],
    [
      "is the one that may still answer, when the last one cannot",
      [switched(A.name), switched(B.name, "model-refused"), open(C.name)],
      "context_overflow",
      { do: "again", model: A.name }
    ],
    [
      "is nobody, when none can answer",
      [switched(A.name, "model-refused"), switched(B.name, "context_overflow"), open(C.name)],
      "content-filtered",
      undefined
    ]
  ])("%s", (_name, attempts, code, expected) => {
    expect(decide(attempts, code)).toEqual(expected);
  });

  test("is one that is passed over only when there is no other", () => {
    const memory = [remembered("b", NOW + 9)];
    expect(decide([open(A.name)], "transient", memory)).toEqual({ do: "switch", model: C.name });
    expect(decide([switched(A.name), open(C.name)], "transient", memory)).toEqual({ do: "switch", model: B.name });
  });

  test(`is asked at once at most ${MAX_SWITCHES} times in a turn`, () => {
    const progress = { finishedSteps: 1 };
    const before = Array.from({ length: MAX_SWITCHES }, () => switched(B.name, "transient", progress));
    expect(decide([...before.slice(1), open(A.name)])).toMatchObject({ do: "switch" });
    expect(decide([...before, open(A.name)])).toMatchObject({ do: "again" });
  });
});

const names = ["a/one", "a/two", "b/one", "c/one", "d/one"];
const candidate = fc.constantFrom(...names).map((name): Candidate => ({ name, provider: name.slice(0, 1) }));
const candidates = fc.uniqueArray(candidate, { selector: ({ name }) => name, minLength: 1, maxLength: 5 });
const code = fc.constantFrom<FailureCode>(...LASTING_FAILURES, ...PASSING_FAILURES);
const memory = fc.uniqueArray(
  fc.record({
    provider: fc.constantFrom("a", "b", "c", "d"),
    until: fc.integer({ min: NOW - 5, max: NOW + 5 }),
    failures: fc.integer({ min: 1, max: 9 }),
    failed: fc.subarray(names),
    answered: fc.subarray(names)
  }),
  { selector: ({ provider }) => provider }
);
/** How each call of a turn fails, in order; a step may be finished before. */
const failures = fc.array(fc.record({ code, progress: fc.boolean() }), { minLength: 1, maxLength: 60 });

test("in any turn: a model of the list is asked, a lasting failure is met once, and switches are bounded", () => {
  fc.assert(
    fc.property(candidates, memory, failures, (list, known, calls) => {
      const attempts: AttemptView[] = [];
      const lasting = new Set<string>();
      let asked = chooseModel({ candidates: list, memory: known, nowMs: NOW })!.name;
      for (const call of calls) {
        expect(list.map(({ name }) => name)).toContain(asked);
        expect(lasting.has(asked)).toBe(false);
        const finishedSteps = call.progress ? 1 : 0;
        const decision = decideNextModel({
          candidates: list,
          memory: known,
          nowMs: NOW,
          attempts: [...attempts, open(asked, { finishedSteps })],
          failing: asked,
          code: call.code
        });
        if (LASTING_FAILURES.some((one) => one === call.code)) lasting.add(asked);
        if (!decision) {
          expect(lasting.size).toBe(list.length);
          return;
        }
        const isSwitch = decision.do === "switch";
        if (isSwitch) expect(decision.model).not.toBe(asked);
        attempts.push(
          isSwitch
            ? switched(asked, call.code, { finishedSteps })
            : attempt(asked, {
                errorCode: call.code,
                retryAt: NOW,
                finishedSteps,
                next: { model: decision.model, keepsText: false }
              })
        );
        asked = decision.model;
      }
      expect(attempts.filter(({ retryAt }) => retryAt === null).length).toBeLessThanOrEqual(MAX_SWITCHES);
    })
  );
});

test("between two pauses no model is asked twice, unless a step was finished", () => {
  fc.assert(
    fc.property(candidates, memory, fc.array(code, { minLength: 1, maxLength: 20 }), (list, known, calls) => {
      const attempts: AttemptView[] = [];
      let round: string[] = [];
      let asked = chooseModel({ candidates: list, memory: known, nowMs: NOW })!.name;
      for (const each of calls) {
        expect(round).not.toContain(asked);
        round.push(asked);
        const tried = [...attempts, open(asked)];
        const decision = decideNextModel({
          candidates: list,
          memory: known,
          nowMs: NOW,
          attempts: tried,
          failing: asked,
          code: each
        });
        if (!decision) return;
        if (decision.do === "again") round = [];
        attempts.push(
          decision.do === "switch" ? switched(asked, each) : attempt(asked, { errorCode: each, retryAt: NOW })
        );
        asked = decision.model;
      }
    })
  );
});

describe("what is remembered", () => {
  const rememberMs = 60_000;

  test("passes a provider over for a minute, doubles with each failure, and never exceeds fifteen minutes", () => {
    let known: RememberedProvider | undefined;
    const pauses = Array.from({ length: 8 }, (_, index) => {
      const nowMs = NOW + index * MAX_REMEMBER_MS;
      known = restAfterFailure(A, known, { nowMs, rememberMs });
      return (known.until - nowMs) / 60_000;
    });
    expect(pauses).toEqual([1, 2, 4, 8, 15, 15, 15, 15]);
  });

  test("obeys the pause that a provider asks for, up to fifteen minutes", () => {
    const after = (askedForMs: number) =>
      restAfterFailure(A, undefined, { nowMs: NOW, rememberMs, askedForMs }).until - NOW;
    expect([after(1_000), after(120_000), after(86_400_000)]).toEqual([60_000, 120_000, MAX_REMEMBER_MS]);
  });

  test("is forgotten when the model that failed answers; another one of the provider is only asked again", () => {
    const known = restAfterFailure(A, undefined, { nowMs: NOW, rememberMs });
    const other = afterAnswer(A2.name, known)!;
    expect(passedOverUntil(A, [other])).toBe(known.until);
    expect(passedOverUntil(A2, [other])).toBe(0);
    expect(passedOverUntil(A2, [known])).toBe(known.until);
    expect(afterAnswer(A.name, known)).toBeUndefined();
  });
});
