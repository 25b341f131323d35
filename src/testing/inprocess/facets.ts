// `ctx.facets`: child objects with a database of their own, kept with the parent's. Nothing starts before the first call.
import type { ObjectActivation, Startup } from "./activation.ts";
import { referenceOf } from "./class-registry.ts";
import { inprocessErrors } from "./errors.ts";
import { ObjectId } from "./object-id.ts";
import { ObjectRecord } from "./object-record.ts";
import { objectStub } from "./object-stub.ts";

const NAME_LIMIT = 256;

export class FacetsFake {
  readonly #activation: ObjectActivation;
  readonly #id: ObjectId;

  constructor(activation: ObjectActivation, id: ObjectId) {
    this.#activation = activation;
    this.#id = id;
  }

  get(name: string, start: () => unknown): object {
    this.#activation.assertLive();
    if (name.length > NAME_LIMIT) throw new TypeError(`Facet name is too long (max ${NAME_LIMIT} characters).`);
    if (name === "") throw new Error("Facet name cannot be empty.");
    const target = this.#record(name);
    return objectStub({
      caller: () => this.#activation,
      target,
      start: async () => (target.startup ??= this.#startup(await start()))
    });
  }

  abort(name: string, reason: unknown): void {
    this.#activation.assertLive();
    this.#activation.record.facets.get(name)?.reset(reason);
  }

  /** Storage included, of the facet and of all below it. */
  delete(name: string): void {
    this.#activation.assertLive();
    const { record, engine } = this.#activation;
    const facet = record.facets.get(name);
    if (facet === undefined) return;
    facet.reset(new Error("Facet was deleted."));
    record.facets.delete(name);
    engine.crash.wrote(1);
    this.#activation.assertLive();
  }

  clone(): never {
    throw inprocessErrors.NotSimulated("ctx.facets.clone()");
  }

  #record(name: string): ObjectRecord {
    const parent = this.#activation.record;
    const known = parent.facets.get(name);
    if (known !== undefined) return known;
    const facet = new ObjectRecord({ engine: parent.engine, id: this.#id, parent });
    parent.facets.set(name, facet);
    return facet;
  }

  #startup(options: unknown): Startup {
    const given: { class?: unknown; id?: unknown } = typeof options === "object" && options !== null ? options : {};
    const reference = referenceOf(given.class);
    if (reference === undefined) {
      throw new TypeError(
        "Incorrect type for the 'class' field on 'StartupOptions': the provided value is not of type " +
          "'DurableObjectClass or LoopbackDurableObjectNamespace or LoopbackColoLocalActorNamespace'."
      );
    }
    if (given.id instanceof ObjectId) return { reference, id: given.id };
    return { reference, id: typeof given.id === "string" ? new ObjectId(given.id) : this.#id };
  }
}
