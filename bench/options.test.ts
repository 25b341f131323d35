import { expect, test } from "vitest";
import { readOptions } from "./options.ts";

const names = (items: readonly { name: string }[]) => items.map(({ name }) => name);

test("without options everything is measured", () => {
  const options = readOptions([]);
  expect(options.rounds).toBe(15);
  expect(names(options.contenders)).toEqual([
    "baseline",
    "everthink",
    "everthink-plugins",
    "everthink-core",
    "original-10",
    "original-newest"
  ]);
  expect(names(options.scenarios)).toContain("install");
});

test("a quick run leaves out what is slow, unless it is asked for by name", () => {
  expect(names(readOptions(["--quick"]).scenarios)).not.toContain("install");
  expect(names(readOptions(["--quick", "--only", "install"]).scenarios)).toEqual(["install"]);
  expect(readOptions(["--quick"]).rounds).toBe(3);
});

test("a name chooses everything that begins with it, and the baseline always takes part", () => {
  const options = readOptions(["--only", "history-1000,replay", "--contenders", "original"]);
  expect(names(options.scenarios)).toEqual(["history-1000-new", "history-1000-all", "replay"]);
  expect(names(options.contenders)).toEqual(["baseline", "original-10", "original-newest"]);
});

test.each([
  [["--only", "nothing"]],
  [["--contenders", "me"]],
  [["--rounds", "0"]],
  [["--rounds", "many"]],
  [["--what"]]
])("%s is refused", (args) => {
  expect(() => readOptions(args)).toThrow();
});
