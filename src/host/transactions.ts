// What has to wait for the end of a transaction, whoever opened it: this package, or user code around it with
// `ctx.storage.transactionSync`. A change that is part of a transaction can be undone until the outermost one commits, so
// clients are told, and caches believed, only then.

export interface TransactionEnd {
  /** Everything written before is committed. */
  committed(): void;
  /** A transaction it was part of was rolled back. */
  undone?(): void;
}

export class Transactions {
  #depth = 0;
  #waiting: TransactionEnd[] = [];

  /** `open` runs the work in a transaction of the platform. */
  run<T>(open: (work: () => T) => T, work: () => T): T {
    const before = this.#waiting.length;
    this.#depth += 1;
    let result: T;
    try {
      result = open(work);
    } catch (error) {
      this.#depth -= 1;
      const undone = this.#waiting.splice(before);
      for (const end of undone) end.undone?.();
      throw error;
    }
    this.#depth -= 1;
    if (this.#depth === 0) for (const end of this.#waiting.splice(0)) end.committed();
    return result;
  }

  /** At once where no transaction is open. */
  after(end: TransactionEnd): void {
    if (this.#depth === 0) end.committed();
    else this.#waiting.push(end);
  }
}

interface WatchedStorage {
  readonly transactions: Transactions;
  /** One transaction, followed to its end. */
  run<T>(work: () => T): T;
}

const watched = new WeakMap<DurableObjectStorage, WatchedStorage>();

/**
 * The transactions of an object's storage, also those that user code opens: its `transactionSync` is replaced, because
 * the platform tells of no other way. Where that cannot be done, only our own are followed.
 */
export function watchTransactions(storage: DurableObjectStorage): WatchedStorage {
  const known = watched.get(storage);
  if (known) return known;
  const transactions = new Transactions();
  const original = storage.transactionSync.bind(storage);
  const run = <T>(work: () => T): T => transactions.run<T>(original, work);
  Reflect.defineProperty(storage, "transactionSync", { value: run, configurable: true, writable: true });
  const watching = { transactions, run };
  watched.set(storage, watching);
  return watching;
}
