// Every state a turn can be found in, against the rows of the decision: the product is small enough to try all of it.
import { describe, expect, test } from "vitest";
import { classify, type Decision, type Progress, type TurnState } from "./classify.ts";

const NOW = 1_000;

const CALM: TurnState = {
  refused: undefined,
  attempts: 1,
  isOurs: false,
  isCutOff: false,
  recovers: true,
  exhausted: undefined,
  progress: "partial",
  retryAt: null,
  nowMs: NOW
};

describe("one row after the other", () => {
  const rows: [string, Partial<TurnState>, Decision][] = [
    ["a cleared turn is skipped", { refused: "cleared" }, { do: "settle", status: "skipped", reason: "cleared" }],
    ["a superseded one too", { refused: "superseded" }, { do: "settle", status: "skipped", reason: "superseded" }],
    ["a cancelled one is aborted", { refused: "cancelled" }, { do: "settle", status: "aborted", reason: "cancelled" }],
    ["one never attempted starts", { attempts: 0 }, { do: "start" }],
    ["one that was started with its admission starts", { isOurs: true, isCutOff: true }, { do: "start" }],
    ["a death is recorded before anything is decided", { isCutOff: true }, { do: "note-death" }],
    ["a finished answer is complete", { progress: "finished" }, { do: "complete", reason: "stream_terminal" }],
    ["a question waits", { progress: "awaiting" }, { do: "complete", reason: "awaiting_client_interaction" }],
    ["without recovery it ends", { recovers: false }, { do: "settle", status: "aborted", reason: "interrupted" }],
    ["a spent budget is obeyed", { exhausted: "out_of_memory" }, { do: "give-up", reason: "out_of_memory" }],
    ["the next attempt has its time", { retryAt: NOW + 1 }, { do: "wait", until: NOW + 1 }],
    ["which has come when it is now", { retryAt: NOW }, { do: "continue" }],
    ["what is there is continued", {}, { do: "continue" }],
    ["and nothing is asked for again", { progress: "nothing" }, { do: "retry" }]
  ];

  test.each(rows)("%s", (_promise, state, decision) => {
    expect(classify({ ...CALM, ...state })).toEqual(decision);
  });
});

describe("over all states", () => {
  test("the first row that applies decides, and one always does", () => {
    const states = product();
    expect(states).toHaveLength(4 * 3 * 2 * 2 * 2 * 3 * 4 * 4);
    for (const state of states) expect([state, classify(state)]).toEqual([state, expected(state)]);
  });

  const isAttempt = (decision: Decision) => ["start", "retry", "continue"].includes(decision.do);

  test("what was refused never reaches the model", () => {
    for (const state of product().filter(({ refused }) => refused)) expect(isAttempt(classify(state))).toBe(false);
  });

  test("after the first attempt, nothing reaches the model that is finished, awaited, spent, early or not recovered", () => {
    const tried = product().filter(({ attempts, isOurs }) => attempts > 0 && !isOurs);
    const held = tried.filter(
      ({ progress, exhausted, retryAt, recovers, isCutOff }) =>
        progress === "finished" ||
        progress === "awaiting" ||
        exhausted ||
        !recovers ||
        isCutOff ||
        (retryAt !== null && retryAt > NOW)
    );
    for (const state of held) expect(isAttempt(classify(state))).toBe(false);
  });

  test("an answer that is there, and a question that is asked, are not given up for a spent budget", () => {
    const known = product().filter(({ progress }) => progress === "finished" || progress === "awaiting");
    for (const state of known) expect(classify(state).do).not.toBe("give-up");
  });

  test("deciding takes nothing but the state: the same again is the same", () => {
    for (const state of product()) expect(classify(Object.freeze({ ...state }))).toEqual(classify(state));
  });
});

/** Said once more, in the order of the specification, without early returns. */
function expected(state: TurnState): Decision | undefined {
  const { refused, exhausted, retryAt } = state;
  const rows: [boolean, Decision][] = [
    [refused === "cancelled", { do: "settle", status: "aborted", reason: "cancelled" }],
    [refused !== undefined, { do: "settle", status: "skipped", reason: String(refused) }],
    [state.attempts === 0 || state.isOurs, { do: "start" }],
    [state.isCutOff, { do: "note-death" }],
    [state.progress === "finished", { do: "complete", reason: "stream_terminal" }],
    [state.progress === "awaiting", { do: "complete", reason: "awaiting_client_interaction" }],
    [!state.recovers, { do: "settle", status: "aborted", reason: "interrupted" }],
    [exhausted !== undefined, { do: "give-up", reason: exhausted ?? "recovery_error" }],
    [(retryAt ?? 0) > state.nowMs, { do: "wait", until: retryAt ?? 0 }],
    [state.progress === "nothing", { do: "retry" }],
    [true, { do: "continue" }]
  ];
  return rows.find(([applies]) => applies)?.[1];
}

function product(): TurnState[] {
  const fields: { readonly [Field in keyof TurnState]: readonly TurnState[Field][] } = {
    refused: [undefined, "cleared", "cancelled", "superseded"],
    attempts: [0, 1, 7],
    isOurs: [false, true],
    isCutOff: [false, true],
    recovers: [false, true],
    exhausted: [undefined, "max_attempts_exceeded", "no_progress_timeout"],
    progress: ["nothing", "partial", "awaiting", "finished"] satisfies Progress[],
    retryAt: [null, 0, NOW, NOW + 5],
    nowMs: [NOW]
  };
  return Object.entries(fields).reduce<TurnState[]>(
    (states, [field, values]) => states.flatMap((state) => values.map((value) => ({ ...state, [field]: value }))),
    [CALM]
  );
}
