// Which classes the host knows and under which names, and references to them: what `ctx.exports` hands out and facets are
// started with. A reference carries the props its object will see.
import { inprocessErrors } from "./errors.ts";

/** Any Durable Object class; what it takes is checked by the platform's types where users write it. */
export type HostedClass<T extends object = object> = new (ctx: never, env: never) => T;

export class ClassReference {
  readonly objectClass: HostedClass;
  readonly props: unknown;

  constructor(objectClass: HostedClass, props: unknown) {
    this.objectClass = objectClass;
    this.props = props;
  }

  construct(state: object, env: object): object {
    return Reflect.construct(this.objectClass, [state, env]);
  }
}

export class ClassRegistry {
  /** Bound classes by binding name. */
  readonly bindings: ReadonlyMap<string, HostedClass>;
  /** All classes by exported name. */
  readonly exports: ReadonlyMap<string, HostedClass>;

  constructor(agents: Record<string, HostedClass>, others: readonly HostedClass[]) {
    this.bindings = new Map(Object.entries(agents));
    this.exports = new Map([...this.bindings.values(), ...others].map((each) => [each.name, each]));
  }

  isBound(objectClass: HostedClass): boolean {
    return [...this.bindings.values()].includes(objectClass);
  }

  /** The bound class; a test that names another gets an error. */
  requireBound(objectClass: HostedClass): HostedClass {
    if (!this.isBound(objectClass)) throw inprocessErrors.UnknownClass(objectClass.name);
    return objectClass;
  }
}

// Callable references and namespaces are functions, so what they refer to is kept beside them.
const references = new WeakMap<object, ClassReference>();

export function rememberReference<T extends object>(holder: T, reference: ClassReference): T {
  references.set(holder, reference);
  return holder;
}

export function referenceOf(value: unknown): ClassReference | undefined {
  if (value instanceof ClassReference) return value;
  const isHolder = (typeof value === "object" && value !== null) || typeof value === "function";
  return isHolder ? references.get(value) : undefined;
}

/** `ref({ props })` makes a reference with those props; `ref` itself is one without. */
export function callableReference(objectClass: HostedClass): (options?: { props?: unknown }) => ClassReference {
  const make = (options?: { props?: unknown }) => new ClassReference(objectClass, options?.props ?? {});
  return rememberReference(make, make());
}
