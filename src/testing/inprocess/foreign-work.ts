// Work the host cannot see: native promises that end on another thread. `idle()` must not mistake them for silence, so
// WebCrypto calls are counted, and tests can count promises of their own. Real timers are deliberately not counted.

let pending = 0;
let installed = false;

export function pendingForeignWork(): number {
  return pending;
}

/** Counts `work` as unfinished until it settles. */
export function trackForeignWork<T>(work: Promise<T>): Promise<T> {
  pending++;
  const done = () => {
    pending--;
  };
  work.then(done, done);
  return work;
}

/** Wraps the methods of the global `crypto.subtle` once; behaviour and results are untouched. */
export function watchWebCrypto(): void {
  if (installed) return;
  installed = true;
  const prototype: object = Object.getPrototypeOf(crypto.subtle);
  for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    const native: unknown = descriptor.value;
    if (name === "constructor" || typeof native !== "function") continue;
    Object.defineProperty(prototype, name, {
      ...descriptor,
      value: function (this: unknown, ...args: unknown[]): unknown {
        const result: unknown = Reflect.apply(native, this, args);
        return result instanceof Promise ? trackForeignWork(result) : result;
      }
    });
  }
}
