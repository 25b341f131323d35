import { expect, test } from "vitest";
import { ALL_TABLES } from "../src/testing/stored-tables.ts";
import { purposeOf, TABLE_PURPOSES } from "./table-purposes.ts";

test("every table of the package says what it is for, and no other", () => {
  const names = new Set(["cf_meta", ...ALL_TABLES.map(({ name }) => name)]);
  expect(Object.keys(TABLE_PURPOSES).toSorted()).toEqual([...names].toSorted());
});

test.each([
  ["cf_search_text_data", "Part of cf_search_text."],
  ["notes", "A table of the class."],
  ["notes_data", "A table of the class."],
  ["constructor", "A table of the class."]
])("the table %s: %s", (table, purpose) => {
  expect(purposeOf(table)).toBe(purpose);
});
