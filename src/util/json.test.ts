import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson, parseJson, sameJson } from "./json.ts";

test("equal values print alike whatever the order of their keys", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const reversed = Object.fromEntries(Object.entries(value).reverse());
      expect(canonicalJson(reversed)).toBe(canonicalJson(value));
    })
  );
});

test("a canonical text reads back as the same value", () => {
  fc.assert(
    fc.property(
      fc.jsonValue(),
      (value) => void expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
    )
  );
});

test("parsing never throws", () => {
  fc.assert(fc.property(fc.string(), (text) => void expect(typeof parseJson(text).ok).toBe("boolean")));
});

test("two values are the same when they print alike", () => {
  const small = fc.jsonValue({ maxDepth: 2 });
  const pair = fc.oneof(
    fc.tuple(small, small),
    small.map((value) => [value, JSON.parse(canonicalJson(value)) as unknown] as const)
  );
  fc.assert(
    fc.property(pair, ([first, second]) => {
      // Minus zero prints as zero, and is equal to it.
      expect(sameJson(first, second)).toBe(canonicalJson(first) === canonicalJson(second));
    })
  );
});

test("what is undefined is not there", () => {
  expect(sameJson({ a: 1, b: undefined }, { a: 1 })).toBe(true);
  expect(sameJson({ a: 1, b: undefined }, { a: 1, b: null })).toBe(false);
});

test.each([
  [{ a: 1 }, { a: 1, b: 2 }],
  [{ toString: 1 }, {}],
  [JSON.parse('{"__proto__":{}}'), {}],
  [[1], { 0: 1 }],
  [null, {}],
  [[], [undefined]]
])("%j and %j differ", (first: unknown, second: unknown) => {
  expect([sameJson(first, second), sameJson(second, first)]).toEqual([false, false]);
});
