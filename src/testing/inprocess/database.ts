// One SQLite file of one object, held in memory by the test process: it outlives every simulated crash. Savepoints nest;
// `rollBackAll` is what a crash does to a transaction that had not committed. Counting and liveness belong to callers.
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from "node:sqlite";
import { standIn } from "./stand-in.ts";
import { hasStatement, isSchemaChange, readSql, type SqlText } from "./sql-text.ts";

const CACHED_STATEMENTS = 256;

export interface StatementResult {
  readonly columns: string[];
  readonly rows: SQLOutputValue[][];
  readonly rowsWritten: number;
  /** Rows or the schema changed. */
  readonly hasWritten: boolean;
}

interface Prepared {
  readonly text: SqlText;
  readonly statement: StatementSync;
  readonly length: number;
}

export class Database {
  #sqlite = open();
  #statements = new Map<string, Prepared>();
  #depth = 0;

  /** Runs the first statement of `sql` and says where the next one starts. */
  runFirst(
    sql: string,
    bind: (text: SqlText, isLast: boolean) => SQLInputValue[]
  ): StatementResult & { length: number } {
    const prepared = this.#prepare(sql);
    const values = bind(prepared.text, sql.slice(prepared.length).trim() === "");
    return { ...this.#execute(prepared, values), length: prepared.length };
  }

  /** For the host's own tables and for inspection: one statement, positional values, no rules applied. */
  run(sql: string, ...values: SQLInputValue[]): StatementResult {
    return this.#execute(this.#prepare(sql), values);
  }

  has(table: string): boolean {
    return this.run("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table).rows.length > 0;
  }

  get sizeBytes(): number {
    const [[pages] = []] = this.run("PRAGMA page_count").rows;
    const [[size] = []] = this.run("PRAGMA page_size").rows;
    return Number(pages) * Number(size);
  }

  get isInTransaction(): boolean {
    return this.#depth > 0;
  }

  begin(): void {
    this.#sqlite.exec(`SAVEPOINT level_${this.#depth}`);
    this.#depth++;
  }

  commit(): void {
    this.#depth--;
    this.#sqlite.exec(`RELEASE level_${this.#depth}`);
  }

  rollBack(): void {
    this.#depth--;
    this.#sqlite.exec(`ROLLBACK TO level_${this.#depth}; RELEASE level_${this.#depth}`);
  }

  rollBackAll(): void {
    while (this.#depth > 0) this.rollBack();
  }

  /** An empty file, as the platform's deleteAll leaves it. */
  wipe(): void {
    this.#sqlite.close();
    this.#statements.clear();
    this.#sqlite = open();
  }

  #prepare(sql: string): Prepared {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const prepared = this.#compile(sql);
    if (this.#statements.size >= CACHED_STATEMENTS) this.#statements.clear();
    // Only whole queries are cached: in a batch, later statements may depend on earlier ones.
    if (sql.slice(prepared.length).trim() === "") this.#statements.set(sql, prepared);
    return prepared;
  }

  #compile(sql: string): Prepared {
    // Not left to node:sqlite: it hands out a dead statement, and the process crashes when that one is collected.
    if (!hasStatement(sql)) throw new Error("SQL code did not contain a statement.");
    const statement = translated(() => this.#sqlite.prepare(sql));
    const source = statement.sourceSQL;
    statement.setReadBigInts(true);
    statement.setReturnArrays(true);
    return { text: readSql(source), statement, length: source.length };
  }

  #execute({ text, statement }: Prepared, values: SQLInputValue[]): StatementResult {
    const isSchema = isSchemaChange(text.code);
    const schemaBefore = isSchema ? this.#schemaVersion() : 0;
    const changesBefore = this.#totalChanges();
    const rows = translated(() => standIn<SQLOutputValue[][]>(runStatement(statement, text, values)));
    const rowsWritten = this.#totalChanges() - changesBefore;
    const hasWritten = rowsWritten > 0 || (isSchema && this.#schemaVersion() !== schemaBefore);
    return { columns: statement.columns().map((column) => column.name), rows, rowsWritten, hasWritten };
  }

  #totalChanges(): number {
    return Number(this.#scalar("SELECT total_changes() AS value"));
  }

  #schemaVersion(): number {
    return Number(this.#scalar("PRAGMA schema_version"));
  }

  #scalar(sql: string): unknown {
    const { statement } = this.#prepare(sql);
    return standIn<unknown[]>(statement.get())[0];
  }
}

function open(): DatabaseSync {
  return new DatabaseSync(":memory:", {
    enableForeignKeyConstraints: true,
    enableDoubleQuotedStringLiterals: true
  });
}

/** node:sqlite binds plain `?` by position and everything that has a name by name. */
function runStatement(statement: StatementSync, text: SqlText, values: SQLInputValue[]): unknown[] {
  if (text.parameters.every((name) => name === undefined)) return statement.all(...values);
  const named: Record<string, SQLInputValue> = {};
  const positional: SQLInputValue[] = [];
  text.parameters.forEach((name, index) => {
    const value = values[index] ?? null;
    if (name === undefined) positional.push(value);
    else named[name] = value;
  });
  return statement.all(named, ...positional);
}

function translated<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw sqliteError(error);
  }
}

const CODES: Record<number, string> = {
  1: "SQLITE_ERROR",
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  7: "SQLITE_NOMEM",
  8: "SQLITE_READONLY",
  13: "SQLITE_FULL",
  18: "SQLITE_TOOBIG",
  19: "SQLITE_CONSTRAINT",
  20: "SQLITE_MISMATCH",
  21: "SQLITE_MISUSE",
  23: "SQLITE_AUTH",
  25: "SQLITE_RANGE"
};

const CONSTRAINTS: Record<number, string> = {
  1: "CHECK",
  3: "FOREIGNKEY",
  5: "NOTNULL",
  6: "PRIMARYKEY",
  7: "TRIGGER",
  8: "UNIQUE",
  10: "ROWID",
  12: "DATATYPE"
};

const CONSTRAINT_CODE = 19;

/** SQLite's error in the platform's wording: the message, then the name of the result code. */
function sqliteError(error: unknown): unknown {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return error;
  const primary = error.errcode & 0xff;
  const extended = error.errcode >> 8;
  const constraint = primary === CONSTRAINT_CODE ? CONSTRAINTS[extended] : undefined;
  const suffix = constraint === undefined ? "" : ` (extended: SQLITE_CONSTRAINT_${constraint})`;
  return new Error(`${error.message}: ${CODES[primary] ?? "SQLITE_ERROR"}${suffix}`, { cause: error });
}
