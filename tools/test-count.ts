// Counts a vitest JSON report so that nothing broken counts as fine: a file that could not be loaded, an error outside
// of any test, a run without tests or without a report is one failure each.

export interface TestReport {
  testResults: { status: string; assertionResults: { status: string }[] }[];
}

export interface TestCount {
  passed: number;
  failed: number;
}

export function countTests(report: TestReport | undefined, exitStatus: number): TestCount {
  let passed = 0;
  let failed = 0;
  for (const file of report?.testResults ?? []) {
    const outcomes = file.assertionResults.map((test) => test.status);
    const failedHere = outcomes.filter((outcome) => outcome === "failed").length;
    passed += outcomes.filter((outcome) => outcome === "passed").length;
    failed += failedHere === 0 && file.status === "failed" ? 1 : failedHere;
  }
  const isUnexplained = failed === 0 && (exitStatus !== 0 || passed === 0);
  return { passed, failed: isUnexplained ? 1 : failed };
}
