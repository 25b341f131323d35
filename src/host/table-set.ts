// Tables that are made on the first write of the module that owns them. Most objects use few features, and every table
// and index is a page of the file and a row at the first start. Until a table is made its owner reads nothing from it and
// has nothing to change in it. No statement is looked at: the owner says whether one may add rows (`run`), or only finds,
// changes or deletes rows that are there (`all`, `one`, `change`).
import { Cached } from "./cached.ts";
import type { Sql, SqlRow, SqlValue } from "./ports.ts";

/** A table as its owner declares it. Beside it the owner says what bounds the table and what deletes from it. */
export interface TableDefinition {
  readonly name: string;
  /** What makes it today: the table, then its indexes. */
  readonly create: readonly string[];
  /**
   * Changes of tables that older builds made, oldest first: never edit or reorder a released one. Each runs once, only
   * where the table exists, in a transaction with the note that it has run; `create` has its result. A new one raises
   * SCHEMA_VERSION, so that older builds refuse the object.
   */
  readonly migrations?: readonly ((sql: Sql) => void)[];
  /** Tables of older builds whose rows are this one's now. Each is moved once and dropped, in one transaction. */
  readonly replaces?: readonly ReplacedTable[];
}

export interface ReplacedTable {
  readonly name: string;
  readonly move: (sql: Sql) => void;
}

interface Stored {
  readonly names: Set<string>;
  /** Migrations that a table has behind it; absent: none. */
  readonly versions: Map<string, number>;
  /** Sets whose tables all exist and are up to date. */
  readonly ready: Set<readonly TableDefinition[]>;
}

/** Which tables exist, and how many of its migrations each has behind it. One per database, read once. */
export class Catalog {
  readonly #sql: Sql;
  readonly #stored: Cached<Stored>;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#stored = new Cached(sql, () => readStored(sql));
  }

  /** False if none of the tables exists. */
  has(tables: readonly TableDefinition[]): boolean {
    const { names, ready } = this.#stored.value;
    if (ready.has(tables)) return true;
    const isThere = ({ name }: { readonly name: string }) => names.has(name);
    if (!tables.some((table) => isThere(table) || table.replaces?.some(isThere))) return false;
    this.make(tables);
    return true;
  }

  /** Makes those that do not exist and brings the others up to date. */
  make(tables: readonly TableDefinition[]): void {
    const stored = this.#stored.value;
    if (stored.ready.has(tables)) return;
    this.#sql.transaction(() => {
      for (const table of tables) {
        if (stored.names.has(table.name)) this.#upgrade(table, stored);
        else this.#create(table, stored);
        for (const old of table.replaces ?? []) if (stored.names.has(old.name)) this.#move(old, stored);
      }
    });
    stored.ready.add(tables);
  }

  /** Of any program. */
  hasTable(name: string): boolean {
    return this.#stored.value.names.has(name);
  }

  /** Tables were made or dropped by other statements. */
  refresh(): void {
    this.#stored.drop();
  }

  #create(table: TableDefinition, stored: Stored): void {
    for (const statement of table.create) this.#sql.run(statement);
    this.#note(table, stored);
    stored.names.add(table.name);
  }

  #upgrade(table: TableDefinition, stored: Stored): void {
    const done = stored.versions.get(table.name) ?? 0;
    for (const migrate of table.migrations?.slice(done) ?? []) migrate(this.#sql);
    this.#note(table, stored);
  }

  #move({ name, move }: ReplacedTable, stored: Stored): void {
    move(this.#sql);
    this.#sql.run(`DROP TABLE ${name}`);
    stored.names.delete(name);
  }

  /** A table without migrations needs no note. */
  #note({ name, migrations = [] }: TableDefinition, { versions }: Stored): void {
    if ((versions.get(name) ?? 0) === migrations.length) return;
    versions.set(name, migrations.length);
    this.#sql.run("UPDATE cf_meta SET tables = ? WHERE id = 1", JSON.stringify(Object.fromEntries(versions)));
  }
}

function readStored(sql: Sql): Stored {
  const row = sql.one<{ names: string; versions: string | null }>(
    `SELECT (SELECT json_group_array(name) FROM sqlite_master WHERE type = 'table') AS names,
       (SELECT tables FROM cf_meta WHERE id = 1) AS versions`
  );
  // Written by SQLite and by `#note` only.
  const names = new Set(JSON.parse(row?.names ?? "[]") as string[]);
  const versions = new Map(Object.entries(JSON.parse(row?.versions ?? "{}") as Record<string, number>));
  return { names, versions, ready: new Set() };
}

/** The tables of one owner, which are made together. */
export class TableSet {
  readonly #sql: Sql;
  readonly #tables: readonly TableDefinition[];

  constructor(sql: Sql, tables: readonly TableDefinition[]) {
    this.#sql = sql;
    this.#tables = tables;
  }

  get exists(): boolean {
    return this.#sql.catalog.has(this.#tables);
  }

  make(): void {
    this.#sql.catalog.make(this.#tables);
  }

  /** No rows while the tables do not exist. */
  all<Row extends object = SqlRow>(query: string, ...values: SqlValue[]): Row[] {
    return this.exists ? this.#sql.all<Row>(query, ...values) : [];
  }

  /** Undefined while the tables do not exist, also for a sum or a count. */
  one<Row extends object = SqlRow>(query: string, ...values: SqlValue[]): Row | undefined {
    return this.exists ? this.#sql.one<Row>(query, ...values) : undefined;
  }

  /** A statement that may add rows: the tables are made first. */
  run(query: string, ...values: SqlValue[]): { readonly changed: number } {
    this.make();
    return this.#sql.run(query, ...values);
  }

  transaction<T>(work: () => T): T {
    return this.#sql.transaction(work);
  }

  /** A statement that can only change or delete rows: it does nothing while the tables do not exist. */
  change(query: string, ...values: SqlValue[]): { readonly changed: number } {
    return this.exists ? this.#sql.run(query, ...values) : UNCHANGED;
  }
}

const UNCHANGED = { changed: 0 };

/** Adds the columns that the table does not have. */
export function addColumns(sql: Sql, table: string, columns: Readonly<Record<string, string>>): void {
  const present = new Set(sql.all<{ name: string }>(`PRAGMA table_info(${table})`).map(({ name }) => name));
  for (const [name, type] of Object.entries(columns)) {
    if (!present.has(name)) sql.run(`ALTER TABLE ${table} ADD COLUMN ${name} ${type}`);
  }
}
