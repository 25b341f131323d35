// A recorded call must show what the model was asked at that moment, whatever the agent does to its objects later.

/**
 * A deep copy that cannot be changed. Bytes, dates and URLs are copied but cannot be frozen; functions and other
 * class instances are kept as they are.
 */
export function frozenCopy<T>(value: T): T {
  // The copy has the same shape as the value; TypeScript cannot follow that through the recursion.
  return copy(value, new Map()) as T;
}

function copy(value: unknown, seen: Map<object, unknown>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  if (value instanceof Uint8Array) return value.slice();
  if (value instanceof Date) return new Date(value);
  if (value instanceof URL) return new URL(value);
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    seen.set(value, list);
    for (const item of value) list.push(copy(item, seen));
    return Object.freeze(list);
  }
  if (!isPlain(value)) return value;
  const record: Record<string, unknown> = {};
  seen.set(value, record);
  for (const [key, item] of Object.entries(value)) record[key] = copy(item, seen);
  return Object.freeze(record);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
