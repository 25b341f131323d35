import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isOutdated } from "./newest-change.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "everthink-newest-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A file, and its folders, changed so many seconds after some beginning. */
function put(file: string, second: number): string {
  const path = join(folder, file);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, "");
  for (let at = path; at !== folder; at = join(at, "..")) utimesSync(at, second, second);
  return path;
}

test("a build that does not exist is outdated", () => {
  expect(isOutdated(join(folder, "build.js"), [])).toBe(true);
});

test.each([
  { change: "a file deep in a folder is newer", file: "src/a/b.ts", outdated: true },
  { change: "only what was made is newer", file: "src/dist/b.js", outdated: false },
  { change: "only a package is newer", file: "src/node_modules/b/index.js", outdated: false }
])("$change: outdated is $outdated", ({ file, outdated }) => {
  put(file, 300);
  put("src/a/old.ts", 100);
  utimesSync(join(folder, "src"), 100, 100);
  if (outdated) utimesSync(join(folder, file), 300, 300);
  expect(isOutdated(put("build.js", 200), [join(folder, "src")])).toBe(outdated);
});

test("a build is up to date when everything it was made of is older", () => {
  put("src/a.ts", 100);
  expect(isOutdated(put("build.js", 200), [join(folder, "src")])).toBe(false);
});
