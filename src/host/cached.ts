// A value that was read from the database and is kept in memory by the one module that writes it.
import type { Sql } from "./ports.ts";

/** Kept until it is set or dropped, or any transaction is undone, of this package or of user code. */
export class Cached<T> {
  readonly #sql: Pick<Sql, "rollbacks">;
  readonly #read: () => T;
  #kept: { readonly value: T; readonly rollbacks: number } | undefined;

  constructor(sql: Pick<Sql, "rollbacks">, read: () => T) {
    this.#sql = sql;
    this.#read = read;
  }

  get value(): T {
    if (this.#kept?.rollbacks === this.#sql.rollbacks) return this.#kept.value;
    const value = this.#read();
    this.set(value);
    return value;
  }

  /** The owner has written this value. */
  set(value: T): void {
    this.#kept = { value, rollbacks: this.#sql.rollbacks };
  }

  /** The owner has written something that changes the value. */
  drop(): void {
    this.#kept = undefined;
  }
}
