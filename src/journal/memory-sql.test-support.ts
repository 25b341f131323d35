// The Sql port of production over an in-memory SQLite, which can stop the process at any write. After the crash nothing
// works any more, as in a dead process; `reboot` opens the same database again.
import { Blobs } from "../host/blobs.ts";
import { memoryStorage, type SqliteDatabase } from "../host/memory-storage.test-support.ts";
import type { Sql, SqlRow, SqlValue } from "../host/ports.ts";
import { openSchema } from "../host/schema.ts";
import { openSql } from "../host/sql.ts";
import { Catalog } from "../host/table-set.ts";
import type { TransactionEnd } from "../host/transactions.ts";
import { Conversation, type OpenTurn } from "./conversation.ts";
import { openJournal, type Journal } from "./journal.ts";
import type { RetentionOptions } from "./retention.ts";

export type { SqliteDatabase };

export class Crash extends Error {}

export class MemorySql implements Sql {
  /** Statements run for their effect. */
  writes = 0;
  #crashAt = Infinity;
  #isDead = false;
  readonly #database: SqliteDatabase;
  readonly #port: Sql;
  readonly #rowsBefore: number;
  readonly catalog = new Catalog(this);

  constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#port = openSql(memoryStorage(database, () => this.#live()));
    this.#rowsBefore = totalChanges(database);
  }

  /** Table rows inserted, updated or deleted. */
  get rowsWritten(): number {
    return totalChanges(this.#database) - this.#rowsBefore;
  }

  /** The n-th write from now does not happen, and nothing after it. */
  crashAtWrite(n: number): void {
    this.#crashAt = this.writes + n;
  }

  reboot(): MemorySql {
    return new MemorySql(this.#database);
  }

  all<Row extends object = SqlRow>(query: string, ...values: SqlValue[]): Row[] {
    return this.#port.all<Row>(query, ...values);
  }

  one<Row extends object = SqlRow>(query: string, ...values: SqlValue[]): Row | undefined {
    return this.#port.one<Row>(query, ...values);
  }

  run(query: string, ...values: SqlValue[]): { readonly changed: number } {
    this.writes += 1;
    if (this.writes === this.#crashAt) {
      this.#isDead = true;
      throw new Crash(`crashed at write ${this.writes}`);
    }
    return this.#port.run(query, ...values);
  }

  transaction<T>(work: () => T): T {
    this.#live();
    return this.#port.transaction(work);
  }

  afterTransaction(end: TransactionEnd): void {
    this.#port.afterTransaction(end);
  }

  get rollbacks(): number {
    return this.#port.rollbacks;
  }

  #live(): void {
    if (this.#isDead) throw new Crash("this process is dead");
  }
}

function totalChanges(database: SqliteDatabase): number {
  const [row] = database.prepare("SELECT total_changes() AS total").all() as { total: number }[];
  return Number(row?.total);
}

export interface TestJournal extends Journal {
  sql: MemorySql;
  blobs: Blobs;
  conversation: Conversation;
}

/** The one that every object has; the others are made by the first writes, as in production. */
export function createTables(sql: Sql): void {
  openSchema(sql);
}

export function openTestJournal(sql: MemorySql, retention: Partial<RetentionOptions> = {}): TestJournal {
  const blobs = new Blobs(sql);
  const conversation = new Conversation(sql);
  return { ...openJournal({ sql, blobs, conversation, retention }), sql, blobs, conversation };
}

export function openTurn(journal: TestJournal, turnId: string): OpenTurn | undefined {
  return journal.conversation.row.openTurns.find((turn) => turn.turnId === turnId);
}
