// Every method a user declares runs in its agent's context, however it was entered. A call over RPC arrives with no
// context: it enters the object first, so a cold object is started before any of the user's code runs.
import { copyMark, markListed, type Callables } from "../feature/callable.ts";

type Method = (this: object, ...args: unknown[]) => unknown;
/** Runs `call` for `instance`: at once if its context is current, else through the object's entry. */
export type Enter = (instance: object, call: () => unknown) => unknown;

const wrapped = new WeakSet<object>();

/** Wraps the prototypes between an instance and `base`, each class once. */
export function wrapUserMethods(instance: object, base: object, enter: Enter): void {
  for (let level = Object.getPrototypeOf(instance); level && level !== base; level = Object.getPrototypeOf(level)) {
    if (wrapped.has(level)) return;
    wrapped.add(level);
    const listed: unknown = Object.hasOwn(level.constructor, "callables") ? level.constructor.callables : undefined;
    markListed(level, listed as Callables | undefined);
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      if (!isUserMethod(name, descriptor, base)) continue;
      Object.defineProperty(level, name, { ...descriptor, value: wrap(descriptor.value, enter) });
    }
  }
}

function isUserMethod(name: string, descriptor: PropertyDescriptor, base: object): boolean {
  return (
    typeof descriptor.value === "function" &&
    descriptor.configurable === true &&
    name !== "constructor" &&
    !name.startsWith("_") &&
    !(name in base)
  );
}

function wrap(method: Method, enter: Enter): Method {
  const entered = function (this: object, ...args: unknown[]): unknown {
    return enter(this, () => method.apply(this, args));
  };
  Object.defineProperty(entered, "name", { value: method.name, configurable: true });
  Object.defineProperty(entered, "length", { value: method.length, configurable: true });
  copyMark(method, entered);
  return entered;
}
