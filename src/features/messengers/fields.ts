// Fields of what a provider sends: any of them may be missing, or of another type.
import { isObject, parseJson } from "../../util/json.ts";

export type Fields = Record<string, unknown>;

/** Reads a value as an object; any other value has no fields. */
export function readFields(value: unknown): Fields {
  return isObject(value) ? value : {};
}

/** Reads a value as a list; any other value is an empty one. */
export function readList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Reads a value as a text; any other value is an empty one. */
export function readString(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Reads a value as a time. Undefined for any other value. */
export function readTime(value: unknown): Date | undefined {
  const time = new Date(readString(value));
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/** Parses a body; one that is no JSON object has no fields. */
export function parseFields(body: string): Fields {
  const parsed = parseJson(body);
  return parsed.ok ? readFields(parsed.value) : {};
}
