import fc from "fast-check";
import { expect, test } from "vitest";
import { chunksIn, linesOf } from "./codec.ts";

const delta = (text: string, id = "t1") => JSON.stringify({ type: "text-delta", id, delta: text });

test("deltas of one part have their words on their lines, and nothing else", () => {
  const chunks = [delta("one "), delta("two "), delta("three", "t2"), delta('"four"', "t2")];
  expect(linesOf(chunks).split("\n")).toEqual([chunks[0], '"two "', chunks[2], '"\\"four\\""']);
  expect(chunksIn(linesOf(chunks))).toEqual(chunks);
});

test.each([
  [
    "a field after the text",
    [delta("a"), '{"type":"text-delta","id":"t1","delta":"b","providerMetadata":{"p":{"x":1}}}']
  ],
  ["another chunk in between", [delta("a"), '{"type":"text-end","id":"t1"}', delta("b")]],
  ["a delta that is no text", [delta("a"), '{"type":"text-delta","id":"t1","delta":7}', delta("b")]],
  ["words that look like a field", [delta('"delta":"x"'), delta('{"delta":')]],
  ["text in an unusual order", ['{"delta":"a","id":"t1"}', '{"delta":"b","id":"t1"}', '{"delta":"c","id":"t2"}']],
  ["no words", [delta(""), delta("")]]
])("with %s every chunk comes back as it was", (_what, chunks) => {
  expect(chunksIn(linesOf(chunks))).toEqual(chunks);
});

test("any chunks come back byte for byte, a line each", () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('"delta":"', '"', "}", "\\", '"}', "\n", "\u2028"));
  const chunk = fc.oneof(
    fc.tuple(text, fc.constantFrom("t1", "t2")).map(([words, id]) => delta(words, id)),
    fc
      .record({ type: fc.constant("data-x"), delta: fc.jsonValue(), data: fc.jsonValue() })
      .map((value) => JSON.stringify(value)),
    fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value))
  );
  fc.assert(
    fc.property(fc.array(chunk, { minLength: 1, maxLength: 20 }), (chunks) => {
      const lines = linesOf(chunks);
      expect(lines.split("\n")).toHaveLength(chunks.length);
      expect(chunksIn(lines)).toEqual(chunks);
    }),
    { numRuns: 500 }
  );
});
