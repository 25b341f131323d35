// Nothing that init writes leaves its target or replaces a file, whatever links are there and whatever appears meanwhile.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testContext } from "../cli.test-support.ts";
import { dispatch } from "../main.ts";
import { isBelow, writeNew } from "./write-files.ts";

let place = "";
/** Where the command runs. */
let target = "";
/** What it must not touch. */
let outside = "";
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "everthink-init-"));
  [target = "", outside = ""] = ["target", "outside"].map((name) => join(place, name));
  for (const folder of [target, outside]) mkdirSync(folder);
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

async function init(...args: string[]): Promise<number> {
  const ignore = () => undefined;
  const context = testContext({ cwd: target, print: ignore, stream: ignore, note: ignore });
  return dispatch(["init", ...args, "--no-install", "--yes"], context);
}

const LINK_OUT = "is reached through a link that leads out of";

describe("a link out of the working folder", () => {
  test("is not taken for the directory of a new project", async () => {
    symlinkSync(outside, join(target, "shop"));
    await expect(init("shop")).rejects.toThrow(LINK_OUT);
    await expect(init("shop/inner")).rejects.toThrow(LINK_OUT);
    expect(readdirSync(outside)).toEqual([]);
  });

  test("is not followed when its target does not exist yet", async () => {
    symlinkSync(join(outside, "later"), join(target, "shop"));
    await expect(init("shop")).rejects.toThrow(LINK_OUT);
    expect(readdirSync(outside)).toEqual([]);
  });

  test.each(["agents", "page", "test"])("as the folder %s of a project: no file is written at all", async (name) => {
    writeFileSync(join(target, "package.json"), "{}");
    symlinkSync(outside, join(target, name));
    await expect(init()).rejects.toThrow(LINK_OUT);
    await expect(init("--dry-run")).rejects.toThrow(LINK_OUT);
    expect([readdirSync(target).sort(), readdirSync(outside)]).toEqual([[name, "package.json"].sort(), []]);
    expect(readFileSync(join(target, "package.json"), "utf8")).toBe("{}");
  });

  test("as the package.json of a project: the file it leads to stays as it is", async () => {
    writeFileSync(join(outside, "package.json"), "{}");
    symlinkSync(join(outside, "package.json"), join(target, "package.json"));
    await expect(init()).rejects.toThrow(LINK_OUT);
    expect([readFileSync(join(outside, "package.json"), "utf8"), readdirSync(target)]).toEqual([
      "{}",
      ["package.json"]
    ]);
  });
});

test("a link that stays inside, and a working folder that is itself reached by one, are followed", async () => {
  symlinkSync(target, join(place, "alias"));
  mkdirSync(join(target, "real"));
  symlinkSync("real", join(target, "shop"));
  expect(await init("shop", "--root", join(place, "alias"))).toBe(0);
  expect(existsSync(join(target, "real", "package.json"))).toBe(true);
});

test("a directory outside that is typed as the answer to the question is refused", async () => {
  const input = new PassThrough();
  const output = new PassThrough().resume();
  const ignore = () => undefined;
  const terminal = { input, output, hasColors: false };
  const context = testContext({ cwd: target, print: ignore, stream: ignore, note: ignore, terminal });
  const answers = new Map([
    ["Where?", "../outside/shop\r"],
    ["Which starter?", "\r"],
    ["Which model?", "\u001b[A\r"]
  ]);
  output.on("data", (text: Buffer) => {
    for (const [question, answer] of answers) {
      if (!String(text).includes(question)) continue;
      answers.delete(question);
      // A question listens to keys once it is shown.
      setImmediate(() => input.write(answer));
    }
  });
  await expect(dispatch(["init", "--no-install"], context)).rejects.toThrow("The directory must be below");
  expect(readdirSync(outside)).toEqual([]);
});

test("a link that appeared after the folder was looked at is not followed, and nothing is written", () => {
  symlinkSync(outside, join(target, "agents"));
  const files = new Map([
    ["README.md", "new"],
    ["agents/agent.ts", "new"]
  ]);
  expect(() => writeNew(target, files)).toThrow(LINK_OUT);
  expect([readdirSync(outside), readdirSync(target)]).toEqual([[], ["agents"]]);
});

test("a file that appeared after the folder was looked at is kept, and named", () => {
  writeFileSync(join(target, "README.md"), "mine");
  const files = new Map([["README.md", "new"]]);
  expect(() => writeNew(target, files)).toThrow("README.md appeared meanwhile, and was not changed.");
  expect(readFileSync(join(target, "README.md"), "utf8")).toBe("mine");
});

test.each([
  ["/a", "/a", true],
  ["/a", "/a/b/c", true],
  ["/a", "/a/..b", true],
  ["/a", "/", false],
  ["/a", "/ab", false],
  ["/a/b", "/a/c", false]
])("%s holds %s: %s", (folder, path, is) => {
  expect(isBelow(folder, path)).toBe(is);
});
