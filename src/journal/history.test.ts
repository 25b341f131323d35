import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { byteLength } from "../util/bytes.ts";
import { messageId, requestId } from "../util/ids.ts";
import { emptyTurn, foldTurn, type TurnFold } from "./folds/turn-fold.ts";
import { changeOf, MAX_CHANGES, MAX_LOOSE_TURNS, TURN_ROW_BYTES, turnHistory, turnOf } from "./history.ts";
import { createTables, MemorySql, openTestJournal, type TestJournal } from "./memory-sql.test-support.ts";
import { admitted, call, SAMPLES, segment, settled, settledCall, started, T1 } from "./record-samples.test-support.ts";
import type { ConversationChanged, ReadableRecord } from "./records.ts";

function fold(...records: ReadableRecord[]): TurnFold {
  return foldTurn(
    emptyTurn(T1),
    records.map((record, index) => ({ sequence: index + 1, record }))
  );
}

const MODEL = SAMPLES["model-called"];
const CHANGE = SAMPLES["conversation-changed"];

describe("the row of a settled turn", () => {
  test("says what ran, how often, with what, and how it ended, and nothing of what was said", () => {
    const turn = fold(
      admitted(T1, { input: [{ secret: "question" }], inputMessageIds: [messageId("u1")], requestId: requestId("r1") }),
      started(1),
      MODEL,
      segment(1, 0, ['{"type":"text-delta","delta":"secret"}']),
      call("c1"),
      settledCall("c1", { kind: "error", errorText: "secret" }),
      SAMPLES["attempt-ended"],
      started(2, 1, { at: 1700, kind: "continue", keeps: 1 }),
      { ...MODEL, attempt: 2, modelId: "other" },
      { ...SAMPLES["step-finished"], attempt: 2 },
      settled({ reason: "because" })
    );
    const row = turnHistory(turn);
    expect(row).toMatchObject({
      turnId: T1,
      requestId: "r1",
      outcome: "completed",
      reason: "because",
      errorCode: null,
      inputMessageIds: ["u1"],
      settledAt: 2000,
      attempts: [
        { kind: "first", end: "stalled", errorCode: "provider", retryAt: 5 },
        { kind: "continue", startedAt: 1700, end: "settled", endedAt: 2000 }
      ],
      steps: 1,
      usage: { totalTokens: 15 },
      models: ["m", "other"],
      tools: { offered: ["a", "b"], called: [{ calls: 1, failed: 1 }] },
      prompts: ["p"]
    });
    expect(JSON.stringify(row)).not.toContain("secret");
    expect(row).not.toHaveProperty("isCut");
  });

  test("names who decided while the turn ran, and has no such list otherwise", () => {
    const { callId } = call("c1");
    const asked = { ...SAMPLES["approval-asked"], callId };
    const { approvalId } = asked;
    const answered = { ...SAMPLES["approval-answered"], callId, approvalId, decidedBy: "Ada" };
    const row = turnHistory(fold(admitted(), started(1), call("c1"), asked, answered, settled()));
    expect(row?.deciders).toEqual([{ callId, decidedBy: "Ada" }]);
    const { decidedBy: _, ...unnamed } = answered;
    const other = turnHistory(fold(admitted(), started(1), call("c1"), asked, unnamed, settled()));
    expect(other).not.toHaveProperty("deciders");
  });

  test("does not exist before there is an outcome", () => {
    expect(turnHistory(fold(admitted(), started(1)))).toBeUndefined();
  });

  test("exists for a turn whose admission cannot be read", () => {
    expect(turnHistory(fold(settled({ outcome: "failed" })))).toMatchObject({ outcome: "failed", trigger: null });
  });

  test("is never larger than its limit, and says when its lists are cut", () => {
    // No id holds a NUL; other characters that take six bytes of JSON are fine.
    const name = fc.string({ maxLength: 60, unit: "binary" }).map((text) => text.replaceAll("\0", "\u0001"));
    fc.assert(
      fc.property(fc.nat(200), fc.nat(40), name, (count, attempts, text) => {
        const odd = text.repeat(3);
        const names = Array.from({ length: count }, (_, index) => `${odd}${index}`);
        const turn = fold(
          admitted(T1, {
            trigger: odd,
            requestId: requestId(odd || "r"),
            messageId: messageId(odd || "m"),
            inputMessageIds: names.map((id) => messageId(id))
          }),
          ...Array.from({ length: attempts }, (_, index) => started(index + 1)),
          ...names.map((each, index) => ({ ...MODEL, attempt: attempts, modelId: each, tools: [`${index}${each}`] })),
          settled({ reason: odd, error: { code: odd, message: "secret" } })
        );
        const row = turnHistory(turn);
        expect(byteLength(JSON.stringify(row))).toBeLessThanOrEqual(TURN_ROW_BYTES);
        expect(row?.outcome).toBe("completed");
        const isWhole = row?.attempts.length === attempts && row.inputMessageIds.length === names.length;
        expect(isWhole || row?.isCut).toBe(true);
      }),
      { numRuns: 40 }
    );
  });
});

describe("what is kept", () => {
  let sql: MemorySql;
  let journal: TestJournal;
  beforeEach(() => {
    sql = new MemorySql(new DatabaseSync(":memory:"));
    createTables(sql);
    journal = openTestJournal(sql);
  });

  const changed = (more: Partial<ConversationChanged> = {}) => journal.history.changed({ ...CHANGE, ...more });
  const changes = () => journal.history.changes(0, 5000);

  test("a change comes back as it was, and takes a place of its own in the journal", () => {
    changed();
    journal.writer.append([admitted(), started(1)]);
    changed({ at: 7 });
    expect(journal.reader.read().entries.map(({ sequence }) => sequence)).toEqual([2, 3]);
    expect(changes().map(({ sequence }) => sequence)).toEqual([1, 4]);
    expect(changes().map(changeOf)).toEqual([CHANGE, { ...CHANGE, at: 7 }]);
  });

  test("a place is not used again, also when what was there is gone and the process too", () => {
    changed();
    journal.history.clear();
    journal = openTestJournal(sql.reboot());
    changed();
    expect(changes().map(({ sequence }) => sequence)).toEqual([2]);
  });

  test("a transaction that is undone leaves no change, and its place is free", () => {
    const undone = () =>
      sql.transaction(() => {
        changed();
        throw new Error("undone");
      });
    expect(undone).toThrow("undone");
    expect(changes()).toEqual([]);
    changed();
    expect(changes().map(({ sequence }) => sequence)).toEqual([1]);
  });

  test("of changes, the newest thousand, over any number of restarts", () => {
    const written = MAX_CHANGES + 300;
    for (let index = 0; index < written; index += 1) {
      if (index % 70 === 0) journal = openTestJournal(sql.reboot());
      changed({ at: index });
    }
    const kept = changes();
    expect(kept).toHaveLength(MAX_CHANGES);
    expect(kept.map((row) => changeOf(row)?.at)).toEqual(kept.map((_, index) => written - MAX_CHANGES + index));
  });

  const turnAt = (sequence: number) => ({ ...fold(admitted(), settled()), lastSequence: sequence });

  test("a turn goes with its message, and one without a message when there are enough newer ones", () => {
    journal.history.settled(turnAt(1), { ownerId: "m1", requestId: "r1" });
    for (let sequence = 2; sequence < MAX_LOOSE_TURNS + 10; sequence += 1) {
      journal.history.settled(turnAt(sequence), { ownerId: null, requestId: `r${sequence}` });
    }
    const kept = journal.history.turns(0, 5000);
    expect(kept).toHaveLength(1 + MAX_LOOSE_TURNS);
    expect(kept[0]).toMatchObject({ sequence: 1 });
    expect(turnOf(kept[0]!)?.turnId).toBe(T1);
    journal.history.forgetTurns(["m1", "other"]);
    expect(journal.history.turns(0, 5000)).toHaveLength(MAX_LOOSE_TURNS);
  });

  test("a row that cannot be read is nothing", () => {
    expect(turnOf({ sequence: 1, body: "{" })).toBeUndefined();
    expect(changeOf({ sequence: 1, body: "{" })).toBeUndefined();
    expect(changeOf({ sequence: 1, body: '{"type":"conversation-changed","version":9,"at":1}\n{}' })).toBeUndefined();
  });
});
