import fc from "fast-check";
import { expect, test } from "vitest";
import { parseJsonc } from "./jsonc.ts";

test.each([
  ['{ "a": 1 } // end', { a: 1 }],
  ['/* head\n */ { "a": [1, 2,], }', { a: [1, 2] }],
  ['{ "url": "https://a.b/*c*/", "quote": "\\"//\\"" }', { url: "https://a.b/*c*/", quote: '"//"' }],
  ['{ "a": ",]", // one, two,\n }', { a: ",]" }],
  ["\uFEFF[]", []]
])("%j is read", (text, value) => {
  expect(parseJsonc(text)).toEqual(value);
});

test("whatever is JSON means the same with comments around it", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value, null, 1);
      expect(parseJsonc(`// a "\n${text.replaceAll("\n", " /* , ] */\n")}`)).toEqual(JSON.parse(text));
    })
  );
});

test.each(["{", '{ "a": }', "[1,,]", "/* open"])("%j is refused", (text) => {
  expect(() => parseJsonc(text)).toThrow(SyntaxError);
});
