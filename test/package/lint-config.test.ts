import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const config = fileURLToPath(new URL("../../.oxlintrc.json", import.meta.url));
const oxlint = join(dirname(createRequire(import.meta.url).resolve("oxlint/package.json")), "bin", "oxlint");
const directory = mkdtempSync(join(tmpdir(), "everthink-lint-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const lines = (count: number) => "  console.warn(1);\n".repeat(count);

interface Case {
  title: string;
  text: string;
  path?: string;
  rule?: string;
}

const cases: Case[] = [
  { title: "a clean file", text: "export const a = 1;\n" },
  { title: "any", text: "export const a = (b: any) => b;\n", rule: "no-explicit-any" },
  { title: "an empty catch", text: "try {\n  JSON.parse('');\n} catch {}\n", rule: "no-empty" },
  { title: "a catch with a reason", text: "try {\n  JSON.parse('');\n} catch {\n  // safe to lose\n}\n" },
  { title: "an unused variable", text: "const a = 1;\n", rule: "no-unused-vars" },
  { title: "an unused import", text: "import { join } from 'node:path';\n", rule: "no-unused-vars" },
  {
    title: "an unused caught error",
    text: "try {\n  JSON.parse('');\n} catch (e) {\n  // fine\n}\n",
    rule: "no-unused-vars"
  },
  { title: "console.log", text: "console.log(1);\n", rule: "no-console" },
  { title: "console.warn", text: "console.warn(1);\n" },
  { title: "a default export", text: "export default 1;\n", rule: "no-default-export" },
  { title: "a file of 501 lines", text: `export const a = 1;\n${"// line\n".repeat(500)}`, rule: "max-lines" },
  { title: "a function of 81 lines", text: `export function a() {\n${lines(79)}}\n`, rule: "max-lines-per-function" },
  { title: "a function of 80 lines", text: `export function a() {\n${lines(78)}}\n` },
  { title: "a long test", path: "src/a.test.ts", text: `export function a() {\n${lines(79)}}\n` },
  {
    title: "a long test file",
    path: "src/a.test.ts",
    text: `export const a = 1;\n${"// line\n".repeat(500)}`,
    rule: "max-lines"
  },
  { title: "a query run for its effect", text: "this.sql`DELETE FROM notes`;\n" },
  { title: "an expression without effect", text: "'a' + 'b';\n", rule: "no-unused-expressions" },
  { title: "a ts-ignore", text: "// @ts-ignore\nexport const a = 1;\n", rule: "ban-ts-comment" }
];

test.each(cases)("oxlint on $title: $rule", ({ text, path = "src/a.ts", rule }) => {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  const { stdout } = spawnSync(process.execPath, [oxlint, "-c", config, "--deny-warnings", "--format=json", path], {
    cwd: directory,
    encoding: "utf8"
  });
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code: string }[] };
  const rules = diagnostics.map(({ code }) => code.replace(/^.*\((.*)\)$/, "$1"));
  expect(rules).toEqual(rule ? [rule] : []);
});
