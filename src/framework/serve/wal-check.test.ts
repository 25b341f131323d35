import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findLostCommits, listOpenLogs, LOG_LIST, lostCommitsWarning } from "./wal-check.ts";

/** When the server ended, in seconds. */
const ENDED_AT = 1_700_000_000;

let folder = "";
let file = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "everthink-wal-check-"));
  file = join(folder, "Clerk", "object.sqlite");
  mkdirSync(join(folder, "Clerk"));
  mkdirSync(join(folder, ".everthink"));
  leaveOpenLog();
  listOpenLogs(folder);
  utimesSync(file, ENDED_AT, ENDED_AT);
  utimesSync(join(folder, LOG_LIST), ENDED_AT, ENDED_AT);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** As a killed server leaves it: with commits that are only in the log. */
function leaveOpenLog(): void {
  const used = join(folder, "in-use");
  const database = new DatabaseSync(used);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE notes (text TEXT)");
  for (const end of ["", "-wal", "-shm"]) copyFileSync(`${used}${end}`, `${file}${end}`);
  database.close();
  rmSync(used);
}

test("a log that is there is not missed", () => {
  expect(findLostCommits(folder)).toEqual([]);
});

test("a log that was removed together with its index is missed", () => {
  for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`);
  expect(findLostCommits(folder)).toEqual([{ file: "Clerk/object.sqlite", problem: "missing" }]);
});

test("a log that another program has put into the database and left empty is not missed", () => {
  const database = new DatabaseSync(file);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  writeFileSync(`${file}-wal`, "");
  expect(findLostCommits(folder)).toEqual([]);
});

test("a log that another program has put into the database is not missed", () => {
  const database = new DatabaseSync(file);
  database.prepare("SELECT * FROM notes").all();
  database.close();
  expect(existsSync(`${file}-wal`)).toBe(false);
  expect(findLostCommits(folder)).toEqual([]);
});

test("the warning names the agent of a file that still knows it, and opens nothing beside the file", () => {
  const database = new DatabaseSync(file);
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE cf_meta (id INTEGER, identity TEXT)");
  database.prepare("INSERT INTO cf_meta VALUES (1, ?)").run(JSON.stringify({ name: 'ada "a"', parentPath: [] }));
  database.close();
  const lost = [
    { file: "Clerk/object.sqlite", problem: "missing" as const },
    { file: "Clerk/unknown.sqlite", problem: "damaged" as const }
  ];
  expect(lostCommitsWarning(folder, lost)).toContain(
    'Clerk/object.sqlite-wal of the agent "ada \\"a\\"" is missing, Clerk/unknown.sqlite-wal is damaged.'
  );
  expect(["-wal", "-shm"].filter((end) => existsSync(`${file}${end}`))).toEqual([]);
  expect(lostCommitsWarning(folder, [])).toBeUndefined();
});
