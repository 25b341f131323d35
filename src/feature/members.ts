// The public names of a capability: a class of its own, whose methods are put on the agent's prototype once and whose
// fields every instance gets before the fields of its own class. TypeScript sees them by an interface that is merged into the
// agent's class, so that they are overridden, called with `super` and hovered over as if they were written there.
import { markListed, type Callables } from "./callable.ts";
import type { Capability } from "./capability.ts";
import { servicesOf } from "./services.ts";

/** `this` of its methods is the agent. It has no base, and its constructor gets the agent that its fields are for. */
export interface MembersClass<Members extends object = object> {
  new (agent: object): Members;
  readonly prototype: object;
  readonly name: string;
  /** Methods that change the conversation, or decide over it: refused when a readonly client is behind the call. */
  readonly changes?: readonly string[];
  /** What clients may call. A class that overrides one of these lists it again. */
  readonly callables?: Callables;
}

interface AgentClass {
  readonly prototype: object;
  readonly name: string;
}

type Method = (this: object, ...args: unknown[]) => unknown;

/** What each class of the package has been given, its own only. */
const installed = new WeakMap<object, readonly Capability[]>();

/** Gives a class its capabilities. Throws a TypeError for a name that is there already. */
export function install(target: AgentClass, capabilities: readonly Capability[]): void {
  const { prototype } = target;
  for (const { members } of capabilities) {
    if (!members) continue;
    const { prototype: given, changes = [], callables, name: from } = members;
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(given))) {
      if (name === "constructor") continue;
      if (Object.hasOwn(prototype, name)) throw new TypeError(`${target.name} has "${name}" already: see ${from}.`);
      Object.defineProperty(prototype, name, changes.includes(name) ? checked(descriptor) : descriptor);
    }
    markListed(prototype, callables);
  }
  installed.set(prototype, capabilities);
}

/** Those of the agent's class, of the base class first. */
export function capabilitiesOf(agent: object): Capability[] {
  return capabilitiesOfClass({ prototype: Object.getPrototypeOf(agent) });
}

export function capabilitiesOfClass({ prototype }: { readonly prototype: object }): Capability[] {
  const levels: (readonly Capability[])[] = [];
  for (let level = prototype; level; level = Object.getPrototypeOf(level)) {
    levels.unshift(installed.get(level) ?? []);
  }
  return levels.flat();
}

/** Gives a new agent the fields of its members, those of the base class first. */
export function giveFields(agent: object): void {
  for (const { members: Members } of capabilitiesOf(agent)) if (Members) Object.assign(agent, new Members(agent));
}

/** Says that a class is the package's: its methods are defaults. `changes` is as for MembersClass. */
export function markAsOwn({ prototype, name: from }: AgentClass, changes: readonly string[]): void {
  installed.set(prototype, []);
  for (const name of changes) {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
    if (typeof descriptor?.value !== "function") throw new TypeError(`${from} has no method "${name}".`);
    Object.defineProperty(prototype, name, checked(descriptor));
  }
}

/** Whether the agent's class, and no class of the package, has this method. */
export function isOverridden(agent: object, name: string): boolean {
  for (let level = agent; level && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    if (Object.hasOwn(level, name)) return !installed.has(level);
  }
  return false;
}

/** A promise where the method's callers expect one. */
function checked(descriptor: PropertyDescriptor): PropertyDescriptor {
  const method = descriptor.value as Method;
  const value = isAsync(method)
    ? async function (this: object, ...args: unknown[]): Promise<unknown> {
        servicesOf(this).assertCallerMayChange();
        return method.apply(this, args);
      }
    : function (this: object, ...args: unknown[]): unknown {
        servicesOf(this).assertCallerMayChange();
        return method.apply(this, args);
      };
  Object.defineProperty(value, "name", { value: method.name, configurable: true });
  Object.defineProperty(value, "length", { value: method.length, configurable: true });
  return { ...descriptor, value };
}

function isAsync(method: Method): boolean {
  return Object.prototype.toString.call(method) === "[object AsyncFunction]";
}
