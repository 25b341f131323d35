// Stubs of agents that are not a hop away: every call is one message through the root or the parent.
import type { AgentBase } from "../agent-base.ts";
import { isUnknownChild, type InternalCall, type Invoked } from "./internal.ts";
import { subAgentErrors } from "./sub-agent-errors.ts";

/** A class that can be a sub-agent. */
export type SubAgentClass<T extends AgentBase = AgentBase> = abstract new (ctx: DurableObjectState, env: never) => T;

/** For types only, no object has it: the names of capabilities that a class declares its own and stubs do not offer. */
export declare const NOT_IN_STUBS: unique symbol;

/** Never for a class that declares none. */
type NotInStubs<T> = NonNullable<T[typeof NOT_IN_STUBS & keyof T]>;

/** The user's own methods, as seen from another object: every one is asynchronous. */
export type SubAgentStub<T extends AgentBase> = {
  [
    Name in Exclude<keyof T, keyof AgentBase | NotInStubs<T>> as T[Name] extends (...args: never[]) => unknown
      ? Name
      : never
  ]: T[Name] extends (...args: infer Args) => infer Result ? (...args: Args) => Promise<Awaited<Result>> : never;
} & { fetch(request: Request): Promise<Response> };

/** Names that the language and its tools probe for; a stub answers them itself and never over the network. */
const PROBED = new Set([
  "then",
  "catch",
  "finally",
  "toJSON",
  "toString",
  "valueOf",
  "constructor",
  "inspect",
  "nodeType",
  "$$typeof",
  "asymmetricMatch"
]);

export interface RemoteStubInit {
  className: string;
  ask: (call: InternalCall) => Promise<unknown>;
  fetch: (request: Request) => Promise<Response>;
}

export function remoteStub<T extends AgentBase>(init: RemoteStubInit): SubAgentStub<T> {
  const handler: ProxyHandler<object> = {
    get(_target, name) {
      if (typeof name === "symbol" || PROBED.has(name)) return undefined;
      if (name === "fetch") return init.fetch;
      return async (...args: unknown[]) => {
        const answer = await init.ask({ op: "invoke", method: name, args });
        if (isUnknownChild(answer)) throw subAgentErrors.UnknownSubAgentError(init.className);
        // `invoke` is always answered like this.
        return (answer as Invoked).result;
      };
    },
    has: (_target, name) => name === "fetch"
  };
  // The proxy answers every method name; which ones exist is the class's word.
  return new Proxy({}, handler) as SubAgentStub<T>;
}
