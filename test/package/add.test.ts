// A project to which `everthink add` has given all it can: it still type checks, passes its test and builds.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PackedProject } from "./packed-project.ts";

let packed: PackedProject;
let command = "";

beforeAll(() => {
  packed = new PackedProject();
  command = join(packed.link(), "dist", "serve", "cli.js");
});
afterAll(() => packed?.remove());

const ADDED = [
  ...["telegram", "slack", "discord", "teams"].map((name) => ["messenger", name]),
  ["mcp", "https://docs.example.com/mcp"],
  ["mcp", "https://mcp.linear.app/mcp"],
  ["skills"]
];

test("every messenger, MCP servers and skills, each twice", () => {
  const folder = join(packed.directory, "added");
  const run = (cwd: string, program: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { cwd, encoding: "utf8" });
    return { status, output: stdout + stderr };
  };
  const bin = (path: string) => join(packed.directory, "node_modules", path);
  expect(run(packed.directory, command, "init", "added", "--no-install", "--yes").status).toBe(0);
  for (const words of ADDED) {
    expect(run(folder, command, "add", ...words)).toMatchObject({
      status: 0,
      output: expect.stringMatching(/^Changed: /)
    });
    expect(run(folder, command, "add", ...words)).toMatchObject({
      status: 0,
      output: expect.stringMatching(/^It is there already/)
    });
  }
  expect(run(folder, bin("typescript/bin/tsc"))).toEqual({ status: 0, output: "" });
  expect(run(folder, bin("vitest/vitest.mjs"), "run")).toMatchObject({ status: 0 });
  expect(run(folder, command, "inspect").output).toContain("Diagnostics\n  none");
  expect(run(folder, bin("vite/bin/vite.js"), "build").status).toBe(0);
});
