// A function or RpcTarget seen from the other side of a boundary: using it is a call back into its owner.
import { callRemote } from "./rpc-call.ts";
import { isLocalName, pipelined } from "./rpc-promise.ts";
import { handled } from "./party.ts";
import type { Crossing } from "./rpc-values.ts";
import { markStub } from "./stub-kind.ts";

export function liveReference(target: object, crossing: Crossing): object {
  const use = (path: string[], args: unknown[] | undefined): Promise<unknown> => {
    if (crossing.scope?.hasEnded === true) {
      return handled(Promise.reject(new Error("RPC stub used after being disposed.")));
    }
    const owner = crossing.sender();
    return pipelined(
      callRemote({
        engine: crossing.engine,
        caller: crossing.receiver(),
        path,
        args,
        enter: (work) => owner.enter(() => work(target, owner))
      })
    );
  };
  const { scope: _ended, ...kept } = crossing;
  return markStub(
    memberProxy({ use, path: [], special: { dup: () => liveReference(target, kept), then: undefined } }),
    { type: "live" }
  );
}

interface MemberProxy {
  use(path: string[], args: unknown[] | undefined): Promise<unknown>;
  readonly path: string[];
  /** Names answered here. */
  readonly special: Record<string, unknown>;
}

/** Answers every other name with something callable that can also be awaited for its value. */
export function memberProxy({ use, path, special }: MemberProxy): object {
  return new Proxy((...args: unknown[]) => use(path, args), {
    get(target, name) {
      if (name === Symbol.dispose) return () => {};
      if (isLocalName(name)) return Reflect.get(target, name);
      if (Object.hasOwn(special, name)) return special[name];
      if (name === "then") {
        const value = use(path, undefined);
        return value.then.bind(value);
      }
      return memberProxy({ use, path: [...path, name], special: {} });
    }
  });
}
