import fc from "fast-check";
import { expect, test } from "vitest";
import { fieldsOf, valueOf } from "./schema-form.ts";

const schema = {
  type: "object",
  required: ["at", "count", "shape"],
  properties: {
    at: { type: "string", description: "Where." },
    count: { type: "integer" },
    price: { type: "number" },
    isOpen: { type: "boolean" },
    size: { enum: ["small", 2, null] },
    shape: { type: "array", items: { type: "string" } },
    note: { type: "string", maxLength: 5000 }
  }
};
const fields = fieldsOf(schema) ?? [];

test("a form has a field for each property, of its kind", () => {
  expect(fields.map(({ name, kind, isRequired }) => [name, kind, isRequired])).toEqual([
    ["at", "text", true],
    ["count", "integer", true],
    ["price", "number", false],
    ["isOpen", "boolean", false],
    ["size", "choice", false],
    ["shape", "json", true],
    ["note", "long-text", false]
  ]);
  expect(fields[0]?.description).toBe("Where.");
  expect(fields[4]?.choices).toEqual(['"small"', "2", "null"]);
});

test("what was typed becomes the input; what is empty and not required is left out", () => {
  const typed = { at: "sea", count: "3", price: "", isOpen: "true", size: "2", shape: '["a"]' };
  expect(valueOf(fields, typed)).toEqual({
    ok: true,
    value: { at: "sea", count: 3, isOpen: true, size: 2, shape: ["a"] }
  });
});

test.each([
  [{ count: "3.5", shape: "[]" }, "count: it is not a whole number"],
  [{ count: "", shape: "[]" }, "count: it is not a whole number"],
  [{ count: "1", shape: "[" }, "shape: it is not JSON"],
  [{ count: "1" }, "shape: it is not JSON"],
  [{ count: "1", shape: "[]", price: "x" }, "price: it is not a number"]
])("of %j it is said what is wrong", (typed, error) => {
  expect(valueOf(fields, { at: "", ...typed } as Record<string, string>)).toEqual({ ok: false, error });
});

test("a schema that is not an object of fields has no form", () => {
  for (const other of [null, true, {}, { type: "string" }, { type: "object", properties: [] }, { anyOf: [] }])
    expect(fieldsOf(other)).toBeUndefined();
});

test("texts come through as they are, under every name", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.string(), { maxKeys: 8 }), (texts) => {
      const properties = Object.fromEntries(Object.keys(texts).map((name) => [name, { type: "string" }]));
      const read = valueOf(fieldsOf({ type: "object", properties, required: Object.keys(texts) }) ?? [], texts);
      expect(read.ok && Object.entries(read.value as object)).toEqual(
        Object.entries(properties).map(([name]) => [name, texts[name]])
      );
    })
  );
});
