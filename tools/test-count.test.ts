import { expect, test } from "vitest";
import { countTests, filesToRepeat, type TestReport } from "./test-count.ts";

const LOST = "[vitest-pool]: Worker forks emitted error.";

/** Files a, b, … with their outcomes; "broken" is a failure outside of the tests. */
function report(files: string[][], errors: string[] = []): TestReport {
  return {
    errors,
    files: files.map((outcomes, index) => ({
      project: "node",
      file: "abcdefg".charAt(index),
      isBroken: outcomes.includes("broken"),
      outcomes: outcomes.filter((outcome) => outcome !== "broken")
    }))
  };
}

const lost = report([["passed"], ["passed", "pending"]], [LOST]);
const again = (...outcomes: string[]) => ({
  errors: [],
  files: [{ project: "node", file: "b", isBroken: false, outcomes }]
});

test.each([
  ["passing files", [report([["passed", "passed"], ["passed"]])], 0, { passed: 3, failed: 0 }],
  ["skipped tests are neither", [report([["passed", "skipped"]])], 0, { passed: 1, failed: 0 }],
  ["a failing test", [report([["passed", "failed"]])], 1, { passed: 1, failed: 1 }],
  ["a file that did not load", [report([["passed"], ["broken"]])], 1, { passed: 1, failed: 1 }],
  ["an error outside of any test", [report([["passed"]], ["boom"])], 0, { passed: 1, failed: 1 }],
  ["a status that nothing explains", [report([["passed"]])], 1, { passed: 1, failed: 1 }],
  ["no tests at all", [report([])], 0, { passed: 0, failed: 1 }],
  ["no report", [undefined], 1, { passed: 0, failed: 1 }],
  ["a lost process", [lost], 1, { passed: 2, failed: 1 }],
  ["a lost process whose file passes once more", [lost, again("passed", "passed")], 0, { passed: 3, failed: 0 }],
  ["… fails once more", [lost, again("passed", "failed")], 1, { passed: 2, failed: 1 }],
  ["… is lost once more", [lost, again("passed", "pending")], 1, { passed: 2, failed: 1 }],
  ["… leaves no report", [lost, undefined], 1, { passed: 2, failed: 2 }],
  [
    "a lost process beside another error",
    [{ ...lost, errors: [LOST, "boom"] }, again("passed")],
    0,
    { passed: 2, failed: 1 }
  ],
  ["a lost process that lost no test", [report([["passed"]], [LOST])], 0, { passed: 1, failed: 1 }]
])("%s", (_title, given, exitStatus, expected) => {
  expect(countTests(given, exitStatus)).toEqual(expected);
});

const named = (given: TestReport) => filesToRepeat(given).map(({ file }) => file);

test("files of a lost process, failing files and files whose hooks failed run once more", () => {
  expect(named(lost)).toEqual(["b"]);
  expect(named(report([["passed"], ["passed", "failed"], ["passed", "broken"]]))).toEqual(["b", "c"]);
});

test("more than five failing files do not run once more, lost ones do", () => {
  const failing = Array.from({ length: 6 }, () => ["failed"]);
  expect(named(report(failing))).toEqual([]);
  expect(named(report(failing.slice(1)))).toHaveLength(5);
  expect(named(report([["pending"], ...failing]))).toEqual(["a"]);
});

test("a failure that does not come again is not counted", () => {
  const first = report([["passed"], ["passed", "broken"]]);
  expect(countTests([first, again("passed")], 0)).toEqual({ passed: 2, failed: 0 });
  expect(countTests([first, again("failed")], 1)).toEqual({ passed: 1, failed: 1 });
});
