import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MissingWorkerdError } from "./errors.ts";
import { findWorkerd } from "./workerd-binary.ts";

let project = "";
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), "everthink-binary-"));
});
afterEach(() => rmSync(project, { recursive: true, force: true }));

function install(path: string, text = ""): string {
  const folder = join(project, path);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "index.js"), text);
  return folder;
}

test.each([
  ["at the top", ["node_modules/workerd"]],
  ["below wrangler", ["node_modules/wrangler", "node_modules/wrangler/node_modules/workerd"]],
  [
    "below miniflare below wrangler",
    [
      "node_modules/wrangler",
      "node_modules/wrangler/node_modules/miniflare",
      "node_modules/wrangler/node_modules/miniflare/node_modules/workerd"
    ]
  ]
])("workerd is found %s", (_where, packages) => {
  const program = join(project, "workerd");
  writeFileSync(program, "");
  for (const path of packages) install(path, `exports.default = ${JSON.stringify(program)};`);
  expect(findWorkerd([join(project, "elsewhere"), project])).toBe(program);
});

test.each([
  "",
  "throw new Error('unsupported machine');",
  "exports.default = '/does/not/exist';",
  "exports.default = 1;"
])("a package that says %j is not it, and the message says how to install one", (text) => {
  install("node_modules/workerd", text);
  expect(() => findWorkerd([project])).toThrow(MissingWorkerdError);
  expect(new MissingWorkerdError().hint).toBe("Install it: npm install workerd");
});
