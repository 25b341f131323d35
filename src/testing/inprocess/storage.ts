// `ctx.storage`. Asynchronous calls do their work at once and resolve before any other event can start, which is what the
// platform's input gate guarantees. Every statement is durable when it returns: there is no write coalescing, so a test
// can crash between two statements that production would commit together.
import { readAlarm, writeAlarm } from "./alarms.ts";
import { inprocessErrors } from "./errors.ts";
import { type KvListOptions, SyncKvFake } from "./kv.ts";
import { SqlStorageFake } from "./sql.ts";
import type { StorageAccess } from "./storage-access.ts";

export class StorageFake {
  readonly sql: SqlStorageFake;
  readonly kv: SyncKvFake;
  readonly #access: StorageAccess;

  constructor(access: StorageAccess) {
    this.#access = access;
    this.sql = new SqlStorageFake(access);
    this.kv = new SyncKvFake(access);
  }

  get(key: string | string[]): Promise<unknown> {
    return this.#settled(() => (Array.isArray(key) ? this.#getMany(key) : this.kv.get(key)));
  }

  put(key: string | Record<string, unknown>, value?: unknown): Promise<void> {
    return this.#settled(() => {
      if (typeof key === "string") return this.kv.put(key, value);
      this.#access.transactionSync(() => {
        for (const [name, each] of Object.entries(key)) this.kv.put(name, each);
      });
    });
  }

  delete(key: string | string[]): Promise<boolean | number> {
    return this.#settled(() =>
      Array.isArray(key)
        ? this.#access.transactionSync(() => key.filter((name) => this.kv.delete(name)).length)
        : this.kv.delete(key)
    );
  }

  list(options?: KvListOptions): Promise<Map<string, unknown>> {
    return this.#settled(() => new Map(this.kv.list(options)));
  }

  /** Everything of this object, its alarm included. Facets keep their own. */
  deleteAll(): Promise<void> {
    return this.#settled(() => {
      const { database } = this.#access;
      if (database.isInTransaction) throw new Error("deleteAll() cannot be called inside a transaction.");
      writeAlarm(this.#access.activation.record, null);
      database.wipe();
      this.#access.wrote(1);
    });
  }

  transactionSync<T>(work: () => T): T {
    return this.#access.transactionSync(work);
  }

  /** Other events wait until it ends: their writes would become part of it. */
  transaction<T>(work: (transaction: TransactionFake) => Promise<T>): Promise<T> {
    const { activation } = this.#access;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const transaction = new TransactionFake(this);
    // A failed transaction rejects its caller but, unlike a failed block, does not reset the object.
    const done = activation.block(() =>
      this.#access
        .transaction(
          () => work(transaction),
          () => transaction.isRolledBack
        )
        .then(resolve, reject)
    );
    return done.then(() => promise);
  }

  getAlarm(): Promise<number | null> {
    return this.#settled(() => readAlarm(this.#access.activation.record));
  }

  setAlarm(time: number | Date): Promise<void> {
    const { activation } = this.#access;
    const { record } = activation;
    if (record.parent !== undefined) {
      activation.assertLive();
      // Accepted, then fails when it would be stored: the facet is reset and no try/catch in it sees why.
      queueMicrotask(() => activation.isLive && record.reset(new Error("Facets currently cannot set alarms.")));
      return new Promise(() => {});
    }
    return this.#settled(() => {
      const at = alarmTime(time);
      if (activation.instance !== undefined && !hasAlarmHandler(activation.instance)) {
        throw new TypeError("Your Durable Object class must have an alarm() handler in order to call setAlarm()");
      }
      if (writeAlarm(record, at)) this.#access.wrote(1);
    });
  }

  deleteAlarm(): Promise<void> {
    return this.#settled(() => {
      if (writeAlarm(this.#access.activation.record, null)) this.#access.wrote(1);
    });
  }

  sync(): Promise<void> {
    return this.#settled(() => {});
  }

  getCurrentBookmark(): Promise<string> {
    return this.#settled(() => {
      throw inprocessErrors.NotSimulated("Point-in-time recovery");
    });
  }

  getBookmarkForTime(): Promise<string> {
    return this.getCurrentBookmark();
  }

  onNextSessionRestoreBookmark(): Promise<string> {
    return this.getCurrentBookmark();
  }

  #getMany(keys: string[]): Map<string, unknown> {
    const found = keys.map((key): [string, unknown] => [key, this.kv.get(key)]);
    return new Map(found.filter(([, value]) => value !== undefined).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #settled<T>(work: () => T): Promise<T> {
    return this.#access.activation.settled(work);
  }
}

export class TransactionFake {
  readonly #storage: StorageFake;
  #isRolledBack = false;

  constructor(storage: StorageFake) {
    this.#storage = storage;
  }

  get isRolledBack(): boolean {
    return this.#isRolledBack;
  }

  rollback(): void {
    this.#isRolledBack = true;
  }

  get: StorageFake["get"] = (key) => this.#storage.get(key);
  put: StorageFake["put"] = (key, value) => this.#storage.put(key, value);
  delete: StorageFake["delete"] = (key) => this.#storage.delete(key);
  list: StorageFake["list"] = (options) => this.#storage.list(options);
  getAlarm: StorageFake["getAlarm"] = () => this.#storage.getAlarm();
  setAlarm: StorageFake["setAlarm"] = (time) => this.#storage.setAlarm(time);
  deleteAlarm: StorageFake["deleteAlarm"] = () => this.#storage.deleteAlarm();
}

function alarmTime(time: number | Date): number {
  const at = Number(time);
  if (Number.isNaN(at)) throw new TypeError("The value cannot be converted because it is not a valid Date.");
  if (at <= 0) throw new TypeError("setAlarm() cannot be called with an alarm time <= 0");
  return at;
}

function hasAlarmHandler(instance: object): boolean {
  return "alarm" in instance && typeof instance.alarm === "function";
}
