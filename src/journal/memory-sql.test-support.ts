// A Sql port over an in-memory SQLite for this room's tests, which can stop the world at any write. After the crash
// nothing works any more, as in a dead process; `reboot` opens the same database again.
import { Blobs } from "../host/blobs.ts";
import { BLOB_TABLES, JOURNAL_TABLES } from "../host/migrations/001-journal.ts";
import { conversation } from "../host/migrations/002-conversation.ts";
import { HISTORY_TABLES } from "../host/migrations/005-history.ts";
import type { Sql, SqlRow, SqlValue } from "../host/ports.ts";
import { Transactions, type TransactionEnd } from "../host/transactions.ts";
import { Conversation, type OpenTurn } from "./conversation.ts";
import { openJournal, type Journal } from "./journal.ts";
import type { RetentionOptions } from "./retention.ts";

/** What is used of node:sqlite's DatabaseSync. Test files pass a real one. */
export interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): {
    all(...values: SqlValue[]): unknown[];
    run(...values: SqlValue[]): { changes: number | bigint };
  };
}

export class Crash extends Error {}

export class MemorySql implements Sql {
  /** Statements run for their effect. */
  writes = 0;
  /** Table rows inserted, updated or deleted. */
  rowsWritten = 0;
  #crashAt = Infinity;
  #isDead = false;
  #depth = 0;
  readonly #transactions = new Transactions();
  readonly #database: SqliteDatabase;

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  /** The n-th write from now does not happen, and nothing after it. */
  crashAtWrite(n: number): void {
    this.#crashAt = this.writes + n;
  }

  reboot(): MemorySql {
    return new MemorySql(this.#database);
  }

  all<Row extends object = SqlRow>(query: string, ...values: SqlValue[]): Row[] {
    this.#live();
    // Row shapes are the caller's word, as in the real port.
    return this.#database
      .prepare(query)
      .all(...values)
      .map((row) => ({ ...(row as Row) }));
  }

  one<Row extends object = SqlRow>(query: string, ...values: SqlValue[]): Row | undefined {
    return this.all<Row>(query, ...values)[0];
  }

  run(query: string, ...values: SqlValue[]): { readonly changed: number } {
    this.#live();
    this.writes += 1;
    if (this.writes === this.#crashAt) {
      this.#isDead = true;
      throw new Crash(`crashed at write ${this.writes}`);
    }
    const changed = Number(this.#database.prepare(query).run(...values).changes);
    this.rowsWritten += changed;
    return { changed };
  }

  transaction<T>(work: () => T): T {
    return this.#transactions.run<T>((inner) => this.#open(inner), work);
  }

  afterTransaction(end: TransactionEnd): void {
    this.#transactions.after(end);
  }

  #open<T>(work: () => T): T {
    this.#live();
    const savepoint = `level${this.#depth++}`;
    this.#database.exec(`SAVEPOINT ${savepoint}`);
    try {
      const result = work();
      this.#database.exec(`RELEASE ${savepoint}`);
      return result;
    } catch (error) {
      this.#database.exec(`ROLLBACK TO ${savepoint}`);
      this.#database.exec(`RELEASE ${savepoint}`);
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }

  #live(): void {
    if (this.#isDead) throw new Crash("this process is dead");
  }
}

export interface TestJournal extends Journal {
  sql: MemorySql;
  blobs: Blobs;
  conversation: Conversation;
  /** What subscribers threw. */
  reported: unknown[];
}

export function createTables(sql: Sql): void {
  for (const statement of [...BLOB_TABLES, ...JOURNAL_TABLES, ...HISTORY_TABLES]) sql.run(statement);
  conversation(sql);
}

/** A journal on a database whose tables exist. */
export function openTestJournal(sql: MemorySql, retention: Partial<RetentionOptions> = {}): TestJournal {
  const blobs = new Blobs(sql);
  const conversation = new Conversation(sql);
  const reported: unknown[] = [];
  const report = (error: unknown) => void reported.push(error);
  return { ...openJournal({ sql, blobs, conversation, report, retention }), sql, blobs, conversation, reported };
}

export function openTurn(journal: TestJournal, turnId: string): OpenTurn | undefined {
  return journal.conversation.row.openTurns.find((turn) => turn.turnId === turnId);
}
