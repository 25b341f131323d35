import fc from "fast-check";
import { expect, test } from "vitest";
import { byteLength, isLongerThan } from "./bytes.ts";

test("a text is longer than a limit exactly when its bytes are", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "é", "€", "😀", "\ud800"), maxLength: 40 });
  fc.assert(
    fc.property(text, fc.nat({ max: 130 }), (value, limit) => {
      expect(isLongerThan(value, limit)).toBe(byteLength(value) > limit);
    }),
    { numRuns: 1_000 }
  );
});
