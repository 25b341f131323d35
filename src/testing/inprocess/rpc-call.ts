// One call across an object boundary: arguments out, result or error back, both copied. Also finds the member a caller
// may reach: what the class declares, never what an instance carries.
import type { Engine } from "./engine.ts";
import type { Party } from "./party.ts";
import { handled } from "./party.ts";
import { remoteError } from "./rpc-errors.ts";
import { CallScope, carry, type Crossing } from "./rpc-values.ts";

const RESERVED = new Set(["alarm", "webSocketMessage", "webSocketClose", "webSocketError"]);

export interface RemoteCall {
  readonly engine: Engine;
  readonly caller: Party;
  /** Undefined reads the member instead of calling it. */
  readonly args: readonly unknown[] | undefined;
  /** Runs the work inside the callee, with the callee as its argument. */
  enter(work: (target: object, callee: Party) => Promise<unknown>): Promise<unknown>;
  readonly path: readonly string[];
}

export function callRemote(call: RemoteCall): Promise<unknown> {
  const { engine, caller } = call;
  const scope = new CallScope();
  let callee: Party | undefined;
  const requireCallee = () => {
    if (callee === undefined) throw new Error("RPC stub used before it was delivered.");
    return callee;
  };
  const outward: Crossing = { engine, sender: () => caller, receiver: requireCallee, scope };
  const homeward: Crossing = { engine, sender: requireCallee, receiver: () => caller };
  try {
    caller.assertLive();
    const args = call.args?.map((argument) => carry(argument, outward));
    const pending = call.enter(async (target, entered) => {
      callee = entered;
      try {
        const result = carry(await useMember(target, call.path, args), homeward);
        return disposable(result);
      } catch (error) {
        throw remoteError(error, (value) => carry(value, homeward));
      } finally {
        scope.hasEnded = true;
      }
    });
    return caller.receive(pending);
  } catch (error) {
    return handled(Promise.reject(error));
  }
}

async function useMember(target: object, path: readonly string[], args: unknown[] | undefined): Promise<unknown> {
  let owner: unknown = undefined;
  let member: unknown = target;
  for (const [index, name] of path.entries()) {
    owner = member;
    member = index === 0 && typeof target !== "function" ? declaredMember(target, name) : nestedMember(member, name);
  }
  if (args === undefined) return await member;
  if (typeof member !== "function") throw new TypeError(`"${path.at(-1) ?? ""}" is not a function.`);
  return await Reflect.apply(member, owner, args);
}

function declaredMember(target: object, name: string): unknown {
  if (RESERVED.has(name)) throw new TypeError(`'${name}' is a reserved method and cannot be called over RPC.`);
  const isDeclared = name in target && !Object.hasOwn(target, name) && !(name in Object.prototype);
  if (!isDeclared) throw new TypeError(`The RPC receiver does not implement the method "${name}".`);
  return Reflect.get(target, name);
}

function nestedMember(owner: unknown, name: string): unknown {
  const isHolder = (typeof owner === "object" && owner !== null) || typeof owner === "function";
  if (!isHolder || !(name in owner) || name in Object.prototype) {
    throw new TypeError(`The RPC receiver does not implement the method "${name}".`);
  }
  return Reflect.get(owner, name);
}

/** Results can be used with `using`, as on the platform. */
function disposable(result: unknown): unknown {
  if (typeof result === "object" && result !== null && Object.getPrototypeOf(result) === Object.prototype) {
    Object.defineProperty(result, Symbol.dispose, { value: () => {}, enumerable: false, configurable: true });
  }
  return result;
}
