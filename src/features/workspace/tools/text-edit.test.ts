import { expect, test } from "vitest";
import { applyEdit } from "./text-edit.ts";

const edit = (oldText: string, newText: string, replaceAll = false) => ({ oldText, newText, replaceAll });

test("patterns of the language's own replace are inserted as they stand", () => {
  for (const newText of ["$&", "$1", "$$", "$`", "$'"])
    expect(applyEdit("a X b", edit("X", newText))).toMatchObject({
      kind: "replaced",
      text: `a ${newText} b`,
      isFuzzy: false
    });
});

test("overlapping places are counted, and all are replaced on request", () => {
  expect(applyEdit("aaa", edit("aa", "b"))).toEqual({ kind: "many", count: 2, isFuzzy: false });
  expect(applyEdit("x y x", edit("x", "z", true))).toMatchObject({ text: "z y z", count: 2 });
});

test("spacing inside of a line may differ, and only the span is replaced", () => {
  expect(applyEdit("  foo(a,\t\tb)  // keep", edit("foo(a, b)", "bar()"))).toMatchObject({
    text: "  bar()  // keep",
    isFuzzy: true
  });
  expect(applyEdit("foo  x\nfoo\tx", edit("foo x", "bar"))).toEqual({ kind: "many", count: 2, isFuzzy: true });
  expect(applyEdit("foo\nx", edit("foo x", "bar"))).toEqual({ kind: "none" });
});

test("lines are matched whole, and the new ones stand at the depth of the old ones", () => {
  const text = "class A {\n\t\tif (x)  {\n\t\t\trun();\n\t\t}\n}\n";
  const result = applyEdit(text, edit("if (x) {\n    run();\n}", "if (x) {\n    walk();\n    run();\n}"));
  expect(result).toMatchObject({
    isFuzzy: true,
    text: "class A {\n\t\tif (x)  {\n\t\t    walk();\n\t\t\trun();\n\t\t}\n}\n"
  });
});

test("a match never begins in the middle of a line when it has several", () => {
  expect(applyEdit("prefix one\ntwo suffix\n", edit("one\n two", "x"))).toEqual({ kind: "none" });
});

test("a file with CRLF keeps it, whatever the model wrote; a mixed one is not touched outside the span", () => {
  expect(applyEdit("a\r\nb\r\nc\r\n", edit("a\nb", "x\ny\nz"))).toMatchObject({
    text: "x\r\ny\r\nz\r\nc\r\n",
    isFuzzy: false
  });
  expect(applyEdit("a\r\nb\nc\r\n", edit("c", "d"))).toMatchObject({ text: "a\r\nb\nd\r\n" });
});

test("nothing alike is none", () => {
  expect(applyEdit("abc", edit("x\ny", "z"))).toEqual({ kind: "none" });
  expect(applyEdit("abc", edit("   ", "z"))).toEqual({ kind: "none" });
});
