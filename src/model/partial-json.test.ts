import { parsePartialJson as theirs } from "ai";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parsePartialJson } from "./partial-json.ts";

test.each([
  ["", undefined],
  ["{", {}],
  ['{"a', {}],
  ['{"a"', {}],
  ['{"a":', {}],
  ['{"a": 1', { a: 1 }],
  ['{"a": "x\\', { a: "x" }],
  ['{"a": "x\\u00', { a: "x" }],
  ['{"a": "\\\\', { a: "\\" }],
  ['{"a": [1, 2, {"b": tr', { a: [1, 2, { b: true }] }],
  ['{"a": 1, "b', { a: 1 }],
  ['{"a": 1,', { a: 1 }],
  ["[1, [2", [1, [2]]],
  ['"open', "open"],
  ["not json", undefined]
])("%j is read as far as it is certain", (text, value) => {
  expect(parsePartialJson(text)).toEqual(value);
});

/** No escapes and no exponents: the SDK's scanner loses its way in escaped keys, and in "e+". */
const plainText = fc.stringMatching(/^[a-zA-Z0-9 :,{}[\]äß]{0,8}$/);
const plainNumber = fc.oneof(
  fc.integer(),
  fc.integer({ min: -999, max: 999 }).map((value) => value / 8)
);
const { value: plainJson } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    plainText,
    plainNumber,
    fc.boolean(),
    fc.constant(null),
    tie("list"),
    tie("object")
  ),
  list: fc.array(tie("value"), { maxLength: 3 }),
  object: fc.dictionary(plainText, tie("value"), { maxKeys: 3 })
}));

test("every beginning of a JSON text has the value the SDK's clients show for it", async () => {
  await fc.assert(
    fc.asyncProperty(plainJson, fc.nat(), async (value, at) => {
      const text = JSON.stringify(value);
      const prefix = text.slice(0, at % (text.length + 1));
      expect(parsePartialJson(prefix)).toEqual((await theirs(prefix)).value);
    }),
    { numRuns: 500 }
  );
});

/** Whether one value can be an earlier state of the other. Numbers may still grow digits. */
function isBeginning(part: unknown, whole: unknown): boolean {
  if (typeof part === "string" && typeof whole === "string") return whole.startsWith(part);
  if (typeof part === "number" || typeof part !== "object" || part === null) return typeof part === typeof whole;
  if (typeof whole !== "object" || whole === null || Array.isArray(part) !== Array.isArray(whole)) return false;
  return Object.entries(part).every(([key, value]) => isBeginning(value, Reflect.get(whole, key)));
}

test("no beginning of any JSON text claims something the whole does not say", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.nat(), (value, at) => {
      const text = JSON.stringify(value);
      const part = parsePartialJson(text.slice(0, at % (text.length + 1)));
      expect(part === undefined || isBeginning(part, JSON.parse(text))).toBe(true);
    }),
    { numRuns: 1000 }
  );
});

test("a beginning of an object is an object from its first character on", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), (value, at) => {
      const text = JSON.stringify(value);
      expect(parsePartialJson(text.slice(0, 1 + (at % text.length)))).toBeTypeOf("object");
    }),
    { numRuns: 500 }
  );
});
