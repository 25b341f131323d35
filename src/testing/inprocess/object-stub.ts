// A stub of an object or facet: `fetch`, and any public method as a call. A stub that has been used is tied to the object
// it reached: after a reset it keeps failing with the reason, and a new stub must be made.
import { memberProxy } from "./live-reference.ts";
import type { ObjectId } from "./object-id.ts";
import type { FacetStart, ObjectRecord } from "./object-record.ts";
import { handled, type Party } from "./party.ts";
import { callRemote } from "./rpc-call.ts";
import { flattenError } from "./rpc-errors.ts";
import { pipelined } from "./rpc-promise.ts";
import { carryResponse } from "./rpc-values.ts";
import { markStub } from "./stub-kind.ts";

export interface StubInit {
  readonly caller: () => Party;
  readonly target: ObjectRecord;
  /** Given for facets. */
  readonly start?: FacetStart;
  readonly id?: ObjectId;
}

export function objectStub(init: StubInit): object {
  const { target, caller, start } = init;
  let boundResets: number | undefined;
  const options = () => {
    boundResets ??= target.resets;
    return { expectedResets: boundResets, start };
  };
  const use = (path: string[], args: unknown[] | undefined) =>
    pipelined(
      callRemote({
        engine: target.engine,
        caller: caller(),
        path,
        args,
        enter: (work) => target.deliver((instance, activation) => work(instance, activation), options())
      })
    );
  const fetch = (input: RequestInfo | URL, requestInit?: RequestInit) =>
    fetchObject(init, options(), new Request(input, requestInit));
  const special: Record<string, unknown> = { fetch, then: undefined, dup: () => objectStub(init) };
  if (init.id !== undefined) Object.assign(special, { id: init.id, name: init.id.name });
  const stub = memberProxy({ use, path: [], special });
  if (start !== undefined) return markStub(stub, { type: "facet" });
  return markStub(stub, { type: "object", rebind: (party) => objectStub({ ...init, caller: party }) });
}

function fetchObject(
  { target, caller }: StubInit,
  options: Parameters<ObjectRecord["deliver"]>[1],
  request: Request
): Promise<Response> {
  const party = caller();
  try {
    party.assertLive();
  } catch (error) {
    return handled(Promise.reject(error));
  }
  const pending = target.deliver(async (instance, activation) => {
    try {
      const response: unknown = await handleFetch(instance, request);
      if (!(response instanceof Response)) throw new TypeError("The fetch handler did not return a Response.");
      return carryResponse(response, {
        engine: target.engine,
        sender: () => activation,
        receiver: () => party
      });
    } catch (error) {
      throw Object.assign(flattenError(error), { remote: true });
    }
  }, options);
  // deliver() resolves with what the handler above returned.
  return party.receive(pending as Promise<Response>);
}

function handleFetch(instance: object, request: Request): unknown {
  const handler: unknown = Reflect.get(instance, "fetch");
  if (typeof handler !== "function") throw new TypeError("Handler does not export a fetch() function.");
  return Reflect.apply(handler, instance, [request]);
}
