// The tree of files, as rows and under the keys of a tree.
import { expect, test } from "vitest";
import type { FileEntry } from "../../shared/demo.ts";
import { keyMove, treeRows } from "./tree-rows.ts";

const entry = (path: string, type: FileEntry["type"] = "file"): FileEntry => ({
  path,
  type,
  size: 1,
  mimeType: "",
  updatedAt: 0
});
const ENTRIES = [entry("/a", "directory"), entry("/a-b"), entry("/a/y"), entry("/a/x", "directory"), entry("/a/x/z")];
const shown = (closed: string[] = []) =>
  treeRows(ENTRIES, new Set(closed)).map(({ name, level }) => `${level} ${name}`);

test("directories come first, each followed by what is in it, however the paths sort", () => {
  expect(shown()).toEqual(["1 a", "2 x", "3 z", "2 y", "1 a-b"]);
});

test("what is inside of a closed directory is not shown", () => {
  expect(shown(["/a/x"])).toEqual(["1 a", "2 x", "2 y", "1 a-b"]);
  expect(shown(["/a"])).toEqual(["1 a", "1 a-b"]);
});

test.each([
  ["ArrowDown", 4, { focus: 4 }],
  ["ArrowUp", 1, { focus: 0 }],
  ["ArrowRight", 0, { focus: 1 }],
  ["ArrowRight", 3, { focus: 3 }],
  ["ArrowLeft", 3, { focus: 0 }],
  ["ArrowLeft", 0, { toggle: 0 }],
  ["ArrowLeft", 4, { focus: 0 }],
  ["End", 0, { focus: 4 }],
  ["Tab", 0, undefined]
])("%s at row %i", (key, at, move) => {
  expect(keyMove(treeRows(ENTRIES, new Set()), at, key)).toEqual(move);
});

test("the right arrow opens a closed directory", () => {
  expect(keyMove(treeRows(ENTRIES, new Set(["/a"])), 0, "ArrowRight")).toEqual({ toggle: 0 });
});
