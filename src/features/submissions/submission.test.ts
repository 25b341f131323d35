import { expect, test } from "vitest";
import { emptyTurn, foldTurn } from "../../journal/folds/turn-fold.ts";
import { admitted, SAMPLES, settled, started, T1 } from "../../journal/record-samples.test-support.ts";
import type { JournalRecord, TurnSettled } from "../../journal/records.ts";
import { openStatus, submissionEnd, UNNAMED_CANCEL } from "./submission.ts";

const fold = (...records: JournalRecord[]) =>
  foldTurn(
    emptyTurn(T1),
    records.map((record, index) => ({ sequence: index + 1, record }))
  );
const cancel = (reason: string) => ({ ...SAMPLES["turn-cancel-requested"], turnId: T1, at: 77, reason });

test("a running turn is running; a cancel is final at once", () => {
  expect(openStatus(fold(admitted(), started(1)))).toMatchObject({ status: "running" });
  const stopped = openStatus(fold(admitted(), started(1), cancel("enough")));
  expect(stopped).toMatchObject({ status: "aborted", error: "enough", completedAt: 77 });
  expect(openStatus(fold(admitted(), cancel(UNNAMED_CANCEL)))).not.toHaveProperty("error");
});

test.each<[TurnSettled["outcome"], string]>([
  ["completed", "completed"],
  ["failed", "error"],
  ["aborted", "aborted"],
  ["skipped", "skipped"]
])("a turn that %s is a submission that is %s; a cancel before that stays the end", (outcome, status) => {
  const turn = [admitted(), started(1)] as const;
  expect(submissionEnd(fold(...turn, settled({ outcome })))?.status).toBe(status);
  const ended = submissionEnd(fold(...turn, cancel("enough"), settled({ outcome, output: { a: 1 } })));
  expect(ended).toMatchObject({ status: "aborted", error: "enough", at: 77, output: undefined });
  expect(submissionEnd(fold(...turn))).toBeUndefined();
});
