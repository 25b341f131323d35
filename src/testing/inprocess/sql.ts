// `ctx.storage.sql`: the platform's rules over node:sqlite. Results are read eagerly, so `rowsRead` counts rows returned
// rather than rows scanned, and index writes are not part of `rowsWritten`. Not enforced, because node:sqlite 22 has no
// way to: the limits on columns, compound SELECT terms, expression depth and LIKE patterns.
import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import { byteLength } from "../../util/bytes.ts";
import type { StorageAccess } from "./storage-access.ts";
import { refuseForbidden, type SqlText } from "./sql-text.ts";

/** Strings, blobs and therefore rows. Cloudflare enforces it; a local workerd lets larger values pass. */
export const VALUE_LIMIT_BYTES = 2 * 1024 * 1024;
const STATEMENT_LIMIT_BYTES = 100_000;
const PARAMETER_LIMIT = 100;

type Value = ArrayBuffer | string | number | null;
type Row = Record<string, Value>;

export class SqlStorageFake {
  readonly #access: StorageAccess;

  constructor(access: StorageAccess) {
    this.#access = access;
  }

  get databaseSize(): number {
    return this.#access.database.sizeBytes;
  }

  /** Several statements may be given; only the last one takes parameters and returns rows. */
  exec(query: string, ...bindings: unknown[]): CursorFake {
    const { database } = this.#access;
    const values = bindings.map(toSqlite);
    let rest = String(query);
    if (byteLength(rest) > STATEMENT_LIMIT_BYTES) throw new Error("statement too long: SQLITE_TOOBIG");
    let rowsWritten = 0;
    while (true) {
      const result = database.runFirst(rest, (text, isLast) => checkedBindings(text, values, isLast));
      rowsWritten += result.rowsWritten;
      const rows = result.rows.map((row) => row.map(fromSqlite));
      this.#access.read(rows.length);
      if (result.hasWritten) this.#access.wrote(result.rowsWritten);
      rest = rest.slice(result.length);
      if (rest.trim() === "") return new CursorFake(result.columns, rows, rowsWritten);
    }
  }
}

export class CursorFake implements IterableIterator<Row> {
  readonly columnNames: string[];
  readonly rowsWritten: number;
  readonly #rows: Value[][];
  #position = 0;

  constructor(columnNames: string[], rows: Value[][], rowsWritten: number) {
    this.columnNames = columnNames;
    this.rowsWritten = rowsWritten;
    this.#rows = rows;
  }

  get rowsRead(): number {
    return this.#rows.length;
  }

  next(): IteratorResult<Row, undefined> {
    const row = this.#take();
    return row === undefined ? { done: true, value: undefined } : { done: false, value: this.#asObject(row) };
  }

  toArray(): Row[] {
    return [...this];
  }

  one(): Row {
    const [row, second] = [this.next(), this.#take()];
    const expectation = "Expected exactly one result from SQL query, but got";
    if (row.done === true) throw new Error(`${expectation} no results.`);
    if (second !== undefined) throw new Error(`${expectation} multiple results.`);
    return row.value;
  }

  *raw(): Generator<Value[]> {
    for (let row = this.#take(); row !== undefined; row = this.#take()) yield row;
  }

  [Symbol.iterator](): this {
    return this;
  }

  #take(): Value[] | undefined {
    return this.#rows[this.#position++];
  }

  #asObject(row: Value[]): Row {
    return Object.fromEntries(this.columnNames.map((name, index) => [name, row[index] ?? null]));
  }
}

function checkedBindings(text: SqlText, values: SQLInputValue[], isLast: boolean): SQLInputValue[] {
  refuseForbidden(text.code);
  if (!isLast) {
    if (text.parameters.length === 0) return [];
    throw new Error(
      "When executing multiple SQL statements in a single call, only the last statement can have parameters."
    );
  }
  if (text.parameters.length > PARAMETER_LIMIT) throw new Error("too many SQL variables: SQLITE_ERROR");
  if (text.parameters.length !== values.length) {
    throw new Error("Wrong number of parameter bindings for SQL query.");
  }
  return values;
}

/** The platform coerces like a call into C++: null and undefined to NULL, anything it has no type for to text. */
function toSqlite(value: unknown): SQLInputValue {
  if (value === null || value === undefined) return null;
  if (typeof value === "number") return Number.isNaN(value) ? null : value;
  if (typeof value === "bigint") throw new TypeError("Cannot convert a BigInt value to a number");
  if (value instanceof ArrayBuffer) return limited(new Uint8Array(value), value.byteLength);
  if (ArrayBuffer.isView(value)) {
    return limited(new Uint8Array(value.buffer, value.byteOffset, value.byteLength), value.byteLength);
  }
  const text = String(value);
  return limited(text, text.length > VALUE_LIMIT_BYTES ? text.length : byteLength(text));
}

function limited<T>(value: T, sizeBytes: number): T {
  if (sizeBytes > VALUE_LIMIT_BYTES) throw new Error("string or blob too big: SQLITE_TOOBIG");
  return value;
}

/** Integers beyond 2^53 come back rounded, as on the platform. */
function fromSqlite(value: SQLOutputValue): Value {
  if (typeof value === "bigint") return Number(value);
  if (value instanceof Uint8Array) return value.slice().buffer;
  return value;
}
