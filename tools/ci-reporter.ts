// A Vitest reporter for CI: what every file came to, and the errors outside of any test. Vitest's own JSON report leaves
// those errors out, and shows a file whose process was lost as passed. Writes to the file that EVERTHINK_TEST_REPORT names.
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { SerializedError } from "vitest";
import type { Reporter, TestModule } from "vitest/node";
import type { FileReport, TestReport } from "./test-count.ts";

// oxlint-disable-next-line import/no-default-export -- Vitest takes the default export of a reporter file
export default class CiReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const report: TestReport = { files: modules.map(fileReport), errors: errors.map(({ message }) => message) };
    writeFileSync(process.env["EVERTHINK_TEST_REPORT"] ?? "test-report.json", JSON.stringify(report));
  }
}

function fileReport(module: TestModule): FileReport {
  return {
    project: module.project.name,
    file: relative(process.cwd(), module.moduleId),
    isBroken: module.errors().length > 0,
    outcomes: Array.from(module.children.allTests(), (test) => test.result().state)
  };
}
