import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const script = fileURLToPath(new URL("../../tools/lint-layers.ts", import.meta.url));
let repository = "";
beforeEach(() => {
  repository = mkdtempSync(join(tmpdir(), "everthink-layers-"));
});
afterEach(() => rmSync(repository, { recursive: true, force: true }));

function lint(files: Record<string, string>): { status: number | null; stdout: string } {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(repository, path)), { recursive: true });
    writeFileSync(join(repository, path), text);
  }
  return spawnSync(process.execPath, [script, repository], { encoding: "utf8" });
}

test("a breach deep in src/ is printed with its place and fails the run", () => {
  const { status, stdout } = lint({
    "src/util/json.ts": "export const a = 1;\n",
    "src/host/workerd/deep/sql.ts": '// why\nimport { a } from "../../../agent/agent.ts";\nexport { a };\n'
  });
  expect(stdout).toBe("src/host/workerd/deep/sql.ts:2 direction host is below agent and must not depend on it\n");
  expect(status).toBe(1);
});

test("a clean tree passes without a word", () => {
  const { status, stdout } = lint({ "src/util/json.ts": "export const a = 1;\n" });
  expect([status, stdout]).toEqual([0, ""]);
});

test("a tree without sources fails instead of passing for nothing", () => {
  expect(lint({ "README.md": "" }).status).toBe(1);
});
