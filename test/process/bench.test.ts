// The benchmark, in its shortest form: it runs, and the numbers that are counted and not timed keep their aims.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "everthink-bench-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const COUNTED = ["rowsWrittenTurn", "rowsWrittenBurst", "rowsWrittenTools", "rowsRead1000", "bytesAsking1000"];
const SCENARIOS = "turn,rows-written,rows-read,bytes,bundle";

interface Report {
  failures: unknown[];
  metrics: Record<string, { contenders: Record<string, { ratio?: number }> }>;
  aims: { aim: { metric: string; limit: number }; reached?: number; isMet?: boolean }[];
}

test("rows and bytes of a turn keep their aims, whatever the length of the conversation", async () => {
  const json = join(folder, "report.json");
  const run = fileURLToPath(new URL("../../bench/run.ts", import.meta.url));
  const chosen = [
    "--rounds",
    "1",
    "--contenders",
    "baseline,everthink",
    "--only",
    SCENARIOS,
    "--json",
    json,
    "--no-build"
  ];
  await promisify(execFile)(process.execPath, [run, ...chosen]);
  const { failures, metrics, aims } = JSON.parse(readFileSync(json, "utf8")) as Report;
  expect(failures).toEqual([]);
  const counted = aims.filter(({ aim }) => COUNTED.includes(aim.metric));
  expect(counted.filter(({ isMet }) => isMet !== true)).toEqual([]);
  expect(counted).toHaveLength(COUNTED.length);
  const { ratio } = metrics["turnDone"]?.contenders["everthink"] ?? {};
  expect(ratio).toBeGreaterThan(0);
});
