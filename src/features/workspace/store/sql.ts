// How the store talks to SQL. Operations are written once, as generators that yield statements. A synchronous database
// runs one in one transaction with nothing in between; one that answers later (D1, a proxy) runs the same steps one
// after the other, one operation at a time, and has no transaction around them.
import type { Sql, SqlRow, SqlValue } from "../../../host/ports.ts";
import { portOf } from "../../../host/sql.ts";
import type { MaybePromise } from "../../../util/maybe-promise.ts";
import { workspaceErrors } from "../errors.ts";

export type SqlParam = SqlValue;

/** Any SQL database, through two functions. Answers may come at once or later. */
export interface SqlBackend {
  query<T = Record<string, unknown>>(sql: string, ...params: SqlParam[]): T[] | Promise<T[]>;
  run(sql: string, ...params: SqlParam[]): void | Promise<void>;
}

/** `ctx.storage.sql` of a Durable Object. */
export interface SqlStorageLike {
  exec(query: string, ...bindings: SqlParam[]): { toArray(): unknown[] };
}

/** `env.DB` of a D1 database. */
export interface D1Like {
  prepare(query: string): {
    bind(...values: SqlParam[]): { all(): Promise<{ results: unknown[] }> };
  };
}

export type SqlSource = SqlStorageLike | D1Like | SqlBackend;

export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

export type SqlSteps<T> = Generator<Statement, T, SqlRow[]>;

/** Runs one statement and gives its rows. Their shape is the caller's word: SQLite has no types to check against. */
export function* all<Row extends object = SqlRow>(sql: string, ...values: SqlValue[]): SqlSteps<Row[]> {
  return (yield { sql, values }) as Row[];
}

export function* one<Row extends object = SqlRow>(sql: string, ...values: SqlValue[]): SqlSteps<Row | undefined> {
  const rows = (yield { sql, values }) as Row[];
  return rows[0];
}

export interface Runner {
  read<T>(work: () => SqlSteps<T>): MaybePromise<T>;
  /** Writes all or nothing where the database is synchronous. */
  write<T>(work: () => SqlSteps<T>): MaybePromise<T>;
  /** Called when what was written may have been undone: caches of it are then wrong. */
  onUndone(forget: () => void): void;
}

export function openRunner(source: SqlSource | Sql): Runner {
  if (isPort(source)) return openPortRunner(source);
  if ("exec" in source) {
    const port = portOf(source);
    return port ? openPortRunner(port) : openStorageRunner(source);
  }
  if ("prepare" in source) return openAsyncRunner(async (statement) => runOnD1(source, statement));
  if ("query" in source) return openAsyncRunner(async (statement) => runOnBackend(source, statement));
  throw workspaceErrors.WorkspaceSetupError(
    "The workspace was given no database.",
    "`sql` must be ctx.storage.sql, a D1 database, or an object with query() and run()."
  );
}

function isPort(source: SqlSource | Sql): source is Sql {
  return "transaction" in source && "afterTransaction" in source;
}

function openPortRunner(sql: Sql): Runner {
  const execute = ({ sql: text, values }: Statement) => sql.all(text, ...values);
  const listeners: (() => void)[] = [];
  const undone = () => listeners.forEach((forget) => forget());
  return {
    read: (work) => drive(work(), execute),
    write: (work) =>
      sql.transaction(() => {
        // Also when a transaction that user code opened around this one is rolled back.
        sql.afterTransaction({ committed: () => undefined, undone });
        return drive(work(), execute);
      }),
    onUndone: (forget) => void listeners.push(forget)
  };
}

/** Runs on the platform's storage, which commits writes without an await in between together. */
function openStorageRunner(storage: SqlStorageLike): Runner {
  const listeners: (() => void)[] = [];
  const execute = ({ sql, values }: Statement) =>
    storage
      .exec(sql, ...values)
      .toArray()
      .map(withBytes);
  const run = <T>(work: () => SqlSteps<T>): T => {
    try {
      return drive(work(), execute);
    } catch (error) {
      listeners.forEach((forget) => forget());
      throw error;
    }
  };
  return { read: run, write: run, onUndone: (forget) => void listeners.push(forget) };
}

function openAsyncRunner(execute: (statement: Statement) => Promise<SqlRow[]>): Runner {
  const listeners: (() => void)[] = [];
  let last: Promise<unknown> = Promise.resolve();
  return {
    read: (work) => driveLater(work(), execute),
    write: <T>(work: () => SqlSteps<T>) => {
      const result = last.then(() => driveLater(work(), execute));
      last = result.catch(() => listeners.forEach((forget) => forget()));
      return result;
    },
    onUndone: (forget) => void listeners.push(forget)
  };
}

function drive<T>(steps: SqlSteps<T>, execute: (statement: Statement) => SqlRow[]): T {
  let step = steps.next();
  while (!step.done) {
    let rows: SqlRow[];
    try {
      rows = execute(step.value);
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(rows);
  }
  return step.value;
}

async function driveLater<T>(steps: SqlSteps<T>, execute: (statement: Statement) => Promise<SqlRow[]>): Promise<T> {
  let step = steps.next();
  while (!step.done) {
    let rows: SqlRow[];
    try {
      rows = await execute(step.value);
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(rows);
  }
  return step.value;
}

async function runOnD1(database: D1Like, { sql, values }: Statement): Promise<SqlRow[]> {
  const { results } = await database
    .prepare(sql)
    .bind(...values)
    .all();
  return results.map(withBytes);
}

async function runOnBackend(backend: SqlBackend, { sql, values }: Statement): Promise<SqlRow[]> {
  if (/^\s*(?:SELECT|PRAGMA)|\bRETURNING\b/i.test(sql))
    return (await backend.query<object>(sql, ...values)).map(withBytes);
  await backend.run(sql, ...values);
  return [];
}

/** The only columns with bytes. A look at every value of every row would take longer than the reading. */
const BYTE_COLUMNS = ["content", "bytes"];

/** Makes blobs bytes: databases give them as ArrayBuffer, as an array of numbers (D1) or as bytes. The row is changed. */
function withBytes(row: unknown): SqlRow {
  const values = row as Record<string, SqlValue | ArrayBuffer | number[]>;
  for (const column of BYTE_COLUMNS) {
    const value = values[column];
    if (value instanceof ArrayBuffer) values[column] = new Uint8Array(value);
    else if (Array.isArray(value)) values[column] = Uint8Array.from(value);
  }
  return values as SqlRow;
}
