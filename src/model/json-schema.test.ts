// The SDK's own function is the measure: what either major makes of a JSON schema, and takes for one.
import * as ai7 from "ai";
import * as ai6 from "ai6";
import { expect, test } from "vitest";
import { plainJsonSchema } from "./json-schema.ts";

const schema = { type: "object", properties: { city: { type: "string" } } } as const;

test.each([
  ["7", ai7],
  ["6", ai6]
])("a schema made without the SDK is what ai %s would have made, and is taken as it is", (_major, ai) => {
  const made = plainJsonSchema(schema);
  expect(made).toEqual(ai.jsonSchema(schema));
  expect(Reflect.ownKeys(made).toSorted(byText)).toEqual(Reflect.ownKeys(ai.jsonSchema(schema)).toSorted(byText));
  expect(ai.asSchema(made as never)).toBe(made);
});

const byText = (a: string | symbol, b: string | symbol) => String(a).localeCompare(String(b));
