// What must hold of the decision over an open turn, in every state a turn can be found in: the product of the fields is
// small enough to try all of it. Each test states one promise and not how it is kept.
import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { DatabaseSync } from "node:sqlite";
import { emptyTurn, foldTurn } from "../journal/folds/turn-fold.ts";
import { allEntries, moves, openIn, play } from "../journal/journal-script.test-support.ts";
import { createTables, MemorySql, openTestJournal } from "../journal/memory-sql.test-support.ts";
import { classifyRead, classifyUnread, decideRead, decideUnread, type Progress, type TurnState } from "./decide.ts";

const UNREAD: readonly TurnState[] = product({
  refused: [undefined, "cleared", "cancelled", "superseded"],
  attempts: [0, 1, 7],
  isUntried: [false, true],
  isCutOff: [false, true],
  recovers: [false, true],
  exhausted: [undefined, "max_attempts_exceeded", "no_progress_timeout", "out_of_memory"]
});
const PROGRESS: readonly Progress[] = ["nothing", "partial", "awaiting", "finished"];
/** States whose content is read: `classifyUnread` asks for it. */
const READ = UNREAD.filter((state) => classifyUnread(state).do === "examine").flatMap((state) =>
  PROGRESS.map((progress) => ({ ...state, progress, isSteered: false }))
);

const isFresh = ({ attempts, isUntried }: TurnState) => attempts === 0 || isUntried;
/** It was not stopped, and was attempted by a process whose end is recorded. */
const isPast = (state: TurnState) => !state.refused && !isFresh(state) && !state.isCutOff;
const isUnfinished = ({ progress }: { progress: Progress }) => progress === "nothing" || progress === "partial";

/** Those that are so, and at least one. */
function some<State>(states: readonly State[], isSo: (state: State) => boolean): readonly State[] {
  const found = states.filter(isSo);
  expect(found.length).toBeGreaterThan(0);
  return found;
}

describe("what people asked for", () => {
  test("comes before everything else: a turn that was stopped or overtaken is settled, and never reaches the model", () => {
    const isRefused = ({ refused }: TurnState) => refused !== undefined;
    const settled = ({ refused }: TurnState) => ({
      do: "settle",
      status: refused === "cancelled" ? "aborted" : "skipped",
      reason: refused
    });
    for (const state of some(UNREAD, isRefused)) {
      expect([state, classifyUnread(state)]).toEqual([state, isFresh(state) ? settled(state) : { do: "examine" }]);
    }
    for (const state of some(READ, isRefused)) expect([state, classifyRead(state)]).toEqual([state, settled(state)]);
  });

  test("also comes first when it was asked while the content was read", () => {
    for (const state of some(READ, ({ refused }) => !refused)) {
      const refused = { do: "settle", status: "aborted", reason: "cancelled" };
      expect(classifyRead({ ...state, refused: "cancelled" })).toEqual(refused);
    }
  });
});

describe("a turn that no process has begun", () => {
  test("starts, whatever is said about recovery, and nothing else starts", () => {
    for (const state of UNREAD) {
      expect([state, classifyUnread(state).do === "start"]).toEqual([state, !state.refused && isFresh(state)]);
    }
  });
});

describe("the death of a process", () => {
  test("is recorded before anything else is decided, and once", () => {
    for (const state of UNREAD) {
      const isUnnoted = !state.refused && !isFresh(state) && state.isCutOff;
      expect([state, classifyUnread(state).do === "note-death"]).toEqual([state, isUnnoted]);
    }
  });
});

describe("what was written", () => {
  test("is read only when that is decided by nothing else, or to keep it of a turn that was stopped", () => {
    for (const state of UNREAD) {
      const isReadable = isPast(state) && state.exhausted !== "out_of_memory";
      const isStopped = state.refused !== undefined && !isFresh(state);
      expect([state, classifyUnread(state).do === "examine"]).toEqual([state, isReadable || isStopped]);
    }
  });

  test("is never read where there was not enough memory for it: the turn is given up", () => {
    for (const state of some(UNREAD, (each) => isPast(each) && each.exhausted === "out_of_memory")) {
      expect(classifyUnread(state)).toEqual({ do: "give-up", reason: "out_of_memory" });
    }
  });

  test("as a whole answer, or up to a question to a person, is what the turn ends with: it is not tried, nor given up", () => {
    const reasons = { finished: "stream_terminal", awaiting: "awaiting_client_interaction" } as const;
    for (const state of READ) {
      const { progress, refused } = state;
      const isWhole = !refused && (progress === "finished" || progress === "awaiting");
      const decision = classifyRead(state);
      expect([state, decision.do === "complete"]).toEqual([state, isWhole]);
      if (isWhole) expect(decision).toEqual({ do: "complete", reason: reasons[progress] });
    }
  });
});

describe("another attempt", () => {
  test("is made exactly when the turn is unfinished, recovers, and has budget left", () => {
    for (const state of READ) {
      const mayBeTried = isPast(state) && isUnfinished(state) && state.recovers && state.exhausted === undefined;
      expect([state, classifyRead(state).do === "try-again"]).toEqual([state, mayBeTried]);
    }
  });

  test("is not made of a turn that another took over from: it ends where it is, unless a person stopped it", () => {
    for (const state of READ) {
      const decision = classifyRead({ ...state, isSteered: true });
      if (state.refused) expect(decision).toEqual(classifyRead(state));
      else expect(decision).toEqual({ do: "complete", reason: "steered" });
    }
  });

  test("is not made by a class that recovers nothing: what is unfinished ends where it was", () => {
    for (const state of some(READ, (each) => isPast(each) && isUnfinished(each) && !each.recovers)) {
      expect(classifyRead(state)).toEqual({ do: "settle", status: "aborted", reason: "interrupted" });
    }
  });
});

describe("giving up", () => {
  test("needs a spent budget and names it", () => {
    const decisions = [
      ...UNREAD.map((state) => ({ state, decision: classifyUnread(state) })),
      ...READ.map((state) => ({ state, decision: classifyRead(state) }))
    ];
    for (const { state, decision } of decisions) {
      if (decision.do === "give-up") expect(decision.reason).toBe(state.exhausted);
    }
  });

  test("is what becomes of every unfinished turn whose budget is spent", () => {
    const isSpent = (state: (typeof READ)[number]) => isPast(state) && state.recovers && state.exhausted !== undefined;
    for (const state of some(READ, (each) => isSpent(each) && isUnfinished(each))) {
      expect(classifyRead(state)).toEqual({ do: "give-up", reason: state.exhausted });
    }
  });
});

describe("obeying the decisions", () => {
  test("brings every turn to its end, to the model, or to what was written, in two steps at most", () => {
    for (const state of UNREAD) {
      const first = classifyUnread(state);
      const second = first.do === "note-death" ? classifyUnread({ ...state, isCutOff: false }) : first;
      expect([state, second.do]).not.toEqual([state, "note-death"]);
    }
  });

  test("takes nothing but the state: the same again is the same", () => {
    for (const state of UNREAD) expect(classifyUnread(Object.freeze({ ...state }))).toEqual(classifyUnread(state));
    for (const state of READ) expect(classifyRead(Object.freeze({ ...state }))).toEqual(classifyRead(state));
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
      fc.property(moves, fc.constantFrom(...PROGRESS), (script, progress) => {
        const sql = new MemorySql(new DatabaseSync(":memory:"));
        createTables(sql);
        const journal = openTestJournal(sql);
        play(journal, script);
        const entries = allEntries(journal);
        const known = { refused: undefined, isUntried: false, awaitsOutcome: false, isSteered: false } as const;
        const now = { ...known, nowMs: 2_000, policy, epoch: "e" };
        for (const turnId of openIn(entries)) {
          const [held, read] = [journal.folds.get(turnId)!, foldTurn(emptyTurn(turnId), entries)];
          const decision = decideUnread(held, now);
          expect(decideUnread(read, now)).toEqual(decision);
          seen.add(decision.do);
          if (decision.do !== "examine") continue;
          const next = decideRead(held, progress, now);
          expect(decideRead(read, progress, now)).toEqual(next);
          seen.add(next.do);
        }
      }),
      // Enough that the rarest decision is met in every run.
      { numRuns: 300 }
    );
    expect([...seen].toSorted()).toEqual(
      expect.arrayContaining(["complete", "examine", "note-death", "start", "try-again"])
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
