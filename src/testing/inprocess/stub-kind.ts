// What a proxy stands for. Stubs answer any property name, so their nature is kept beside them.
import type { Party } from "./party.ts";

export type StubKind =
  | { readonly type: "object"; rebind(party: () => Party): object }
  | { readonly type: "facet" }
  | { readonly type: "live" }
  | { readonly type: "namespace" };

const kinds = new WeakMap<object, StubKind>();

export function markStub<T extends object>(stub: T, kind: StubKind): T {
  kinds.set(stub, kind);
  return stub;
}

export function stubKind(value: object): StubKind | undefined {
  return kinds.get(value);
}
