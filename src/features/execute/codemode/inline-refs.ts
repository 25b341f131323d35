// Schemas without references: what a local `$ref` names is put in its place. A reference that leads back to itself, one to
// another document, and what is beyond the limit become `{}`, which allows anything. Pure.
import { decodePercent } from "../../../util/decode-percent.ts";
import { isObject } from "../../../util/json.ts";

/** Objects and lists of one schema. */
const MAX_NODES = 2_000;

export function inlineRefs(schema: unknown, root: unknown): unknown {
  let nodes = 0;
  const inlined = (value: unknown, open: readonly string[]): unknown => {
    if (typeof value !== "object" || value === null) return value;
    nodes += 1;
    if (nodes > MAX_NODES) return {};
    if (Array.isArray(value)) return value.map((one) => inlined(one, open));
    const reference: unknown = Reflect.get(value, "$ref");
    if (typeof reference !== "string") {
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inlined(one, open)]));
    }
    if (open.includes(reference)) return {};
    const found = inlined(referenced(root, reference), [...open, reference]);
    return isObject(found) ? found : {};
  };
  return inlined(schema, []);
}

/** What a reference into the document names; undefined: nothing, or another document. */
export function referenced(root: unknown, reference: string): unknown {
  if (!reference.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    const key = (decodePercent(step) ?? step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = Reflect.get(at, key);
  }
  return at;
}
