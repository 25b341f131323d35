import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { licencesOf } from "./licences.ts";

const root = mkdtempSync(join(tmpdir(), "everthink-licences-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function packageOf(name: string, files: Readonly<Record<string, string>>): string {
  const folder = join(root, "node_modules", name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, version: "1.2.3", license: "MIT" }));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  return join(folder, "lib/index.js");
}

test("each bundled package stands once with its licence, and our own files do not", () => {
  const one = packageOf("one", { LICENSE: "Licence of one\n" });
  const scoped = packageOf("@scope/two", { "license.md": "Licence of two" });
  const text = licencesOf([one, one.replace("index", "other"), scoped, join(root, "src/main.ts")]);
  expect(text.split("-".repeat(80)).map((part) => part.trim())).toEqual([
    "@scope/two 1.2.3 (MIT)\n\nLicence of two",
    "one 1.2.3 (MIT)\n\nLicence of one"
  ]);
});

test("a package without a licence file is named", () => {
  expect(() => licencesOf([packageOf("bare", {})])).toThrow("bare is bundled, and has no licence file.");
});
