// The dry run of a release, with the repository as it is: it writes nothing.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "./packed-project.ts";

test("without --publish a release says what it would publish, and changes nothing", () => {
  const files = ["package.json", "package-lock.json", "packages/create-everthink/package.json", "CHANGELOG.md"];
  const before = files.map((path) => readFileSync(join(repository, path), "utf8"));
  const { stdout, stderr } = spawnSync(process.execPath, ["tools/release.ts", "minor"], {
    cwd: repository,
    encoding: "utf8"
  });
  expect(stdout).toMatch(/^everthink \d+\.\d+\.\d+ → \d+\.\d+\.0$/m);
  expect(stdout).toMatch(/^everthink: \d+ files, [\d,]+ KiB packed/m);
  expect(stdout).toMatch(/^create-everthink: 2 files/m);
  // Someone who works here may be on a branch, with changed files.
  expect(stderr).not.toMatch(/CHANGELOG|is not above|not a version|at file:/);
  expect(files.map((path) => readFileSync(join(repository, path), "utf8"))).toEqual(before);
});
