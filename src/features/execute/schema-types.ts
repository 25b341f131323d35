// A TypeScript type for a schema, short enough for a prompt. Pure.
import { asSchema } from "ai";
import { isObject } from "../../util/json.ts";

const MAX_DEPTH = 5;
const MAX_TYPE_CHARS = 2_000;

/** Of anything the AI SDK takes as a schema, or of JSON Schema as an object; `unknown` where it cannot be read. */
export function typeText(schema: unknown): string {
  const text = typeOf(jsonSchemaOf(schema), 0);
  return text.length <= MAX_TYPE_CHARS ? text : "unknown";
}

/** What the AI SDK would send to a provider. */
export function jsonSchemaOf(schema: unknown): unknown {
  if (!isObject(schema)) return undefined;
  if (isJsonSchema(schema)) return schema;
  try {
    return asSchema(schema as never).jsonSchema;
  } catch {
    // A type for the prompt is not worth a failed turn.
    return undefined;
  }
}

/** JSON Schema as an object, and nothing that the AI SDK would have to read. */
export function isJsonSchema(schema: unknown): schema is Record<string, unknown> {
  return isObject(schema) && !("~standard" in schema) && !("jsonSchema" in schema) && !("validate" in schema);
}

function typeOf(schema: unknown, depth: number): string {
  if (!isObject(schema) || depth > MAX_DEPTH) return "unknown";
  if (Array.isArray(schema["enum"])) return schema["enum"].map((one) => JSON.stringify(one)).join(" | ");
  if ("const" in schema) return JSON.stringify(schema["const"]);
  const variants = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(variants)) return variants.map((one) => typeOf(one, depth + 1)).join(" | ");
  if (Array.isArray(schema["allOf"]))
    return schema["allOf"].map((one) => bracketed(typeOf(one, depth + 1))).join(" & ");
  const { type } = schema;
  if (Array.isArray(type)) return type.map((one) => typeOf({ ...schema, type: one }, depth + 1)).join(" | ");
  switch (type) {
    case "string":
      return "string";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    case "array":
      return `${bracketed(typeOf(schema["items"], depth + 1))}[]`;
    default:
      if (isObject(schema["properties"])) return objectType(schema, depth);
      if (isObject(schema["additionalProperties"]))
        return `Record<string, ${typeOf(schema["additionalProperties"], depth + 1)}>`;
      return type === "object" ? "object" : "unknown";
  }
}

function objectType(schema: Record<string, unknown>, depth: number): string {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required: unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const fields = Object.entries(properties).map(([name, one]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    return `${key}${required.includes(name) ? "" : "?"}: ${typeOf(one, depth + 1)}`;
  });
  return fields.length === 0 ? "{}" : `{ ${fields.join("; ")} }`;
}

function bracketed(type: string): string {
  return type.includes(" | ") ? `(${type})` : type;
}
