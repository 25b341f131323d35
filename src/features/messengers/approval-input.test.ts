import fc from "fast-check";
import { expect, test } from "vitest";
import { showInput, showTitle, showHidden } from "./approval-input.ts";

const POLICY = { visibleSoftLimit: 1_800 };

/** Lines as they would be without the limit of a line. */
function linesOf(input: object): string[] {
  const shown = showInput(input, POLICY);
  const text = "text" in shown ? shown.text : shown.pieces.join("\n");
  return text.replaceAll("\n… ", "").split("\n");
}

test("a question shows what is asked for as a line for each field", () => {
  expect(showInput({ to: "Ada", amount: 5, lines: [{ item: "oil" }], urgent: true }, POLICY)).toEqual({
    text: 'to: Ada\namount: 5\nlines: [{"item":"oil"}]\nurgent: true'
  });
});

test("a text of several lines is shown as lines that cannot pass for fields", () => {
  expect(linesOf({ text: "hello\namount: 1", amount: 5_000 })).toEqual([
    "text:",
    "│ hello",
    "│ amount: 1",
    "amount: 5000"
  ]);
});

test.each(["\r", "\u2028", "\u2029", "\u0085", "\v", "\f"])(
  "a text with the line break %j cannot pass for another field",
  (lineBreak) => {
    const name = `\\u{${lineBreak.charCodeAt(0).toString(16)}}`;
    expect(linesOf({ text: `hello${lineBreak}amount: 1` })).toEqual([`text: hello${name}amount: 1`]);
  }
);

test.each([
  ["│ x", '"│ x": 1'],
  ["… x", '"… x": 1'],
  ["a\nb", String.raw`"a\nb": 1`],
  ["to: Ada\u202e", String.raw`"to: Ada\u{202e}": 1`],
  ["first name", "first name: 1"]
])("a field named %j cannot pass for a text's line or another field", (name, expected) => {
  expect(linesOf({ [name]: 1 })).toEqual([expected]);
});

test.each([
  ["an order of writing that is turned", "pay \u202ead A ot", String.raw`pay \u{202e}ad A ot`],
  ["isolates", "a\u2066b\u2069", String.raw`a\u{2066}b\u{2069}`],
  ["a space without width", "rm\u200b-rf", String.raw`rm\u{200b}-rf`],
  ["a joiner between letters that need none", "ad\u200dmin", String.raw`ad\u{200d}min`],
  ["tags", "ok\u{e0041}", String.raw`ok\u{e0041}`],
  ["letters without a shape", "a\u3164\u2800b", String.raw`a\u{3164}\u{2800}b`],
  ["half a character", "a\ud800b", String.raw`a\u{d800}b`],
  ["a terminal's escape", "a\u001b[31m", String.raw`a\u{1b}[31m`],
  ["an emoji of several", "👩🏽\u200d🚀 ❤\ufe0f", "👩🏽\u200d🚀 ❤\ufe0f"],
  ["a script that is written with joiners", "می\u200cخواهم", "می\u200cخواهم"],
  ["tabs", "a\tb", "a\tb"]
])("%s: hidden characters are named, others stay", (_what, text, expected) => {
  expect(showHidden(text)).toBe(expected);
});

test("hidden characters inside lists and objects are named, too", () => {
  expect(linesOf({ to: [{ name: "Ada\u202e\u200b" }] })).toEqual([String.raw`to: [{"name":"Ada\u{202e}\u{200b}"}]`]);
});

test("a summary is one line, without hidden characters, of 300 characters at most", () => {
  expect(showTitle("Pay\nAda\u202e")).toBe(String.raw`Pay Ada\u{202e}`);
  expect([...showTitle("😀".repeat(500))]).toHaveLength(301);
});

test("every input is shown whole, in messages that fit or in a file", () => {
  const anyText = fc.oneof(
    fc.string({ unit: "binary", maxLength: 3_000 }),
    fc
      .array(fc.constantFrom("word ", "\n", "amount: 1", "… ", "│ ", "*`_", "\u202e", "😀"), { maxLength: 900 })
      .map((all) => all.join(""))
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string({ maxLength: 20 }), anyText, { maxKeys: 6 }), (input) => {
      const shown = showInput(input, POLICY);
      const expected = Object.entries(input).flatMap(([name, value]) => {
        const [first = "", ...rest] = linesOf({ [name]: 0 });
        expect(rest).toEqual([]);
        const label = first.slice(0, -"0".length);
        if (!value.includes("\n")) return [`${label}${showHidden(value)}`];
        return [label.trimEnd(), ...value.split("\n").map((line) => `│ ${showHidden(line)}`)];
      });
      const text = "text" in shown ? shown.text : shown.pieces.join("\n");
      if ("file" in shown && shown.file !== undefined) expect(shown.file).toBe(expected.join("\n"));
      // Too many messages: then it is in the file only.
      if ("pieces" in shown && shown.pieces.length === 0) return;
      // A line that goes on is the only one that begins with this mark.
      expect(text.replaceAll("\n… ", "")).toBe(expected.join("\n"));
      for (const piece of "pieces" in shown ? shown.pieces : []) {
        const escaped = piece.replaceAll(/[!-/:-@[-`{-~]/g, "\\$&");
        expect(escaped.length).toBeLessThanOrEqual(1_700);
        expect(piece.isWellFormed()).toBe(true);
      }
    })
  );
});

test("an input of more than twenty messages is a file, or a hundred messages at most", () => {
  const shown = (text: string) => {
    const { pieces, file } = { pieces: [], file: undefined, ...showInput({ text }, POLICY) };
    return [pieces.length, file];
  };
  expect(shown("x".repeat(31_500))).toEqual([20, undefined]);
  expect(shown("x".repeat(32_500))).toEqual([21, `text: ${"x".repeat(32_500)}`]);
  expect(shown("\n".repeat(2_000))).toEqual([26, `text:${"\n│ ".repeat(2_001)}`]);
  expect(shown("x".repeat(200_000))).toEqual([0, `text: ${"x".repeat(200_000)}`]);
});
