// The line at the prompt, key by key.
import { expect, test } from "vitest";
import { editedRows, editLine, EMPTY_LINE, enterLine, withText, type EditedLine, type Key } from "./line-editor.ts";

const typed = (text: string): Key[] => [...text].map((sequence) => ({ sequence, name: sequence }));
const named = (name: string, more: Partial<Key> = {}): Key => ({ name, sequence: "", ...more });
const control = (name: string): Key => named(name, { ctrl: true });
const after = (keys: readonly Key[], line: EditedLine = EMPTY_LINE) => keys.reduce(editLine, line);

test.each<[what: string, keys: Key[], text: string, cursor: number]>([
  ["typing", typed("abc"), "abc", 3],
  ["in the middle", [...typed("ac"), named("left"), ...typed("b")], "abc", 2],
  ["a picture is one character", [...typed("a👍"), named("backspace")], "a", 1],
  ["delete", [...typed("abc"), control("a"), named("delete")], "bc", 0],
  [
    "to the beginning and the end",
    [...typed("b"), named("home"), ...typed("a"), named("end"), ...typed("c")],
    "abc",
    3
  ],
  ["a word back", [...typed("one two "), control("w")], "one ", 4],
  ["all before, all behind", [...typed("abcd"), named("left"), control("u")], "d", 0],
  ["all behind", [...typed("abcd"), named("left"), control("k")], "abc", 3],
  [
    "keys that mean nothing here",
    [...typed("a"), named("f5", { sequence: "\u001b[15~" }), named("x", { meta: true })],
    "a",
    1
  ],
  [
    "a pasted text keeps its line ends",
    [named("paste-start"), ...typed("a"), named("return", { sequence: "\r" }), ...typed("b"), named("paste-end")],
    "a\nb",
    3
  ]
])("%s", (_what, keys, text, cursor) => {
  expect(after(keys)).toMatchObject({ text, cursor, isPasting: false });
});

test("arrows bring entered lines back, and the way down ends at an empty line", () => {
  const entered = ["one", "two", "two"].reduce((line, text) => enterLine(withText(line, text), true), EMPTY_LINE);
  expect(entered).toMatchObject({ text: "", history: ["one", "two"] });
  expect(after([named("up")], entered).text).toBe("two");
  expect(after([named("up"), named("up"), named("up")], entered).text).toBe("one");
  expect(after([named("up"), named("up"), named("down"), named("down")], entered).text).toBe("");
});

test("a line that is wider than the terminal has several rows, and the cursor its place in them", () => {
  const prompt = { text: "> ", width: 2 };
  expect(editedRows(prompt, { text: "abcdef", cursor: 6 }, 5)).toEqual({ rows: ["> abc", "def"], row: 1, column: 3 });
  expect(editedRows(prompt, { text: "abcdef", cursor: 3 }, 5)).toMatchObject({ row: 1, column: 0 });
  expect(editedRows(prompt, { text: "a\nb", cursor: 0 }, 9)).toEqual({ rows: ["> a⏎b"], row: 0, column: 2 });
});
