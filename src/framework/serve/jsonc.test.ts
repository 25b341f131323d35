import fc from "fast-check";
import { applyEdits, modify } from "jsonc-parser";
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

test("every JSON text means the same with comments around it", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value, null, 1);
      expect(parseJsonc(`// a "\n${text.replaceAll("\n", " /* , ] */\n")}`)).toEqual(JSON.parse(text));
    })
  );
});

test.each(["", "{", '{ "a": }', "[1,,]", "[1 2]", "{ a: 1 }", "{} {}", "/* open"])("%j is refused", (text) => {
  expect(() => parseJsonc(text)).toThrow(SyntaxError);
});

test("an error says where it is", () => {
  expect(() => parseJsonc('{\n  "main": "a.js" // the entry\n  "name": "b"\n}')).toThrow(
    "CommaExpected at line 3, column 3"
  );
});

test("an edit of a Wrangler file keeps its comments and its layout", () => {
  const file = [
    "// Deployed by the release job.",
    "{",
    '  "name": "keeper", // also the route',
    '  "vars": { "PORT": "1" },',
    "  /* objects */",
    '  "migrations": [',
    '    { "tag": "v1", "new_sqlite_classes": ["Keeper"] }, // the first',
    "  ],",
    "}"
  ];
  const added = { tag: "v2", new_sqlite_classes: ["Lamp"] };
  const formattingOptions = { insertSpaces: true, tabSize: 2, eol: "\n" };
  const edited = applyEdits(file.join("\n"), modify(file.join("\n"), ["vars", "PORT"], "2", { formattingOptions }));
  expect(edited.split("\n")).toEqual(file.with(3, '  "vars": { "PORT": "2" },'));
  const longer = applyEdits(edited, modify(edited, ["migrations", -1], added, { formattingOptions }));
  expect(longer.match(/\/\/ .*|\/\*.*\*\//g)).toEqual(edited.match(/\/\/ .*|\/\*.*\*\//g));
  expect(parseJsonc(longer)).toMatchObject({ vars: { PORT: "2" }, migrations: [{ tag: "v1" }, added] });
});
