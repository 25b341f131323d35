import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { serveErrors } from "./errors.ts";
import { findWorkerd, OLDEST_WORKERD } from "./workerd-binary.ts";

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
  expect(() => findWorkerd([project])).toThrow(expect.objectContaining({ name: "MissingWorkerdError" }));
  expect(serveErrors.MissingWorkerdError().hint).toBe("Install it: npm install workerd");
});

function installVersion(path: string, version: string): string {
  const folder = install(path);
  const program = join(folder, "program");
  writeFileSync(program, "");
  writeFileSync(join(folder, "index.js"), `exports.default = ${JSON.stringify(program)};`);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "workerd", version }));
  return program;
}

test.each(["1.20250101.0", "0.99999999.9", "1.20260917.5"])("workerd %s is named as too old", (version) => {
  installVersion("node_modules/workerd", version);
  expect(() => findWorkerd([project])).toThrow(expect.objectContaining({ name: "OldWorkerdError" }));
  expect(() => findWorkerd([project])).toThrow(
    `This project has workerd ${version}; everthink needs ${OLDEST_WORKERD} or newer.`
  );
});

test.each([OLDEST_WORKERD, "1.20260918.1", "1.20270101.0", "2.20250101.0", "1.20260918.1-beta", "a fork"])(
  "workerd %s is taken",
  (version) => {
    const program = installVersion("node_modules/workerd", version);
    expect(findWorkerd([project])).toBe(program);
  }
);

test("an old one at the top does not hide a newer one that wrangler brought", () => {
  installVersion("node_modules/workerd", "1.20250101.0");
  install("node_modules/wrangler");
  const program = installVersion("node_modules/wrangler/node_modules/workerd", OLDEST_WORKERD);
  expect(findWorkerd([project])).toBe(program);
});

test("the oldest one is that of the package's peer range", () => {
  const manifest = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as {
    peerDependencies: Record<string, string>;
  };
  expect(manifest.peerDependencies["workerd"]).toBe(`>=${OLDEST_WORKERD}`);
});
