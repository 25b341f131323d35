// Whether a JSON schema that a server sent can be handed to a model provider. Providers refuse a whole request because of
// one schema they cannot read, so a schema that lies must cost its own tool and nothing else. Pure.
import { isObject, type Json, stringifyJson } from "../../util/json.ts";
import type { McpSchema } from "./catalog.ts";

/** As JSON text. A tool with a longer schema is left out. */
const MAX_SCHEMA_CHARS = 64 * 1024;
/** Levels of schemas within schemas. */
const MAX_DEPTH = 32;

const TYPES: ReadonlySet<unknown> = new Set(["object", "array", "string", "number", "integer", "boolean", "null"]);
const LISTS = ["anyOf", "oneOf", "allOf", "prefixItems"] as const;
const MAPS = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"] as const;
const SINGLES = ["additionalProperties", "items", "not", "if", "then", "else", "contains", "propertyNames"] as const;

/** What is wrong with the schema of a tool's input or output, or the schema as a provider takes it. */
export type SchemaCheck =
  { readonly ok: true; readonly schema: McpSchema } | { readonly ok: false; readonly problem: string };

export function checkToolSchema(given: unknown): SchemaCheck {
  if (!isObject(given)) return refuse("it is not an object");
  if (given["type"] !== undefined && given["type"] !== "object") return refuse("its type is not object");
  const text = stringifyJson(given);
  if (text === undefined) return refuse("it is not JSON");
  if (text.length > MAX_SCHEMA_CHARS) return refuse(`it is longer than ${MAX_SCHEMA_CHARS} characters`);
  const problem = new SchemaReader(given).problemIn(given, 0);
  if (problem !== undefined) return refuse(problem);
  // It came as JSON and was printed again.
  return { ok: true, schema: { ...(given as Record<string, Json>), type: "object" } };
}

/**
 * The schema of a tool's results, which is also used to check them. Both come from the server, and a pattern of its making
 * can take for ever on a text of its making, so patterns are not part of that check.
 */
export function checkOutputSchema(given: unknown): SchemaCheck {
  const checked = checkToolSchema(given);
  if (!checked.ok) return checked;
  let hasPatternKeys = false;
  const schema = JSON.parse(JSON.stringify(checked.schema), (key, value: unknown) => {
    if (key === "patternProperties") hasPatternKeys = true;
    // A property that is called pattern has a schema, not a text.
    return key === "pattern" && typeof value === "string" ? undefined : value;
  }) as McpSchema;
  return hasPatternKeys ? refuse("it has patternProperties") : { ok: true, schema };
}

function refuse(problem: string): SchemaCheck {
  return { ok: false, problem };
}

class SchemaReader {
  readonly #root: Record<string, unknown>;

  constructor(root: Record<string, unknown>) {
    this.#root = root;
  }

  problemIn(schema: unknown, depth: number): string | undefined {
    if (typeof schema === "boolean") return undefined;
    if (!isObject(schema)) return "one of its parts is not a schema";
    if (depth > MAX_DEPTH) return `it is nested more than ${MAX_DEPTH} levels deep`;
    return this.#keywordProblem(schema) ?? this.#partProblem(schema, depth);
  }

  #keywordProblem(schema: Record<string, unknown>): string | undefined {
    const { type, required, enum: values, $ref, pattern } = schema;
    const types = Array.isArray(type) ? type : [type];
    if (type !== undefined && !types.every((name) => TYPES.has(name))) return "it names a type that does not exist";
    if (required !== undefined && !isStringList(required)) return "its list of required fields is not a list of names";
    if (values !== undefined && (!Array.isArray(values) || values.length === 0))
      return "one of its enums has no values";
    if (pattern !== undefined && !isPattern(pattern)) return "one of its patterns is not a regular expression";
    // A schema elsewhere would have to be fetched by each reader of this one.
    if ($ref !== undefined && !this.#resolves($ref)) return "it refers to a schema that it does not contain";
    return undefined;
  }

  #partProblem(schema: Record<string, unknown>, depth: number): string | undefined {
    const parts: unknown[] = [];
    for (const name of LISTS) {
      const list = schema[name];
      if (list === undefined) continue;
      if (!Array.isArray(list)) return `its ${name} is not a list`;
      parts.push(...list);
    }
    for (const name of MAPS) {
      const map = schema[name];
      if (map === undefined) continue;
      if (!isObject(map)) return `its ${name} are not an object`;
      parts.push(...Object.values(map));
    }
    for (const name of SINGLES) {
      const part = schema[name];
      // Older drafts have a list of schemas here.
      if (part !== undefined) parts.push(...(Array.isArray(part) ? part : [part]));
    }
    for (const part of parts) {
      const problem = this.problemIn(part, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #resolves(reference: unknown): boolean {
    if (typeof reference !== "string" || !/^#(?:\/|$)/.test(reference)) return false;
    let at: unknown = this.#root;
    for (const step of reference.split("/").slice(1)) {
      const key = decode(step);
      if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return false;
      at = Reflect.get(at, key);
    }
    return typeof at === "object" || typeof at === "boolean";
  }
}

/** One step of a JSON pointer in a URL fragment. */
function decode(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return step;
  }
}

function isStringList(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

function isPattern(pattern: unknown): boolean {
  if (typeof pattern !== "string") return false;
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}
