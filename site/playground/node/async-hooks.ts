// AsyncLocalStorage for a page. The bundle has no `await` of its own left: the bundler turns each into a `then`, and this
// `then` gives every callback the stores of the code that called it.
type Stores = ReadonlyMap<AsyncLocalStorage<unknown>, unknown>;
type Callback = (...args: unknown[]) => unknown;

let current: Stores = new Map();

function within<Result>(stores: Stores, work: () => Result): Result {
  const before = current;
  current = stores;
  try {
    return work();
  } finally {
    current = before;
  }
}

function keeping<Given>(callback: Given): Given {
  if (typeof callback !== "function") return callback;
  const stores = current;
  const kept = function (this: unknown, ...args: unknown[]): unknown {
    return within(stores, () => Reflect.apply(callback, this, args) as unknown);
  };
  return kept as Given;
}

export class AsyncLocalStorage<Store> {
  static bind<Work extends Callback>(work: Work): Work {
    return keeping(work);
  }

  static snapshot(): (work: Callback, ...args: unknown[]) => unknown {
    return keeping((work: Callback, ...args: unknown[]) => work(...args));
  }

  run<Args extends unknown[], Result>(store: Store, work: (...args: Args) => Result, ...args: Args): Result {
    return within(new Map(current).set(this as AsyncLocalStorage<unknown>, store), () => work(...args));
  }

  exit<Args extends unknown[], Result>(work: (...args: Args) => Result, ...args: Args): Result {
    const stores = new Map(current);
    stores.delete(this as AsyncLocalStorage<unknown>);
    return within(stores, () => work(...args));
  }

  getStore(): Store | undefined {
    return current.get(this as AsyncLocalStorage<unknown>) as Store | undefined;
  }
}

const nativeThen = Object.getOwnPropertyDescriptor(Promise.prototype, "then")?.value as Promise<unknown>["then"];
Object.defineProperty(Promise.prototype, "then", {
  configurable: true,
  writable: true,
  value: function (this: Promise<unknown>, ...[done, failed]: Parameters<Promise<unknown>["then"]>) {
    return nativeThen.call(this, keeping(done), keeping(failed));
  }
});
const nativeMicrotask = globalThis.queueMicrotask;
globalThis.queueMicrotask = (work) => nativeMicrotask(keeping(work));
