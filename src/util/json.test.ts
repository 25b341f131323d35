import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson, parseJson } from "./json.ts";

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
