// `npm create everthink`: the small package that runs `everthink init`, packed, beside the packed everthink.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PackedProject, repository } from "./packed-project.ts";

const scaffolder = join(repository, "packages", "create-everthink");

let packed: PackedProject;
let program = "";

beforeAll(() => {
  packed = new PackedProject();
  const report = execFileSync("npm", ["pack", "--json", "--pack-destination", packed.directory], {
    cwd: scaffolder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"]
  });
  const [{ filename } = { filename: "" }] = JSON.parse(report) as { filename: string }[];
  packed.link();
  const folder = packed.unpack(filename, "create-everthink");
  const { bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { bin: Record<string, string> };
  program = join(folder, bin["create-everthink"] ?? "");
});
afterAll(() => packed?.remove());

const create = (...args: string[]) =>
  spawnSync(process.execPath, [program, ...args], { cwd: packed.directory, encoding: "utf8", input: "" });

test("makes a project without asking and without network, and says what comes next", () => {
  const { status, stdout } = create("shop", "--template", "customer-support", "--no-install");
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: expect.stringMatching(/^customer-support is in shop\n.*\nNext:\n  cd shop\n  npm install\n  npm run dev\n$/)
  });
  expect(existsSync(join(packed.directory, "shop", "agents", "assistant", "agent.ts"))).toBe(true);
});

test("depends on the everthink of its own version", () => {
  const version = (folder: string) =>
    JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      version: string;
      dependencies: Record<string, string>;
    };
  const own = version(repository);
  expect(version(scaffolder)).toMatchObject({ version: own.version, dependencies: { everthink: own.version } });
});

test("a folder that holds files is refused with exit code 1, and stays as it is", () => {
  mkdirSync(join(packed.directory, "full"));
  writeFileSync(join(packed.directory, "full", "notes.txt"), "mine");
  const { status, stderr } = create("full", "--no-install");
  expect(status).toBe(1);
  expect(stderr).toContain("nothing in it was changed");
  expect(readdirSync(join(packed.directory, "full"))).toEqual(["notes.txt"]);
});
