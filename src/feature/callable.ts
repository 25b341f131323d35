// Which methods a client may call. The mark belongs to the function itself: an override is callable only if it is
// marked again, and what `getCallableMethods` reports is exactly what a call would find.

export interface CallableMetadata {
  /** For pages and tools that list the methods. */
  description?: string;
  /** The method gets a `StreamingResponse` before its arguments. */
  streaming?: boolean;
}

type Method = (...args: never[]) => unknown;

const marks = new WeakMap<object, CallableMetadata>();

/**
 * Marks a method as callable by clients. Works as a TC39 decorator and as a legacy TypeScript one.
 * Without decorators, list the names instead: `static callables = ["increment"]`.
 *
 * @example
 * class Counter extends Agent {
 *   @callable({ description: "Adds one" })
 *   increment() { return 1; }
 * }
 */
export function callable(metadata: CallableMetadata = {}) {
  return function mark(target: unknown, context: unknown, descriptor?: PropertyDescriptor): void {
    const method: unknown = descriptor ? descriptor.value : target;
    if (typeof method !== "function") {
      const name = typeof context === "string" ? context : "this member";
      throw new TypeError(`@callable() marks methods only; ${name} is not one.`);
    }
    marks.set(method, metadata);
  };
}

export function callableMetadata(method: unknown): CallableMetadata | undefined {
  return typeof method === "function" ? marks.get(method) : undefined;
}

/** Carries a mark over to the function that stands in for a marked one. */
export function copyMark(from: Method, to: Method): void {
  const metadata = marks.get(from);
  if (metadata) marks.set(to, metadata);
}

/** `static callables`: names, or names with metadata. */
export type Callables = readonly string[] | Readonly<Record<string, CallableMetadata>>;

/** Marks the methods a class lists in its own `static callables`. */
export function markListed(prototype: object, listed: Callables | undefined): void {
  if (!listed) return;
  const entries: [string, CallableMetadata][] = Array.isArray(listed)
    ? listed.map((name: string) => [name, {}])
    : Object.entries(listed as Readonly<Record<string, CallableMetadata>>);
  for (const [name, metadata] of entries) {
    const method: unknown = Reflect.get(prototype, name);
    // A mark on what every object inherits would make it callable on every class.
    if (typeof method !== "function" || method === Reflect.get(Object.prototype, name)) {
      throw new TypeError(`static callables lists "${name}", but the class has no such method.`);
    }
    // An inherited method is shared with other classes, which have not listed it: this class gets one of its own.
    const own = Object.hasOwn(prototype, name) ? method : ownMethod(prototype, name, method as Method);
    marks.set(own, metadata);
  }
}

function ownMethod(prototype: object, name: string, inherited: Method): Method {
  const method = function (this: object, ...args: never[]): unknown {
    return inherited.apply(this, args);
  };
  Object.defineProperty(method, "name", { value: name, configurable: true });
  Object.defineProperty(prototype, name, { value: method, configurable: true, writable: true });
  return method;
}

/** Every callable method of an instance, its own and inherited ones; the nearest definition decides. */
export function listCallables(instance: object): Map<string, CallableMetadata> {
  const found = new Map<string, CallableMetadata>();
  const seen = new Set<string>();
  for (let level = instance; level && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      if (seen.has(name)) continue;
      seen.add(name);
      const metadata = callableMetadata(value);
      if (metadata) found.set(name, metadata);
    }
  }
  return found;
}
