// JSON at the edges: parsing never throws, and equal values always print alike.
import { err, ok, type Result } from "./result.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export function parseJson(text: string): Result<unknown> {
  try {
    return ok(JSON.parse(text));
  } catch (error) {
    return err(error instanceof Error ? error.message : "invalid JSON");
  }
}

/** How deep `isPlainJson` looks: deeper values, and loops, count as something else. */
const MAX_PLAIN_DEPTH = 64;

/** Whether a value is the same before and after JSON, apart from fields that are undefined. */
export function isPlainJson(value: unknown, depth = 0): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return true;
    case "number":
      return Number.isFinite(value);
    case "object":
      return value === null || (depth < MAX_PLAIN_DEPTH && holdsPlainJson(value, depth));
    default:
      return false;
  }
}

function holdsPlainJson(value: object, depth: number): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === Object.prototype || prototype === null || prototype === Array.prototype;
  return isPlain && !("toJSON" in value) && Object.values(value).every((inner) => isPlainJson(inner, depth + 1));
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Lists the texts of a list. What is no list has none. */
export function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** Undefined for what JSON cannot hold: a loop, a big integer, a function. */
export function stringifyJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Key order does not matter: two equal values give the same text, so it can serve as a key. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner
  );
}

/** Whether two values are the same JSON, whatever the order of keys; what is undefined is not there. Prints neither. */
export function sameJson(first: unknown, second: unknown): boolean {
  if (first === second) return true;
  if (Array.isArray(first)) {
    return (
      Array.isArray(second) &&
      first.length === second.length &&
      first.every((inner, index) => sameJson(inner, second[index]))
    );
  }
  if (!isObject(first) || !isObject(second)) return false;
  const keys = definedKeys(first);
  return (
    keys.length === definedKeys(second).length &&
    keys.every((key) => Object.hasOwn(second, key) && sameJson(first[key], second[key]))
  );
}

function definedKeys(value: Record<string, unknown>): string[] {
  const keys = Object.keys(value);
  return keys.every((key) => value[key] !== undefined) ? keys : keys.filter((key) => value[key] !== undefined);
}

/** The body is declared as JSON. A form of another site's page can send every other type without the browser asking first. */
export function isJsonRequest({ headers }: Pick<Request, "headers">): boolean {
  return /^application\/json\s*(?:;|$)/i.test(headers.get("Content-Type") ?? "");
}

/** Of answers that no cache may keep. */
export const NO_STORE = { "Cache-Control": "no-store" };

/** An answer as JSON that no cache keeps. */
export function jsonResponse(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return Response.json(value, { status, headers: { ...NO_STORE, ...headers } });
}
