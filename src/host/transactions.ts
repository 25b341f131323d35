// What has to wait for the end of a transaction: one that this package opens, or one that user code opens around it with
// `ctx.storage.transactionSync` or `ctx.storage.transaction`. A change that is part of a transaction can be undone until
// the outermost one commits. Clients are notified only then, and caches (cached.ts) do not outlive a rollback.

export interface TransactionEnd {
  /** Everything written before is committed. */
  committed(): void;
  /** A transaction it was part of was rolled back. */
  undone?(): void;
}

export class Transactions {
  #depth = 0;
  #waiting: TransactionEnd[] = [];
  #rollbacks = 0;

  get rollbacks(): number {
    return this.#rollbacks;
  }

  /** `open` runs the work in a transaction of the platform. */
  run<T>(open: (work: () => T) => T, work: () => T): T {
    const end = this.#begin();
    let result: T;
    try {
      result = open(work);
    } catch (error) {
      end("undone");
      throw error;
    }
    end("committed");
    return result;
  }

  /** The same for a transaction that awaits. `isUndone` says whether one that has not failed was rolled back. */
  async runAsync<T>(open: () => Promise<T>, isUndone: () => boolean): Promise<T> {
    const end = this.#begin();
    let result: T;
    try {
      result = await open();
    } catch (error) {
      end("undone");
      throw error;
    }
    end(isUndone() ? "undone" : "committed");
    return result;
  }

  /** At once where no transaction is open. */
  after(end: TransactionEnd): void {
    if (this.#depth === 0) end.committed();
    else this.#waiting.push(end);
  }

  #begin(): (how: "committed" | "undone") => void {
    const before = this.#waiting.length;
    this.#depth += 1;
    return (how) => {
      this.#depth -= 1;
      if (how === "undone") {
        // Before `undone` is called: it may read what is cached.
        this.#rollbacks += 1;
        for (const end of this.#waiting.splice(before)) end.undone?.();
      } else if (this.#depth === 0) for (const end of this.#waiting.splice(0)) end.committed();
    };
  }
}

interface WatchedStorage {
  readonly transactions: Transactions;
  /** One transaction, followed to its end. */
  run<T>(work: () => T): T;
}

const watched = new WeakMap<DurableObjectStorage, WatchedStorage>();

/**
 * The transactions of an object's storage, also those that user code opens: `transactionSync` and `transaction` of the
 * storage are replaced, because the platform reports the end of a transaction in no other way. Where they cannot be
 * replaced, only our own are followed.
 */
export function watchTransactions(storage: DurableObjectStorage): WatchedStorage {
  const known = watched.get(storage);
  if (known) return known;
  const transactions = new Transactions();
  const openSync = storage.transactionSync.bind(storage);
  const run = <T>(work: () => T): T => transactions.run<T>(openSync, work);
  const open = storage.transaction.bind(storage);
  const runAsync = <T>(work: (transaction: DurableObjectTransaction) => Promise<T>): Promise<T> => {
    let isUndone = false;
    const noted = (transaction: DurableObjectTransaction) => {
      const rollback = transaction.rollback.bind(transaction);
      const value = () => {
        isUndone = true;
        rollback();
      };
      Reflect.defineProperty(transaction, "rollback", { value, configurable: true });
      return work(transaction);
    };
    return transactions.runAsync(
      () => open(noted),
      () => isUndone
    );
  };
  Reflect.defineProperty(storage, "transactionSync", { value: run, configurable: true, writable: true });
  Reflect.defineProperty(storage, "transaction", { value: runAsync, configurable: true, writable: true });
  const watching = { transactions, run };
  watched.set(storage, watching);
  return watching;
}
