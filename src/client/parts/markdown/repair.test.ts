// Half-written markdown: what is shown while it grows is what it is going to be.
import { lexer } from "marked";
import { describe, expect, test } from "vitest";
import { repairEnd } from "./repair.ts";

describe("an end that means nothing yet is hidden or completed", () => {
  test.each([
    ["a list that begins under a line is not a heading", "Three things:\n-", "Three things:\n"],
    ["a rule that may be a list", "Text\n\n--", "Text\n\n"],
    ["a number that may be a list", "Text\n1.", "Text\n"],
    ["a heading without words", "Text\n\n##", "Text\n\n"],
    ["half a fence", "Text\n\n``", "Text\n\n"],
    ["strong text", "It is **very", "It is **very**"],
    ["strong text, half closed", "It is **very*", "It is **very**"],
    ["an opening mark alone", "It is **", "It is "],
    ["emphasis", "It is *very", "It is *very*"],
    ["code", "Call `lamp.light", "Call `lamp.light`"],
    ["struck text", "not ~~this", "not ~~this~~"],
    ["a link's text", "See [the encyc", "See the encyc"],
    ["a link's address", "See [the book](https://exa", "See the book"],
    ["a sum is not emphasis", "2 * 3 is", "2 * 3 is"]
  ])("%s", (_name, text, shown) => {
    expect(repairEnd(text)).toBe(shown);
  });

  test("the first row of a table is a table at once", () => {
    expect(repairEnd("| Light | Rhythm |")).toBe("| Light | Rhythm |\n| --- | --- |");
    expect(repairEnd("| Light | Rhythm |\n|--")).toBe("| Light | Rhythm |\n| --- | --- |");
  });

  test("a table that is complete stays as it is", () => {
    const table = "| a | b |\n| --- | --- |\n| 1 | 2";
    expect(repairEnd(table)).toBe(table);
  });

  test("nothing is changed inside a fence", () => {
    for (const text of ["```ts\nconst a = `x", "```\n-", "~~~\n**a"]) expect(repairEnd(text)).toBe(text);
  });

  test("nothing is changed before the last line", () => {
    const done = "A **bold** start.\n\n- one\n- two\n\n";
    expect(repairEnd(`${done}and **more`)).toBe(`${done}and **more**`);
  });
});

const SAMPLE = `# A heading

Text with **strong**, *soft*, \`code\` and [a link](https://example.org/page).

| Light | Rhythm |
| --- | --- |
| North Head | one flash |

- one
- two **things**

> A quote that *counts*.

\`\`\`ts
const a = 1;
\`\`\`

1. first
2. second
`;

test("at no point of a growing text are marks shown as characters", () => {
  for (let length = 1; length <= SAMPLE.length; length += 1) {
    const shown = JSON.stringify(plainTexts(lexer(repairEnd(SAMPLE.slice(0, length)))));
    expect(shown, `after ${length} characters`).not.toMatch(/\*|`|\]\(|\|/);
  }
});

test("at no point of a growing text does a paragraph become a heading", () => {
  for (let length = SAMPLE.indexOf("Text with"); length <= SAMPLE.length; length += 1) {
    const headings = lexer(repairEnd(SAMPLE.slice(0, length))).filter(({ type }) => type === "heading");
    expect(headings.length, `after ${length} characters`).toBe(1);
  }
});

interface AnyToken {
  readonly type: string;
  readonly text?: string;
  readonly tokens?: readonly AnyToken[];
  readonly items?: readonly AnyToken[];
}

function plainTexts(tokens: readonly AnyToken[]): string[] {
  return tokens.flatMap(({ type, text, tokens: inner, items }) => {
    if (inner) return plainTexts(inner);
    if (items) return plainTexts(items);
    return type === "text" && text !== undefined ? [text] : [];
  });
}
