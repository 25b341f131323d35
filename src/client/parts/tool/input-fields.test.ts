// An input that is changed field by field: what was left alone stays as it was, and what cannot be read is never sent.
import fc from "fast-check";
import { expect, test } from "vitest";
import { fieldsOf, readFields } from "./input-fields.ts";

const texts = (changes: Record<string, string>) => new Map(Object.entries(changes));

test("any input that is left alone is the same one", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (input) => {
      const written = new Map(fieldsOf(input).map(({ name, text }) => [name, text]));
      expect(readFields(input, written)).toEqual({ ok: true, input, isChanged: false });
    })
  );
});

test("any value of a field becomes any other of its kind, and no other field changes", () => {
  const value = fc.oneof(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean());
  fc.assert(
    fc.property(fc.dictionary(fc.string({ minLength: 1 }), value, { minKeys: 1 }), value, (input, next) => {
      const [name = ""] = Object.keys(input);
      fc.pre(typeof input[name] === typeof next && String(input[name]) !== String(next) && name !== "__proto__");
      expect(readFields(input, texts({ [name]: String(next) }))).toEqual({
        ok: true,
        input: { ...input, [name]: next === 0 ? 0 : next },
        isChanged: true
      });
    })
  );
});

test.each([
  [{ amount: 400, to: "Grace" }, { amount: "40" }, { amount: 40, to: "Grace" }],
  [{ isUrgent: false }, { isUrgent: "true" }, { isUrgent: true }],
  [{ lines: [1] }, { lines: "[1, 2]" }, { lines: [1, 2] }],
  ["plain", { "": "other" }, "other"],
  [[1, 2], { "": "[3]" }, [3]]
])("%j with %j is %j", (input, changes, expected) => {
  expect(readFields(input, texts(changes))).toEqual({ ok: true, input: expected, isChanged: true });
});

test.each([
  [{ amount: 400 }, { amount: "" }, "amount", "This must be a number."],
  [{ amount: 400 }, { amount: "many" }, "amount", "This must be a number."],
  [{ lines: [1] }, { lines: "[1" }, "lines", "This must be JSON."]
])("%j with %j is not sent", (input, changes, name, problem) => {
  expect(readFields(input, texts(changes))).toEqual({ ok: false, name, problem });
});
