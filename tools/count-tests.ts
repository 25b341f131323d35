// `node tools/count-tests.ts <vitest json report> <vitest exit status> <other failures>`: prints `N passed, N failed` as
// the last line of CI and exits 1 when anything failed. Counting is in test-count.ts.
import { readFileSync } from "node:fs";
import { countTests, type TestReport } from "./test-count.ts";

const [reportFile = "", exitStatus = "1", otherFailures = "0"] = process.argv.slice(2);
const { passed, failed } = countTests(readReport(reportFile), Number(exitStatus));
const allFailed = failed + Number(otherFailures);
console.log(`${passed} passed, ${allFailed} failed`);
process.exitCode = allFailed > 0 ? 1 : 0;

function readReport(file: string): TestReport | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as TestReport;
  } catch (error) {
    console.error(`No test report: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}
