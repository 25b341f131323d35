// What a terminal shows of Markdown, and what it never does.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GrowingMarkdown, GrowingPlainText } from "./growing-text.ts";
import { paintFor } from "./paint.ts";
import { textWidth, wrapSpans } from "./styled-text.ts";

const plain = paintFor(false);
/** Styles as tags, so that a table can be read. */
const tagged = (styles: string | readonly string[], text: string) => `<${String(styles)}>${text}</>`;

const lines = (text: string, width = 40, paint = plain) =>
  new GrowingMarkdown(() => ({ width, paint })).grow(text, false).done;

describe("Markdown in the terminal", () => {
  test.each<[what: string, source: string, shown: string[]]>([
    ["a heading and a paragraph", "# Title\n\nText\nof two lines.", ["Title", "", "Text of two lines."]],
    ["emphasis and code", "**b** _i_ ~~d~~ `a<b>`", ["b i d a<b>"]],
    ["a list", "- one\n- two\n  - deep", ["• one", "• two", "  • deep"]],
    ["an ordered list that begins elsewhere", "3. three\n4. four", ["3. three", "4. four"]],
    ["tasks", "- [x] done\n- [ ] open", ["☑ done", "☐ open"]],
    ["code keeps its spaces", "```ts\nif (a) {\n  b();\n}\n```", ["│ if (a) {", "│   b();", "│ }"]],
    ["a quotation", "> said\n> so", ["│ said so"]],
    ["a table", "| a | bb |\n|---|---:|\n| 1 | 2 |", ["a  bb", "─  ──", "1   2"]],
    ["a link says where it leads", "[here](https://a.example)", ["here (https://a.example)"]],
    ["a bare address is there once", "https://a.example", ["https://a.example"]],
    ["a picture is its words and address", "![cat](https://a.example/c.png)", ["cat (https://a.example/c.png)"]],
    ["names of characters", "a &lt; b &amp; c &#65; &nope;", ["a < b & c A &nope;"]],
    ["HTML is text", "<b>x</b>", ["<b>x</b>"]],
    ["a rule", "a\n\n---\n\nb", ["a", "", "─".repeat(40), "", "b"]]
  ])("%s", (_what, source, shown) => {
    expect(lines(source)).toEqual(shown);
  });

  test("styles are those of the source", () => {
    expect(lines("## T\n\n**b *bi*** `c`", 40, tagged)).toEqual([
      "<bold>T</>",
      "",
      "<bold>b </><bold,italic>bi</> <cyan>c</>"
    ]);
  });

  test("a table that does not fit is shown as it was written", () => {
    expect(lines("| a | b |\n|---|---|\n| long words | longer words |", 20).join(" ")).toContain("| long words |");
  });

  test("lines break at spaces, and a longer word anywhere", () => {
    expect(lines("one two three", 8)).toEqual(["one two ", "three"]);
    expect(lines("abcdefghij", 4)).toEqual(["abcd", "efgh", "ij"]);
    expect(wrapSpans([{ text: "日本語", styles: [] }], { width: 4, paint: plain })).toEqual(["日本", "語"]);
  });

  test("no line is wider than the terminal, and no control character is left", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "# ",
        "- ",
        "1. ",
        "> ",
        "```\n",
        "\n",
        "\n\n",
        "| a | b |\n|---|---|\n",
        "**",
        "`",
        "[x](",
        ")",
        "日本",
        "\u001b[2J",
        "\t"
      ),
      fc.string()
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.integer({ min: 12, max: 60 }), (pieces, width) => {
        for (const line of lines(pieces.join(""), width)) {
          expect(textWidth(line)).toBeLessThanOrEqual(width);
          // oxlint-disable-next-line no-control-regex
          expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
        }
      })
    );
  });
});

describe("a text that grows", () => {
  const text =
    "# Report\n\nIt is **well**.\n\n- one\n- two\n\n```\ncode\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end.";

  test("shows in the end what the whole text shows, wherever it was cut", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: text.length - 1 }), { maxLength: 12 }), (cuts) => {
        for (const make of [
          () => new GrowingMarkdown(() => ({ width: 40, paint: plain })),
          () => new GrowingPlainText(() => ({ width: 40, paint: plain }))
        ]) {
          const growing = make();
          const done = cuts.toSorted((a, b) => a - b).flatMap((cut) => growing.grow(text.slice(0, cut), true).done);
          expect([...done, ...growing.grow(text, false).done]).toEqual(make().grow(text, false).done);
        }
      })
    );
  });

  test("what is not finished is open, and is not handed out twice", () => {
    const growing = new GrowingPlainText(() => ({ width: 40, paint: plain }));
    expect(growing.grow("one\ntw", true)).toEqual({ done: ["one"], open: ["tw"] });
    expect(growing.grow("one\ntwo\n", true)).toEqual({ done: ["two"], open: [] });
    expect(growing.grow("one\ntwo\n", false)).toEqual({ done: [], open: [] });
  });
});
