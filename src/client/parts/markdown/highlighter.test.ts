// Colours never change the text: whatever a model writes, in whatever language it says.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { loadHighlighter } from "./highlighter.ts";

const highlightCode = await loadHighlighter();

const LANGUAGES = [
  "ts",
  "js",
  "tsx",
  "py",
  "json",
  "bash",
  "sql",
  "html",
  "css",
  "yaml",
  "go",
  "rust",
  "diff",
  "md",
  "c"
];
const piece = fc.constantFrom(
  "`",
  "${",
  "}",
  '"',
  "'",
  "\\",
  "\n",
  "\r\n",
  "/",
  "*",
  "//",
  "<a ",
  "</a>",
  "if (",
  "x",
  " ",
  "#",
  "--",
  "😀"
);

const textOf = (lines: ReturnType<typeof highlightCode>) =>
  lines?.map((tokens) => tokens.map(({ text }) => text).join("")).join("\n");

test("the tokens of a code are together its text, to the letter", () => {
  fc.assert(
    fc.property(fc.constantFrom(...LANGUAGES), fc.array(piece, { maxLength: 60 }), (language, pieces) => {
      const code = pieces.join("");
      const lines = highlightCode(code, language);
      if (lines !== undefined) expect(textOf(lines)).toBe(code);
    }),
    { numRuns: 1_000 }
  );
});

test.each([
  ["ts", "const a = 1;", ["keyword", "sign", "class"]],
  ["Python", "def a(): pass", ["keyword"]],
  ["shell", "echo 'a' # b", ["string", "comment"]]
])("%s has colours", (language, code, kinds) => {
  const found = highlightCode(code, language)
    ?.flat()
    .map(({ kind }) => kind);
  for (const kind of kinds) expect(found).toContain(kind);
});

test.each(["", "text", "mermaid", "constructor", "__proto__"])(
  "a language that is not known has none: %s",
  (language) => {
    expect(highlightCode("const a = 1;", language)).toBeUndefined();
  }
);
