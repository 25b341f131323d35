import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allEntries, moves, openIn, play, turnsIn } from "../journal-script.test-support.ts";
import { createTables, MemorySql, openTestJournal, type TestJournal } from "../memory-sql.test-support.ts";
import {
  admitted,
  call,
  delta,
  SAMPLES,
  segment,
  settled,
  settledCall,
  started,
  T1,
  T2,
  unknown
} from "../record-samples.test-support.ts";
import type { SequencedRecord, ReadableRecord } from "../records.ts";
import { advanced } from "../turn-folds.ts";
import { emptyTurn, foldTurn, type TurnFold } from "./turn-fold.ts";

function fold(...records: ReadableRecord[]): TurnFold {
  return foldTurn(emptyTurn(T1), numbered(records));
}

function numbered(records: readonly ReadableRecord[]): SequencedRecord[] {
  return records.map((record, index) => ({ sequence: index + 1, record }));
}

function playedJournal(script: Parameters<typeof play>[1]): TestJournal {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  createTables(sql);
  const journal = openTestJournal(sql);
  play(journal, script);
  return journal;
}

describe("attempts", () => {
  it("one that never said it ended was interrupted, and what it produced is counted", () => {
    const turn = fold(...[admitted(), started(1), segment(1, 0, [delta("a")]), call("c1")], started(2, 1), settled());
    expect(turn.attempts).toMatchObject([
      { attempt: 1, end: "interrupted", produced: 2 },
      { attempt: 2, end: "settled", produced: 0 }
    ]);
    expect(turn.attempt).toBe(2);
  });

  it("one that handed over says why and when the next is due", () => {
    const turn = fold(admitted(), started(1), SAMPLES["attempt-ended"], started(2));
    expect(turn.attempts[0]).toMatchObject({ end: "stalled", retryAt: 5 });
  });
});

describe("progress", () => {
  it("is the newest record that took the turn forward; bookkeeping is none", () => {
    const records = [admitted(), started(1), segment(1, 0, [delta("a")]), SAMPLES["turn-stashed"], started(2, 1)];
    expect(fold(...records)).toMatchObject({
      contentSequence: 3,
      nextChunk: 1,
      attempts: [{ produced: 1 }, { produced: 0 }]
    });
    expect(fold(admitted(), started(1))).toMatchObject({
      contentSequence: 0,
      nextChunk: 0,
      attempts: [{ produced: 0 }]
    });
  });

  it("an overflow retry starts the answer anew, and the numbering goes on", () => {
    const turn = fold(
      ...[admitted(), started(1), segment(1, 0, [delta("a"), delta("b")])],
      started(2, 2, { kind: "overflow-retry", keeps: 0 })
    );
    expect(turn).toMatchObject({ kept: [{ from: 2, to: Infinity }], nextChunk: 2 });
  });
});

describe("records", () => {
  it("open calls are those without an outcome", () => {
    const turn = fold(admitted(), started(1), call("a"), call("b"), settledCall("a", { kind: "output", output: 1 }));
    expect([...turn.calls.values()].filter(({ outcome }) => !outcome).map((open) => open.callId)).toEqual(["b"]);
  });

  it("usage is summed where it was reported", () => {
    const step = SAMPLES["step-finished"];
    const turn = fold(admitted(), started(1), step, step);
    expect(turn.steps).toMatchObject({ usage: { inputTokens: 20, reasoningTokens: null } });
  });

  it("the first cancel and the first outcome stay", () => {
    const cancel = SAMPLES["turn-cancel-requested"];
    const turn = fold(admitted(), cancel, { ...cancel, reason: "other" }, settled(), settled({ outcome: "failed" }));
    expect(turn.cancel?.reason).toBe(cancel.reason);
    expect(turn.outcome?.outcome).toBe("completed");
  });

  it("damage and records of the future are carried, not judged", () => {
    const turn = fold(admitted(), unknown(), SAMPLES["record-quarantined"]);
    expect(turn).toEqual({ ...fold(admitted()), nextChunk: 6, lastSequence: 3 });
  });

  it("other turns and the conversation's own records change nothing", () => {
    expect(fold(admitted(), admitted(T2), SAMPLES["conversation-cleared"])).toEqual(fold(admitted()));
  });
});

describe("for any history", () => {
  it("folding a prefix and then the rest is folding it all; seeing a record again changes nothing", () => {
    fc.assert(
      fc.property(moves, fc.nat(), (script, cut) => {
        const entries = allEntries(playedJournal(script));
        for (const turnId of turnsIn(entries)) {
          const whole = foldTurn(emptyTurn(turnId), entries);
          const prefix = entries.slice(0, cut % (entries.length + 1));
          const halfway = foldTurn(emptyTurn(turnId), prefix);
          expect(foldTurn(halfway, entries.slice(prefix.length))).toEqual(whole);
          expect(foldTurn(halfway, entries)).toEqual(whole);
          expect(foldTurn(whole, entries)).toBe(whole);
          expect(
            foldTurn(
              emptyTurn(turnId),
              entries.flatMap((entry) => [entry, entry])
            )
          ).toEqual(whole);
        }
      })
    );
  });

  it("outlines fold to the same turn as the content itself", () => {
    fc.assert(
      fc.property(moves, (script) => {
        const journal = playedJournal(script);
        const [full, outline] = [allEntries(journal), allEntries(journal, true)];
        for (const turnId of turnsIn(full)) {
          expect(foldTurn(emptyTurn(turnId), outline)).toEqual(foldTurn(emptyTurn(turnId), full));
        }
      })
    );
  });

  it("the conversation's row says what the records say, and so does one that was just opened", () => {
    fc.assert(
      fc.property(moves, (script) => {
        const journal = playedJournal(script);
        const entries = allEntries(journal);
        for (const { conversation } of [journal, openTestJournal(journal.sql)]) {
          const { row } = conversation;
          expect(row.openTurns.map((turn) => turn.turnId)).toEqual(openIn(entries));
          const turns = turnsIn(entries).map((turnId) => foldTurn(emptyTurn(turnId), entries));
          const responded = entries.flatMap(({ record }) => (record.type === "turn-responded" ? [record.turnId] : []));
          const owed = turns.filter((turn) => turn.outcome?.responds && !responded.includes(turn.turnId));
          expect(row.respondingTurns.toSorted()).toEqual(owed.map((turn) => turn.turnId).toSorted());
          for (const turn of turns) {
            const open = row.openTurns.find(({ turnId }) => turnId === turn.turnId);
            if (!open) continue;
            expect(open).toEqual({
              turnId: turn.turnId,
              requestId: turn.admission?.requestId,
              firstSequence: entries.find(({ record }) => record === turn.admission)?.sequence,
              generation: turn.admission?.generation
            });
          }
          const cleared = entries.findLast(({ record }) => record.type === "conversation-cleared");
          expect(row.clearedSequence).toBe(cleared?.sequence ?? 0);
          expect(row.generation).toBe(entries.filter(({ record }) => record.type === "conversation-cleared").length);
        }
      })
    );
  });

  it("the folds that appends advance are those that the next process reads, also after a transaction was undone", () => {
    const undone = (journal: TestJournal, script: Parameters<typeof play>[1]) =>
      expect(() =>
        journal.conversation.transaction(() => {
          play(journal, script);
          throw new Error("undone");
        })
      ).toThrow();
    fc.assert(
      fc.property(moves, moves, (script, attempted) => {
        const journal = playedJournal(script);
        undone(journal, attempted);
        play(journal, attempted.slice(0, 3));
        const entries = allEntries(journal);
        const reopened = openTestJournal(journal.sql);
        for (const turnId of turnsIn(entries)) {
          const isOpen = openIn(entries).includes(turnId);
          const fold = entries.reduce(advanced, emptyTurn(turnId));
          expect(journal.folds.get(turnId)).toEqual(isOpen ? fold : undefined);
          expect(reopened.folds.get(turnId)).toEqual(isOpen ? fold : undefined);
        }
      }),
      { numRuns: 60 }
    );
  });
});
