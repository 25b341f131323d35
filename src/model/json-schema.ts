// A JSON schema in the form in which tools of the AI SDK carry it, without the SDK: agents that make tools and have no
// conversation do not load it. The same in both majors; `json-schema.test.ts` compares.
import type { JSONSchema7, Schema } from "ai";

/** Registered by the SDK, so that its copies agree on it. */
const SCHEMA = Symbol.for("vercel.ai.schema");

/** As the SDK's `jsonSchema()`: nothing is validated. */
export function plainJsonSchema(schema: object): Schema {
  const made = { [SCHEMA]: true, _type: undefined, jsonSchema: schema as JSONSchema7, validate: undefined };
  // The SDK's symbol has a type of its own, and its type of a schema knows fewer keywords than there are.
  return made as object as Schema;
}
