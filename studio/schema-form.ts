// A form from a JSON schema: which fields it has, and the value that was typed. What a form has no field for is typed as JSON.
// Pure.

export type FieldKind = "text" | "long-text" | "number" | "integer" | "boolean" | "choice" | "json";

export interface FormField {
  readonly name: string;
  readonly kind: FieldKind;
  readonly isRequired: boolean;
  readonly description: string;
  /** Of a choice, as JSON. */
  readonly choices: readonly string[];
}

const MAX_FIELDS = 60;

/** Undefined: it is no object of named fields, so the whole input is typed as JSON. */
export function fieldsOf(schema: unknown): readonly FormField[] | undefined {
  if (!isObject(schema) || schema["type"] !== "object") return undefined;
  const { properties = {}, required = [] } = schema;
  if (!isObject(properties)) return undefined;
  const entries = Object.entries(properties);
  if (entries.length > MAX_FIELDS) return undefined;
  return entries.map(([name, field]) => ({
    name,
    ...kindOf(field),
    isRequired: Array.isArray(required) && required.includes(name),
    description: isObject(field) && typeof field["description"] === "string" ? field["description"] : ""
  }));
}

function kindOf(field: unknown): Pick<FormField, "kind" | "choices"> {
  if (!isObject(field)) return { kind: "json", choices: [] };
  const { type, enum: choices, maxLength } = field;
  if (Array.isArray(choices) && choices.length > 0)
    return { kind: "choice", choices: choices.map((choice) => JSON.stringify(choice) ?? "null") };
  if (type === "string")
    return { kind: typeof maxLength === "number" && maxLength > 200 ? "long-text" : "text", choices: [] };
  if (type === "number" || type === "integer" || type === "boolean") return { kind: type, choices: [] };
  return { kind: "json", choices: [] };
}

export type Read = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: string };

/** What was typed, by field; a field that is not required and empty is left out. */
export function valueOf(fields: readonly FormField[], typed: Readonly<Record<string, string>>): Read {
  const value: Record<string, unknown> = {};
  for (const field of fields) {
    const text = Object.hasOwn(typed, field.name) ? (typed[field.name] ?? "") : "";
    const isLeftOut = text === "" && (!field.isRequired || field.kind !== "text");
    if (isLeftOut && !field.isRequired) continue;
    const read = readField(field, text);
    if (!read.ok) return { ok: false, error: `${field.name}: ${read.error}` };
    Object.defineProperty(value, field.name, {
      value: read.value,
      enumerable: true,
      configurable: true,
      writable: true
    });
  }
  return { ok: true, value };
}

function readField({ kind }: FormField, text: string): Read {
  switch (kind) {
    case "text":
    case "long-text":
      return { ok: true, value: text };
    case "boolean":
      return { ok: true, value: text === "true" };
    case "number":
    case "integer": {
      const number = Number(text);
      const isNumber = text.trim() !== "" && Number.isFinite(number) && (kind === "number" || Number.isInteger(number));
      return isNumber
        ? { ok: true, value: number }
        : { ok: false, error: `it is not ${kind === "integer" ? "a whole" : "a"} number` };
    }
    default:
      return parseTyped(text);
  }
}

export function parseTyped(text: string): Read {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    // That is how a parser says so.
    return { ok: false, error: "it is not JSON" };
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
