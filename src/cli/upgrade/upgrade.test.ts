// `everthink upgrade` on a project in a temporary folder, with a program that stands for npm; and its decisions as tables.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testContext } from "../cli.test-support.ts";
import { dispatch } from "../main.ts";
import { changesBetween, chooseVersion, isCompatible, withDependency } from "./versions.ts";

let folder = "";
const path = process.env["PATH"];
const CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 2.0.0\n\nBreaks.\n\n## 1.3.0\n\nMore.\n\n## 1.2.0\n\nLess.\n";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "everthink-upgrade-test-"));
  put("package.json", '{\n  "dependencies": { "everthink": "^1.2.0", "ai": "7.0.0" }\n}\n');
  put("agents/support.ts", "");
  put("node_modules/everthink/package.json", '{ "name": "everthink", "version": "1.2.0" }');
  put("new/package/CHANGELOG.md", CHANGELOG);
  put("new/package/docs/upgrading.md", "# Upgrading\n\n## 1.3.0\n\nRename a to b.\n");
  put(
    "bin/npm",
    `#!/bin/sh
echo "$@" >> "${folder}/npm.log"
case "$1" in
  view) echo '["1.1.0", "1.2.0", "1.3.0", "1.4.0-beta.1", "2.0.0"]' ;;
  pack) tar -czf "$4/everthink.tgz" -C "${folder}/new" package && echo '[{ "filename": "everthink.tgz" }]' ;;
esac
`
  );
  chmodSync(join(folder, "bin/npm"), 0o755);
  process.env["PATH"] = `${join(folder, "bin")}:${path}`;
  put(".gitignore", "node_modules\nnew\nbin\nnpm.log\n");
  git("init", "--quiet");
  commit();
});
afterEach(() => {
  process.env["PATH"] = path;
  rmSync(folder, { recursive: true, force: true });
});

function put(name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}
const read = (name: string) => readFileSync(join(folder, name), "utf8");
const git = (...args: string[]) =>
  spawnSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd: folder });
function commit(): void {
  git("add", "-A");
  git("commit", "--quiet", "-m", "all");
}

async function upgrade(...args: string[]): Promise<string> {
  let output = "";
  const print = (text: string) => void (output += `${text}\n`);
  expect(await dispatch(["upgrade", ...args], testContext({ cwd: folder, print, note: print, stream: print }))).toBe(0);
  return output;
}

describe("upgrade", () => {
  test("a dry run says what changes on the way, and changes nothing", async () => {
    const before = read("package.json");
    expect(await upgrade("--dry-run")).toBe(
      "everthink 1.2.0 -> 1.3.0\n\n## 1.3.0\n\nMore.\n\n## 1.3.0\n\nRename a to b.\n\n" +
        "2.0.0 is newer, and may break something: everthink upgrade --latest\nNothing was changed: --dry-run.\n"
    );
    expect([read("package.json"), read("npm.log")]).toEqual([before, expect.not.stringContaining("install")]);
  });

  test("writes the version and installs it; everything else of package.json stays", async () => {
    await upgrade();
    expect(read("package.json")).toBe('{\n  "dependencies": { "everthink": "^1.3.0", "ai": "7.0.0" }\n}\n');
    expect(read("npm.log")).toContain("install --no-audit");
  });

  test("--latest goes across, --to to one version, and an older or unknown one is refused", async () => {
    expect(JSON.parse(await upgrade("--latest", "--json", "--dry-run"))).toMatchObject({
      target: "2.0.0",
      beyond: null
    });
    expect(JSON.parse(await upgrade("--to", "1.3.0", "--json", "--dry-run"))).toMatchObject({ target: "1.3.0" });
    await expect(upgrade("--to", "1.1.0")).rejects.toThrow("1.1.0 is older than 1.2.0");
    await expect(upgrade("--to", "9.9.9")).rejects.toThrow('no version "9.9.9"');
  });

  test("stops at changes that are not committed, before anything is written; --force goes on", async () => {
    put("agents/support.ts", "changed");
    const before = read("package.json");
    await expect(upgrade()).rejects.toThrow("There are changes that are not committed.");
    expect(read("package.json")).toBe(before);
    await upgrade("--force");
    expect(read("package.json")).toContain("^1.3.0");
  });

  test("another package manager's lock is named, and left to it", async () => {
    put("pnpm-lock.yaml", "");
    commit();
    expect(await upgrade()).toContain("pnpm-lock.yaml is not npm's");
    expect(read("npm.log")).not.toContain("install");
  });

  test("npm that fails ends it with npm's words", async () => {
    put("bin/npm", "#!/bin/sh\necho E404 >&2\nexit 1\n");
    await expect(upgrade()).rejects.toMatchObject({
      message: expect.stringContaining("npm view ended with 1"),
      hint: "E404"
    });
  });
});

describe("versions", () => {
  test.each([
    ["1.2.0", "1.9.0", true],
    ["1.2.0", "2.0.0", false],
    ["0.1.0", "0.1.9", true],
    ["0.1.0", "0.2.0", false],
    ["0.0.1", "0.0.2", false]
  ])("from %s to %s is compatible: %s", (from, to, is) => {
    expect(isCompatible(from, to)).toBe(is);
  });

  test("nothing newer is the installed one; versions before a release are never taken", () => {
    expect(chooseVersion("1.3.0", ["1.2.0", "1.3.0", "1.4.0-beta.1"], true)).toEqual({
      target: "1.3.0",
      beyond: undefined
    });
  });

  test("a changelog is read from behind the one version to the other", () => {
    expect(changesBetween(CHANGELOG, "1.2.0", "2.0.0")).toBe("## 2.0.0\n\nBreaks.\n\n## 1.3.0\n\nMore.");
    expect(withDependency("{}", "everthink", "1.0.0")).toBeUndefined();
  });
});
