// The Sql port with tables that are made when something is first written to them. Until then a table reads as empty, and
// nothing in it can be changed or deleted. Most objects use few of the features, and every table and index is a page of
// the file and of the cache, and a row at the first start.
import { tablesOf } from "./migrations/schema.ts";
import { TABLES } from "./migrations/tables.ts";
import type { Sql, SqlRow, SqlValue } from "./ports.ts";
import type { TransactionEnd } from "./transactions.ts";

/** Statements whose tables are remembered. Ours are fewer and shorter; those of a user may be any. */
const KNOWN_STATEMENTS = 500;
const KNOWN_STATEMENT_CHARS = 4_000;

interface Statement {
  /** Tables of ours that it names. */
  readonly tables: readonly string[];
  readonly inserts: boolean;
}

const statements = new Map<string, Statement>();

function statementOf(query: string): Statement {
  const known = statements.get(query);
  if (known !== undefined) return known;
  const names = new Set(query.match(/\b(?:cf|assistant|think)_\w+/g));
  const statement = {
    tables: [...names].filter((name) => TABLES.has(name)),
    inserts: /^\s*(?:INSERT|REPLACE)\b/i.test(query)
  };
  if (query.length > KNOWN_STATEMENT_CHARS) return statement;
  if (statements.size >= KNOWN_STATEMENTS) statements.clear();
  statements.set(query, statement);
  return statement;
}

export class Tables {
  readonly #sql: Sql;
  /** Undefined: to be read. */
  #present: ReadonlySet<string> | undefined;

  /** Of a database whose schema is open. */
  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** For those who know that a table without rows may not be there: whatever they ask of it finds nothing. */
  get lenient(): Sql {
    return new OnDemandSql(this.#sql, this, false);
  }

  /** For everybody else: a table is there as soon as they name it. */
  get exact(): Sql {
    return new OnDemandSql(this.#sql, this, true);
  }

  missing(tables: readonly string[]): readonly string[] {
    const present = (this.#present ??= tablesOf(this.#sql));
    return tables.every((table) => present.has(table)) ? NONE : tables.filter((table) => !present.has(table));
  }

  /** Makes what a statement names. */
  makeFor(query: string): void {
    const missing = this.missing(statementOf(query).tables);
    if (missing.length > 0) this.make(missing);
  }

  /** In a transaction of its own or as part of the caller's. */
  make(tables: readonly string[]): void {
    this.#sql.transaction(() => {
      for (const table of tables) for (const statement of TABLES.get(table) ?? []) this.#sql.run(statement);
    });
    this.#present = new Set([...(this.#present ?? tablesOf(this.#sql)), ...tables]);
  }

  /** What was made may have been undone. */
  forget(): void {
    this.#present = undefined;
  }
}

const NONE: readonly string[] = [];
const NOTHING = { changed: 0 };

class OnDemandSql implements Sql {
  readonly #sql: Sql;
  readonly #tables: Tables;
  readonly #isExact: boolean;

  constructor(sql: Sql, tables: Tables, isExact: boolean) {
    this.#sql = sql;
    this.#tables = tables;
    this.#isExact = isExact;
  }

  all<Row extends object = SqlRow>(query: string, ...values: SqlValue[]): Row[] {
    return this.#run(query, () => this.#sql.all<Row>(query, ...values)) ?? [];
  }

  one<Row extends object = SqlRow>(query: string, ...values: SqlValue[]): Row | undefined {
    return this.#run(query, () => this.#sql.one<Row>(query, ...values));
  }

  run(query: string, ...values: SqlValue[]): { readonly changed: number } {
    return this.#run(query, () => this.#sql.run(query, ...values)) ?? NOTHING;
  }

  transaction<T>(work: () => T): T {
    try {
      return this.#sql.transaction(work);
    } catch (error) {
      this.#tables.forget();
      throw error;
    }
  }

  afterTransaction(end: TransactionEnd): void {
    this.#sql.afterTransaction(end);
  }

  /** Undefined for a statement that has nothing to do. */
  #run<T>(query: string, work: () => T): T | undefined {
    if (!this.#isReady(query)) return undefined;
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Error) || !error.message.includes("no such table")) throw error;
      // Somebody undid a transaction of their own in which a table was made.
      this.#tables.forget();
      return this.#isReady(query) ? work() : undefined;
    }
  }

  /** Makes the tables that the statement needs. False if there is nothing that it could find or change. */
  #isReady(query: string): boolean {
    const { tables, inserts } = statementOf(query);
    const missing = this.#tables.missing(tables);
    if (missing.length === 0) return true;
    if (!this.#isExact && !inserts && missing.length === tables.length) return false;
    this.#tables.make(missing);
    return true;
  }
}
