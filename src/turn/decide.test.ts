// What must hold of the decision over an open turn, in every state a turn can be found in: the product of the fields is
// small enough to try all of it. Each test states one promise and not how it is kept.
import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { DatabaseSync } from "node:sqlite";
import { emptyTurn, foldTurn } from "../journal/folds/turn-fold.ts";
import { allEntries, moves, openIn, play } from "../journal/journal-script.test-support.ts";
import { createTables, MemorySql, openTestJournal } from "../journal/memory-sql.test-support.ts";
import { classify, decide, type Decision, type Progress, type TurnState } from "./decide.ts";

const NOW = 1_000;

const ALL: readonly TurnState[] = product({
  refused: [undefined, "cleared", "cancelled", "superseded"],
  attempts: [0, 1, 7],
  isUntried: [false, true],
  isCutOff: [false, true],
  recovers: [false, true],
  exhausted: [undefined, "max_attempts_exceeded", "no_progress_timeout", "out_of_memory"],
  progress: ["unread", "nothing", "partial", "awaiting", "finished"] satisfies Progress[],
  retryAt: [null, 0, NOW, NOW + 5],
  nowMs: [NOW]
});

const isFresh = ({ attempts, isUntried }: TurnState) => attempts === 0 || isUntried;
/** It was not stopped, and was attempted by a process whose end is recorded. */
const isPast = (state: TurnState) => !state.refused && !isFresh(state) && !state.isCutOff;
const isReadable = (state: TurnState) => isPast(state) && state.exhausted !== "out_of_memory";
const isUnfinished = ({ progress }: TurnState) => progress === "nothing" || progress === "partial";
const isDue = ({ retryAt, nowMs }: TurnState) => retryAt === null || retryAt <= nowMs;
const asksModel = ({ do: what }: Decision) => what === "start" || what === "retry" || what === "continue";

/** Every state that is so, and at least one. */
function all(isSo: (state: TurnState) => boolean, check: (decision: Decision, state: TurnState) => void): void {
  const states = ALL.filter(isSo);
  expect(states.length).toBeGreaterThan(0);
  for (const state of states) check(classify(state), state);
}

describe("what people asked for", () => {
  test("comes before everything else: a turn that was stopped or overtaken is settled, and never reaches the model", () => {
    all(
      ({ refused }) => refused !== undefined,
      (decision, { refused }) => {
        const status = refused === "cancelled" ? "aborted" : "skipped";
        expect(decision).toEqual({ do: "settle", status, reason: refused });
      }
    );
  });
});

describe("a turn that no process has begun", () => {
  test("starts, whatever is said about recovery, and nothing else starts", () => {
    for (const state of ALL) {
      expect([state, classify(state).do === "start"]).toEqual([state, !state.refused && isFresh(state)]);
    }
  });
});

describe("the death of a process", () => {
  test("is recorded before anything else is decided, and once", () => {
    for (const state of ALL) {
      const isUnnoted = !state.refused && !isFresh(state) && state.isCutOff;
      expect([state, classify(state).do === "note-death"]).toEqual([state, isUnnoted]);
    }
  });
});

describe("what was written", () => {
  test("is read only when that is decided by nothing else, and not a second time", () => {
    for (const state of ALL) {
      const isNeeded = isReadable(state) && state.progress === "unread";
      expect([state, classify(state).do === "examine"]).toEqual([state, isNeeded]);
    }
  });

  test("is never read where there was not enough memory for it: the turn is given up", () => {
    all(
      (state) => isPast(state) && state.exhausted === "out_of_memory",
      (decision) => expect(decision).toEqual({ do: "give-up", reason: "out_of_memory" })
    );
  });

  test("as a whole answer, or up to a question to a person, is what the turn ends with: it is not tried, nor given up", () => {
    const reasons = { finished: "stream_terminal", awaiting: "awaiting_client_interaction" } as const;
    all(
      (state) => isReadable(state) && (state.progress === "finished" || state.progress === "awaiting"),
      (decision, { progress }) => {
        expect(decision).toEqual({ do: "complete", reason: reasons[progress as "finished" | "awaiting"] });
      }
    );
    for (const state of ALL) {
      const isComplete = classify(state).do === "complete";
      if (isComplete) expect(["finished", "awaiting"]).toContain(state.progress);
    }
  });
});

describe("another attempt", () => {
  const mayBeTried = (state: TurnState) =>
    isPast(state) && isUnfinished(state) && state.recovers && state.exhausted === undefined && isDue(state);

  test("is made exactly when the turn is unfinished, recovers, has budget left, and its time has come", () => {
    for (const state of ALL.filter((each) => !isFresh(each))) {
      expect([state, asksModel(classify(state))]).toEqual([state, mayBeTried(state)]);
    }
  });

  test("continues what is there, and asks again for what is not", () => {
    all(mayBeTried, (decision, { progress }) => {
      expect(decision).toEqual({ do: progress === "nothing" ? "retry" : "continue" });
    });
  });

  test("is waited for exactly as long as it is told to, and only where one will follow", () => {
    for (const state of ALL) {
      const decision = classify(state);
      if (decision.do !== "wait") continue;
      expect(decision.until).toBe(state.retryAt);
      expect(decision.until).toBeGreaterThan(state.nowMs);
      expect([state, asksModel(classify({ ...state, nowMs: decision.until }))]).toEqual([state, true]);
      expect([state, classify({ ...state, nowMs: decision.until - 1 }).do]).toEqual([state, "wait"]);
    }
    expect(ALL.some((state) => classify(state).do === "wait")).toBe(true);
  });

  test("is not made by a class that recovers nothing: what is unfinished ends where it was", () => {
    all(
      (state) => isReadable(state) && isUnfinished(state) && !state.recovers,
      (decision) => expect(decision).toEqual({ do: "settle", status: "aborted", reason: "interrupted" })
    );
  });
});

describe("giving up", () => {
  test("needs a spent budget and names it", () => {
    for (const state of ALL) {
      const decision = classify(state);
      if (decision.do === "give-up") expect(decision.reason).toBe(state.exhausted);
    }
  });

  test("is what becomes of every unfinished turn whose budget is spent, also while it would have to wait", () => {
    all(
      (state) => isPast(state) && isUnfinished(state) && state.recovers && state.exhausted !== undefined,
      (decision, { exhausted }) => expect(decision).toEqual({ do: "give-up", reason: exhausted })
    );
  });
});

describe("obeying the decisions", () => {
  test("brings every turn to its end or to the model, in four steps at most", () => {
    for (const state of ALL) {
      let [now, steps] = [state, 0];
      for (let decision = classify(now); !isLast(decision); decision = classify(now)) {
        now = after(now, decision);
        steps += 1;
        expect([state, steps]).toEqual([state, Math.min(steps, 4)]);
      }
    }
  });

  const isLast = (decision: Decision) => asksModel(decision) || ["settle", "complete", "give-up"].includes(decision.do);

  /** What the runner does about a decision that is not the last. */
  function after(state: TurnState, decision: Decision): TurnState {
    switch (decision.do) {
      case "note-death":
        return { ...state, isCutOff: false };
      case "examine":
        return { ...state, progress: "partial" };
      case "wait":
        return { ...state, nowMs: decision.until };
      default:
        throw new Error(`${decision.do} is a last one.`);
    }
  }

  test("takes nothing but the state: the same again is the same", () => {
    for (const state of ALL) expect(classify(Object.freeze({ ...state }))).toEqual(classify(state));
  });
});

describe("for any history", () => {
  const policy = {
    enabled: true,
    maxAttempts: 3,
    noProgressTimeoutMs: 10,
    maxRecoveryWork: 5,
    maxInterruptedAttempts: 3
  };

  // A database per history.
  test("each open turn gets a decision, the same from memory and from the records", { timeout: 60_000 }, () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(moves, fc.constantFrom<Progress>("unread", "nothing", "partial", "finished"), (script, progress) => {
        const sql = new MemorySql(new DatabaseSync(":memory:"));
        createTables(sql);
        const journal = openTestJournal(sql);
        play(journal, script);
        const entries = allEntries(journal);
        const known = { refused: undefined, isUntried: false, awaitsOutcome: false } as const;
        const now = { ...known, progress, nowMs: 2_000, policy, epoch: "e" };
        for (const turnId of openIn(entries)) {
          const decision = decide(journal.folds.get(turnId)!, now);
          expect(decide(foldTurn(emptyTurn(turnId), entries), now)).toEqual(decision);
          seen.add(decision.do);
        }
      }),
      // Enough that the rarest decision is met in every run.
      { numRuns: 300 }
    );
    expect([...seen].toSorted()).toEqual(
      expect.arrayContaining(["complete", "continue", "examine", "note-death", "retry", "start"])
    );
  });
});

function product(fields: { readonly [Field in keyof TurnState]: readonly TurnState[Field][] }): TurnState[] {
  const states = Object.entries(fields).reduce<Record<string, unknown>[]>(
    (some, [field, values]) => some.flatMap((state) => values.map((value) => ({ ...state, [field]: value }))),
    [{}]
  );
  // Every field was given a value of its own type.
  return states as Partial<TurnState>[] as TurnState[];
}
