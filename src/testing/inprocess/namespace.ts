// Bindings: namespaces of bound classes, the `env` and the `ctx.exports` that hold them. Each is made for one party, so
// that a call knows who makes it and a dead object's calls go nowhere.
import { callableReference, type HostedClass, rememberReference } from "./class-registry.ts";
import type { Engine } from "./engine.ts";
import { ObjectId } from "./object-id.ts";
import { objectStub } from "./object-stub.ts";
import type { Party } from "./party.ts";
import { markStub } from "./stub-kind.ts";

class NamespaceFake {
  readonly #engine: Engine;
  readonly #party: Party;
  readonly #objectClass: HostedClass;

  constructor(engine: Engine, party: Party, objectClass: HostedClass) {
    this.#engine = engine;
    this.#party = party;
    this.#objectClass = objectClass;
  }

  idFromName = (name: string): ObjectId => ObjectId.fromName(this.#objectClass.name, String(name));

  idFromString = (text: string): ObjectId => ObjectId.fromText(this.#objectClass.name, text);

  newUniqueId = (): ObjectId => ObjectId.unique(this.#objectClass.name, (digits) => this.#engine.ids.hex(digits));

  get = (id: unknown): object => {
    if (!(id instanceof ObjectId)) {
      throw new TypeError(
        "Failed to execute 'get' on 'DurableObjectNamespace': parameter 1 is not of type 'DurableObjectId'."
      );
    }
    if (!id.belongsTo(this.#objectClass.name)) {
      throw new TypeError("get called on DurableObjectId that is not valid for this namespace.");
    }
    const target = this.#engine.record(this.#objectClass, id);
    return objectStub({ caller: () => this.#party, target, id });
  };

  getByName = (name: string): object => this.get(this.idFromName(name));

  /** One machine: every jurisdiction is here, and ids do not differ by it. */
  jurisdiction = (): this => this;
}

export function createNamespace(engine: Engine, party: Party, objectClass: HostedClass): object {
  return markStub(new NamespaceFake(engine, party, objectClass), { type: "namespace" });
}

export function createEnv(engine: Engine, party: Party): Record<string, unknown> {
  const env: Record<string, unknown> = { ...engine.variables };
  for (const [name, objectClass] of engine.classes.bindings) env[name] = createNamespace(engine, party, objectClass);
  return env;
}

/** Bound classes are namespaces that can also be called for a reference; the others are references only. */
export function createExports(engine: Engine, party: Party): Record<string, unknown> {
  const exports: Record<string, unknown> = {};
  for (const [name, objectClass] of engine.classes.exports) {
    const reference = callableReference(objectClass);
    exports[name] = engine.classes.isBound(objectClass)
      ? markStub(
          rememberReference(Object.assign(reference, new NamespaceFake(engine, party, objectClass)), reference()),
          {
            type: "namespace"
          }
        )
      : reference;
  }
  return exports;
}
