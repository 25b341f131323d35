// A JSON copy of any value, by the rules of JSON.stringify with two additions: a bigint becomes "<n>n", and an object
// inside itself becomes "[Circular]". Only true cycles are: an object that is merely shared is copied at each place.
// What cannot be copied (a getter or toJSON that throws, too many values) is an error, not a throw. Pure.
import { sha256 } from "../../host/blobs.ts";
import { errorMessage } from "../../util/errors.ts";
import { canonicalJson, type Json } from "../../util/json.ts";
import { err, ok, type Result } from "../../util/result.ts";
import { actionErrors } from "./errors.ts";

/** Values in one copy: shared objects multiply, and a few hundred bytes of them can stand for terabytes. */
export const MAX_COPIED_VALUES = 1_000_000;

/** `undefined` and functions have no JSON: they are copied as undefined. */
export function jsonCopy(value: unknown): Result<Json | undefined> {
  try {
    return ok(new Copier().copy(value, ""));
  } catch (error) {
    // Also the RangeError of a value nested deeper than the stack.
    return err(describe(error));
  }
}

/** The copy as text; undefined for what has no JSON. */
export function jsonText(value: unknown): Result<string | undefined> {
  const copied = jsonCopy(value);
  return copied.ok ? ok(JSON.stringify(copied.value)) : copied;
}

class Copier {
  readonly #ancestors = new Set<object>();
  #left = MAX_COPIED_VALUES;

  copy(original: unknown, key: string): Json | undefined {
    if (--this.#left < 0) throw new Error(`it has more than ${MAX_COPIED_VALUES} values`);
    const value = unboxed(replaced(original, key));
    switch (typeof value) {
      case "string":
      case "boolean":
        return value;
      case "number":
        // JSON has no negative zero, and adding zero takes its sign.
        return Number.isFinite(value) ? value + 0 : null;
      case "bigint":
        return `${value}n`;
      case "object":
        return value === null ? null : this.#enter(value);
      default:
        return undefined;
    }
  }

  #enter(value: object): Json {
    if (this.#ancestors.has(value)) return "[Circular]";
    this.#ancestors.add(value);
    const copied = Array.isArray(value) ? this.#list(value) : this.#object(value);
    this.#ancestors.delete(value);
    return copied;
  }

  #list(list: readonly unknown[]): Json[] {
    return Array.from(list, (item, index) => this.copy(item, String(index)) ?? null);
  }

  #object(object: object): { [key: string]: Json } {
    const copied: { [key: string]: Json } = {};
    for (const key of Object.keys(object)) {
      const value = this.copy(Reflect.get(object, key), key);
      if (value === undefined) continue;
      // Assigning "__proto__" would change the copy's prototype instead of giving it a key.
      Object.defineProperty(copied, key, { value, writable: true, enumerable: true, configurable: true });
    }
    return copied;
  }
}

/** What the value says stands for it. */
function replaced(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !("toJSON" in value)) return value;
  const { toJSON } = value;
  return typeof toJSON === "function" ? Reflect.apply(toJSON, value, [key]) : value;
}

function unboxed(value: unknown): unknown {
  const isBox =
    value instanceof Number || value instanceof String || value instanceof Boolean || value instanceof BigInt;
  return isBox ? value.valueOf() : value;
}

function describe(error: unknown): string {
  try {
    return errorMessage(error);
  } catch {
    return "it cannot be read";
  }
}

/** The input as JSON text that does not depend on the order of its keys, and its hash. Throws ActionPolicyError for an input that has no JSON. */
export function hashedInput(action: string, input: unknown): { text: string; hash: string } {
  const copied = jsonCopy(input);
  if (!copied.ok) throw actionErrors.ActionPolicyError(action, `its input has no JSON (${copied.error})`);
  const text = canonicalJson(copied.value ?? null);
  return { text, hash: sha256(text) };
}
