// Many agents with a task at one time on `everthink serve`, with few open files: before alarms were levelled, 400 of them
// ended it twice. The long run is `npm run storm:alarms -- 20000`.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { alarmStorm } from "../../tools/alarm-storm.ts";
import { removeFolder } from "../../tools/remove-folder.ts";

const AGENTS = 60;
/** Seven alarms a second, four of them for what was due before the start. */
const OPEN_FILES = 1_024;
/** Alarms of one second that come late run with those of the next one. */
const MOST_IN_A_SECOND = 14;

/** 20,000 agents took 537. */
const MOST_MEGABYTES = 800;

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => removeFolder(folder))));

test("tasks of many agents that were due while the server was down run a few a second, each of them, around a kill", async () => {
  const folder = mkdtempSync(join(tmpdir(), "everthink-storm-"));
  folders.push(folder);
  const report = await alarmStorm({ folder, agents: AGENTS, openFiles: OPEN_FILES, killAfter: 10 });
  // A task that the kill cut off runs again.
  const { "1": once = 0, "2": twice = 0, ...others } = report.runs;
  expect({ others, all: once + twice }).toEqual({ others: {}, all: AGENTS });
  expect(twice).toBeLessThanOrEqual(MOST_IN_A_SECOND);
  expect(report.mostInASecond).toBeLessThanOrEqual(MOST_IN_A_SECOND);
  // A start takes what the machine lets it take; tasks that are due do not come before the answer, nor make it much later.
  expect(report.ranAtFirstAnswer).toBeLessThanOrEqual(MOST_IN_A_SECOND);
  expect(report.firstAnswerMs).toBeLessThan(10 * Math.max(report.idleAnswerMs, 500));
  expect(report.peakMegabytes).toBeLessThan(MOST_MEGABYTES);
  expect(report.peakOpenFiles).toBeLessThan(OPEN_FILES);
  // Only the one that the test kills.
  expect(report.output.match(/workerd ended|did not answer/g)).toHaveLength(1);
  expect(report.output).toContain("Only 1,024 files may be open");
});
