// Pipelining: the promise of a remote result can be used as if it were the result already.

/** Names a stub or promise answers itself instead of asking the other side. */
export function isLocalName(name: string | symbol): name is symbol {
  return typeof name === "symbol" || name in Object.prototype;
}

export function pipelined(promise: Promise<unknown>): Promise<unknown> {
  return new Proxy(promise, {
    get(target, name) {
      if (isLocalName(name) || name in target) {
        const own: unknown = Reflect.get(target, name, target);
        return typeof own === "function" && name !== "constructor" ? own.bind(target) : own;
      }
      return pipelinedMember(target, name);
    }
  });
}

/** Callable, and a promise of the member's value when awaited instead. */
function pipelinedMember(promise: Promise<unknown>, name: string): unknown {
  const call = (...args: unknown[]) =>
    pipelined(
      promise.then((result) => {
        const member = memberOf(result, name);
        if (typeof member !== "function") throw new TypeError(`"${name}" is not a function.`);
        return Reflect.apply(member, result, args);
      })
    );
  const value = () => promise.then((result) => memberOf(result, name));
  return new Proxy(call, {
    get(target, inner) {
      if (inner === "then") return value().then.bind(value());
      if (isLocalName(inner)) return Reflect.get(target, inner);
      return pipelinedMember(value(), inner);
    }
  });
}

function memberOf(result: unknown, name: string): unknown {
  const isHolder = (typeof result === "object" && result !== null) || typeof result === "function";
  return isHolder ? Reflect.get(result, name) : undefined;
}
