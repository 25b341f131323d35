// An activation's access to its database: refuses dead activations, counts reads and writes, and lets a crash armed at
// a write stop the caller right there.
import type { ObjectActivation } from "./activation.ts";
import { restoreAlarm } from "./alarms.ts";
import type { Database } from "./database.ts";

export class StorageAccess {
  readonly activation: ObjectActivation;

  constructor(activation: ObjectActivation) {
    this.activation = activation;
  }

  get database(): Database {
    this.activation.assertLive();
    return this.activation.record.database;
  }

  read(rows: number): void {
    this.activation.engine.crash.read(rows);
  }

  /** After a change was made. Throws if the process was to die at this write. */
  wrote(rows: number): void {
    this.activation.engine.crash.wrote(rows);
    this.activation.assertLive();
  }

  transactionSync<T>(work: () => T): T {
    const { database } = this;
    database.begin();
    let result: T;
    try {
      result = work();
    } catch (error) {
      this.#rollBack();
      throw error;
    }
    // Killed or reset inside, with the error swallowed by the callback: it is rolled back already.
    this.activation.assertLive();
    database.commit();
    return result;
  }

  async transaction<T>(work: () => Promise<T>, isRolledBack: () => boolean): Promise<T> {
    const { database } = this;
    database.begin();
    try {
      const result = await work();
      this.activation.assertLive();
      if (isRolledBack()) this.#rollBack();
      else database.commit();
      return result;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /** A crash or a reset has already rolled everything back. */
  #rollBack(): void {
    if (!this.activation.isLive) return;
    this.activation.record.database.rollBack();
    restoreAlarm(this.activation.record);
  }
}
