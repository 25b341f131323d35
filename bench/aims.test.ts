import { expect, test } from "vitest";
import { type Aim, AIMS, judge } from "./aims.ts";
import { METRIC_KEYS } from "./metrics.ts";
import { Results } from "./results.ts";

function results(): Results {
  const results = new Results();
  results.add("baseline", 0, { turnDone: 10, burstRate: 100 });
  results.add("baseline", 1, { turnDone: 20, burstRate: 100 });
  results.add("everthink", 0, { turnDone: 12, burstRate: 500, rowsWrittenTurn: 6, rowsRead10: 50, rowsRead1000: 50 });
  results.add("everthink", 1, { turnDone: 28, burstRate: 500, rowsWrittenTurn: 6, rowsRead10: 50, rowsRead1000: 60 });
  return results;
}

test.each<{ aim: Aim; reached: number | undefined; isMet: boolean | undefined }>([
  { aim: { metric: "turnDone", comparedTo: "baseline", limit: 1.3 }, reached: 1.3, isMet: true },
  { aim: { metric: "turnDone", comparedTo: "baseline", limit: 1.2 }, reached: 1.3, isMet: false },
  { aim: { metric: "burstRate", comparedTo: "baseline", limit: 5 }, reached: 5, isMet: true },
  { aim: { metric: "burstRate", comparedTo: "baseline", limit: 6 }, reached: 5, isMet: false },
  { aim: { metric: "rowsWrittenTurn", limit: 6 }, reached: 6, isMet: true },
  { aim: { metric: "rowsWrittenTurn", limit: 5 }, reached: 6, isMet: false },
  { aim: { metric: "rowsRead1000", comparedTo: "rowsRead10", limit: 1 }, reached: 1.1, isMet: false },
  { aim: { metric: "replay", comparedTo: "baseline", limit: 1 }, reached: undefined, isMet: undefined }
])("$aim is reached with $reached: $isMet", ({ aim, reached, isMet }) => {
  const [verdict] = judge(results(), [aim]);
  if (reached === undefined) expect(verdict?.reached).toBeUndefined();
  else expect(verdict?.reached).toBeCloseTo(reached, 10);
  expect(verdict?.isMet).toBe(isMet);
});

test("every aim speaks about something that is measured, and compares like with like", () => {
  for (const { metric, comparedTo, limit } of AIMS) {
    expect(METRIC_KEYS).toContain(metric);
    if (comparedTo !== undefined && comparedTo !== "baseline") expect(METRIC_KEYS).toContain(comparedTo);
    expect(limit).toBeGreaterThan(0);
  }
});
