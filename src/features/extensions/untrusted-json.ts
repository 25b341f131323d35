// JSON that code of an isolate wrote. Names that reach a prototype when a value is merged into another are left out.

const SUSPICIOUS = /proto|constructor|\\u/i;

/** Throws for a text that is not JSON. */
export function parseUntrusted(text: string): unknown {
  return SUSPICIOUS.test(text) ? (JSON.parse(text, withoutPrototypes) as unknown) : (JSON.parse(text) as unknown);
}

function withoutPrototypes(this: unknown, key: string, value: unknown): unknown {
  if (key === "__proto__") return undefined;
  const reachesPrototype =
    key === "constructor" && typeof value === "object" && value !== null && Object.hasOwn(value, "prototype");
  return reachesPrototype ? undefined : value;
}
