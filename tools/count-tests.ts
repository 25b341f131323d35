// `node tools/count-tests.ts <exit status of the last run> <other failures> <report>…`: prints `N passed, N failed` as the
// last line of CI and exits 1 when anything failed. `--repeat <report>` prints the arguments that run once more what failed
// or was left without a result. Reports are those of ci-reporter.ts, counting is in test-count.ts.
import { readFileSync } from "node:fs";
import { countTests, filesToRepeat, type TestReport } from "./test-count.ts";

const [first = "1", second = "0", ...reports] = process.argv.slice(2);
if (first === "--repeat") printFilesToRepeat(readReport(second));
else printCount(Number(first), Number(second));

function printFilesToRepeat(report: TestReport | undefined): void {
  const files = report ? filesToRepeat(report) : [];
  for (const project of new Set(files.map((one) => one.project))) console.log(`--project=${project}`);
  for (const file of new Set(files.map((one) => one.file))) console.log(file);
}

function printCount(exitStatus: number, otherFailures: number): void {
  const { passed, failed } = countTests(reports.map(readReport), exitStatus);
  const allFailed = failed + otherFailures;
  console.log(`${passed} passed, ${allFailed} failed`);
  process.exitCode = allFailed > 0 ? 1 : 0;
}

function readReport(file: string): TestReport | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as TestReport;
  } catch (error) {
    console.error(`No test report: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}
