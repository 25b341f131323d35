import { expect, test } from "vitest";
import { renderNumber, renderTable } from "./table.ts";

test.each([
  [0.046, "0.05"],
  [1.299, "1.30"],
  [3, "3"],
  [12.34, "12.3"],
  [99.96, "100.0"],
  [187.4, "187"],
  [44_978.4, "44,978"],
  [Number.NaN, "–"],
  [Number.POSITIVE_INFINITY, "–"]
])("%d is written as %s", (value, text) => {
  expect(renderNumber(value)).toBe(text);
});

test("columns are as wide as their widest cell, and numbers stand to the right", () => {
  const table = renderTable(
    ["", "µs"],
    [
      ["turn", "1.30"],
      ["a longer one", "12"]
    ]
  );
  expect(table.split("\n")).toEqual([
    "|              |   µs |",
    "| ------------ | ---: |",
    "| turn         | 1.30 |",
    "| a longer one |   12 |"
  ]);
});

test("a missing cell is empty", () => {
  expect(renderTable(["a", "b"], [["x"]]).split("\n")[2]).toBe("| x   |      |");
});
