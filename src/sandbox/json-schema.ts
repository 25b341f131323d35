// Checks a value against JSON Schema, as far as descriptions of tools use it: types, required fields, enumerations, lists,
// alternatives, lengths and ranges. What it does not know it does not refuse.
import { isObject, sameJson } from "../util/json.ts";

const MAX_DEPTH = 50;
const START: SchemaPlace = { path: "input", depth: 0 };

/** What is wrong, with the path of the value; undefined: nothing. */
export function schemaProblem(schema: unknown, value: unknown, at: SchemaPlace = START): string | undefined {
  const { path, depth } = at;
  if (!isObject(schema) || depth > MAX_DEPTH) return undefined;
  const { type } = schema;
  if (Array.isArray(schema["enum"]) && !schema["enum"].some((one) => sameJson(one, value)))
    return `${path} must be one of ${JSON.stringify(schema["enum"]).slice(0, 200)}`;
  if ("const" in schema && !sameJson(schema["const"], value))
    return `${path} must be ${JSON.stringify(schema["const"])}`;
  const variants = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(variants)) {
    const problems = variants.map((one) => schemaProblem(one, value, { path, depth: depth + 1 }));
    if (!problems.includes(undefined)) return problems[0];
  }
  const types = Array.isArray(type) ? type : type === undefined ? [] : [type];
  if (types.length > 0 && !types.some((one) => isOfType(one, value))) return `${path} must be ${types.join(" or ")}`;
  return (
    boundsProblem(schema, value, path) ??
    (Array.isArray(value) ? itemsProblem(schema, value, { path, depth }) : undefined) ??
    (isPlainObject(value) ? fieldsProblem(schema, value, { path, depth }) : undefined)
  );
}

/** Where in the value. */
export interface SchemaPlace {
  readonly path: string;
  readonly depth: number;
}

function itemsProblem(
  schema: Record<string, unknown>,
  value: unknown[],
  { path, depth }: SchemaPlace
): string | undefined {
  for (const [index, one] of value.entries()) {
    const problem = schemaProblem(schema["items"], one, { path: `${path}[${index}]`, depth: depth + 1 });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function fieldsProblem(
  schema: Record<string, unknown>,
  value: Record<string, unknown>,
  { path, depth }: SchemaPlace
): string | undefined {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required: unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  for (const name of required) {
    if (typeof name === "string" && (!Object.hasOwn(value, name) || value[name] === undefined))
      return `${path}.${name} is missing`;
  }
  for (const [name, one] of Object.entries(value)) {
    const isKnown = Object.hasOwn(properties, name);
    if (!isKnown && schema["additionalProperties"] === false) return `${path}.${name} is not expected`;
    const problem =
      isKnown && one !== undefined
        ? schemaProblem(properties[name], one, { path: `${path}.${name}`, depth: depth + 1 })
        : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function boundsProblem(schema: Record<string, unknown>, value: unknown, path: string): string | undefined {
  const size = typeof value === "number" ? value : typeof value === "string" || Array.isArray(value) ? value.length : 0;
  const [low, high] =
    typeof value === "number"
      ? [schema["minimum"], schema["maximum"]]
      : typeof value === "string"
        ? [schema["minLength"], schema["maxLength"]]
        : Array.isArray(value)
          ? [schema["minItems"], schema["maxItems"]]
          : [];
  const what = typeof value === "number" ? "" : typeof value === "string" ? " characters long" : " items long";
  if (typeof low === "number" && size < low) return `${path} must be at least ${low}${what}`;
  if (typeof high === "number" && size > high) return `${path} must be at most ${high}${what}`;
  return undefined;
}

function isOfType(type: unknown, value: unknown): boolean {
  switch (type) {
    case "object":
      return isPlainObject(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "number":
      return typeof value === "number" && Number.isFinite(value);
    case "null":
      return value === null;
    default:
      return typeof value === type;
  }
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !Array.isArray(value);
}
