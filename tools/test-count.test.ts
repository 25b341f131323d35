import { expect, test } from "vitest";
import { countTests, type TestReport } from "./test-count.ts";

function report(...files: [status: string, ...outcomes: string[]][]): TestReport {
  return {
    testResults: files.map(([status, ...outcomes]) => ({
      status,
      assertionResults: outcomes.map((outcome) => ({ status: outcome }))
    }))
  };
}

test.each([
  ["passing files", report(["passed", "passed", "passed"], ["passed", "passed"]), 0, { passed: 3, failed: 0 }],
  ["skipped tests are neither", report(["passed", "passed", "skipped", "todo"]), 0, { passed: 1, failed: 0 }],
  ["a failing test", report(["failed", "passed", "failed"]), 1, { passed: 1, failed: 1 }],
  ["a file that did not load", report(["passed", "passed"], ["failed"]), 1, { passed: 1, failed: 1 }],
  ["an error outside of any test", report(["passed", "passed"]), 1, { passed: 1, failed: 1 }],
  ["no tests at all", report(), 0, { passed: 0, failed: 1 }],
  ["no report", undefined, 1, { passed: 0, failed: 1 }]
])("%s", (_title, given, exitStatus, expected) => {
  expect(countTests(given, exitStatus)).toEqual(expected);
});
