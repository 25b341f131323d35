import { describe, expect, test } from "vitest";
import { audit, jobKeys, workKeys } from "./audit.ts";
import { type Books, STEPS } from "./books.ts";

/** One batch in which "resume" was cut off once, with its second step under way. */
function honestBooks(): Books {
  const steps = (job: string) =>
    Array.from({ length: STEPS }, (_, index) => ({ step: `${job}/${index + 1}`, times: 1 }));
  const effects = [...steps("resume-1"), ...steps("settle-1")];
  effects[1]!.times = 2;
  return {
    accepted: [...workKeys(1), ...jobKeys(1)],
    work: workKeys(1).map((key) => ({ key, began: 1, ended: 1 })),
    effects,
    reports: [{ fiberId: "resume-1", done: 1, times: 1 }],
    fibers: [
      { fiberId: "resume-1", status: "interrupted", error: undefined, done: 1 },
      { fiberId: "resume-1+", status: "completed", error: undefined, done: STEPS },
      { fiberId: "settle-1", status: "completed", error: undefined, done: STEPS }
    ],
    schedules: [],
    queued: [],
    intervalRuns: 1
  };
}

const cutOffSettle = { fiberId: "settle-1", status: "error", error: "cut off after step 2", done: 2 };

describe("the audit", () => {
  test("finds nothing wrong with honest books, and counts what was repeated", () => {
    const { problems, ...numbers } = audit(honestBooks(), 1, 1);
    expect(problems).toEqual([]);
    expect(numbers).toEqual({ interrupted: 1, recoveries: 1, repeatedWork: 0, repeatedEffects: 1 });
  });

  test("accepts a job that was given up, as far as its record says", () => {
    const books = honestBooks();
    books.fibers[2] = cutOffSettle;
    books.reports.push({ fiberId: "settle-1", done: 2, times: 1 });
    books.effects.splice(-2);
    expect(audit(books, 1, 1).problems).toEqual([]);
  });

  test.each<[string, (books: Books) => void]>([
    ["work that was never accepted", (books) => books.accepted.pop()],
    ["work that never ended", (books) => (books.work[0]!.ended = 0)],
    ["work without any entry", (books) => books.work.pop()],
    ["more starts than kills explain", (books) => (books.work[0]!.began = 3)],
    ["an effect that is missing", (books) => books.effects.shift()],
    ["an effect repeated without an interruption", (books) => (books.effects[2]!.times = 2)],
    ["an effect repeated more often than interrupted", (books) => (books.effects[1]!.times = 3)],
    ["an interruption that was not reported", (books) => books.reports.pop()],
    ["a report that disagrees with the record", (books) => (books.reports[0]!.done = 3)],
    ["a report without a record", (books) => books.reports.push({ fiberId: "ghost", done: 0, times: 1 })],
    ["a job that was never continued", (books) => books.fibers.splice(1, 1)],
    ["a fiber that still runs", (books) => (books.fibers[1]!.status = "running")],
    ["a job given up without a report", (books) => (books.fibers[2] = cutOffSettle)],
    [
      "a completed job reported as interrupted",
      (books) => books.reports.push({ fiberId: "settle-1", done: 2, times: 1 })
    ],
    ["a schedule left behind", (books) => books.schedules.push("delayed")],
    ["a queue item left behind", (books) => books.queued.push("queued-1-0")]
  ])("notices %s", (_what, tamper) => {
    const books = honestBooks();
    tamper(books);
    expect(audit(books, 1, 1).problems).not.toEqual([]);
  });
});
