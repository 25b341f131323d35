// Inputs of the tools: one table of fields says what the model reads and what is checked. A number written as text is
// taken as the number, because models do that.
import { jsonSchema } from "ai";

export interface Field {
  readonly type: "string" | "integer" | "boolean";
  readonly description: string;
  readonly isOptional?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
}

type Fields = Readonly<Record<string, Field>>;

/** Makes the schema of an input from its fields. */
export function toolInput<Input extends object>(fields: { readonly [Name in keyof Required<Input>]: Field }) {
  const entries = Object.entries<Field>(fields);
  return jsonSchema<Input>(
    {
      type: "object",
      properties: Object.fromEntries(entries.map(([name, { isOptional: _isOptional, ...schema }]) => [name, schema])),
      required: entries.filter(([, field]) => field.isOptional !== true).map(([name]) => name),
      additionalProperties: false
    },
    {
      validate: (value) => {
        const checked = check(value, fields);
        // Every field was checked against the table that describes the type.
        return typeof checked === "string"
          ? { success: false, error: new TypeError(checked) }
          : { success: true, value: checked as Input };
      }
    }
  );
}

/** Checks an input. Returns it with its fields as their types say, or the text of what is wrong with it. */
function check(value: unknown, fields: Fields): object | string {
  if (typeof value !== "object" || value === null) return "The input must be an object.";
  const result: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const given = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
    // Some models write null where they mean nothing.
    if (given === undefined || given === null) {
      if (field.isOptional !== true) return `"${name}" is missing.`;
      continue;
    }
    const checked = checkField(given, field);
    if (checked === undefined) return `"${name}" must be ${describeField(field)}.`;
    result[name] = checked;
  }
  return result;
}

function checkField(given: unknown, field: Field): string | number | boolean | undefined {
  switch (field.type) {
    case "string":
      return typeof given === "string" ? given : undefined;
    case "boolean":
      return typeof given === "boolean" ? given : given === "true" ? true : given === "false" ? false : undefined;
    case "integer": {
      const number = typeof given === "string" && given.trim() !== "" ? Number(given) : given;
      const { minimum = -Infinity, maximum = Infinity } = field;
      return typeof number === "number" && Number.isInteger(number) && number >= minimum && number <= maximum
        ? number
        : undefined;
    }
  }
}

function describeField({ type, minimum, maximum }: Field): string {
  if (type !== "integer") return type === "string" ? "a text" : "true or false";
  const bounds = [minimum !== undefined && `from ${minimum}`, maximum !== undefined && `to ${maximum}`].filter(Boolean);
  return ["a whole number", ...bounds].join(" ");
}
