// Counts the reports of CI's test runs so that nothing broken counts as fine: a file that could not be loaded or was not
// finished, an error outside of any test, a run without tests or without a report is one failure each.

export interface FileReport {
  readonly project: string;
  readonly file: string;
  /** It failed outside of its tests: it could not be loaded, or a hook of the file failed. */
  readonly isBroken: boolean;
  readonly outcomes: readonly string[];
}

export interface TestReport {
  readonly files: readonly FileReport[];
  /** Outside of any test. */
  readonly errors: readonly string[];
}

export interface TestCount {
  readonly passed: number;
  readonly failed: number;
}

/** What Vitest says when the operating system ended the process that ran a file, as when Node itself crashes. */
const LOST_PROCESS = /^\[vitest-pool\]: Worker \w+ emitted error/;

/** More failing files than this are a defect, not a busy machine: they do not run once more. */
const MOST_REPEATED_FILES = 5;

/** Files that CI runs once more: those whose process was lost, and a few that failed. */
export function filesToRepeat(report: TestReport): FileReport[] {
  const failing = report.files.filter((one) => !isUnfinished(one) && failuresOf(one) > 0);
  return [...report.files.filter(isUnfinished), ...(failing.length > MOST_REPEATED_FILES ? [] : failing)];
}

/** Its process was lost: tests of it have no result. */
function isUnfinished({ outcomes }: FileReport): boolean {
  return outcomes.includes("pending");
}

function failuresOf(file: FileReport): number {
  const failed = file.outcomes.filter((outcome) => outcome === "failed").length;
  return failed === 0 && (file.isBroken || isUnfinished(file)) ? 1 : failed;
}

/** In a later report, files of an earlier one have run again. `exitStatus` is of the last run. */
export function countTests(reports: readonly (TestReport | undefined)[], exitStatus: number): TestCount {
  const files = new Map<string, FileReport>();
  let passed = 0;
  let failed = 0;
  for (const report of reports) {
    for (const one of report?.files ?? []) files.set(`${one.project} ${one.file}`, one);
    failed += report ? unexplainedErrors(report) : 1;
  }
  for (const file of files.values()) {
    passed += file.outcomes.filter((outcome) => outcome === "passed").length;
    failed += failuresOf(file);
  }
  const isUnexplained = failed === 0 && (exitStatus !== 0 || passed === 0);
  return { passed, failed: isUnexplained ? 1 : failed };
}

/** A lost process is counted by its file. */
function unexplainedErrors(report: TestReport): number {
  const lost = report.errors.filter((error) => LOST_PROCESS.test(error)).length;
  return report.errors.length - Math.min(lost, report.files.filter(isUnfinished).length);
}
