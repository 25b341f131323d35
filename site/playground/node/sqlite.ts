// What the in-process host uses of node:sqlite, over SQLite compiled to WebAssembly.
import { openedSql } from "../opened-sql.ts";

type Bound = null | number | string | Uint8Array;
type Input = null | number | bigint | string | Uint8Array;

type Database = ReturnType<typeof openedSql>["Database"]["prototype"];
type Statement = ReturnType<Database["prepare"]>;

export class DatabaseSync {
  readonly #database: Database = new (openedSql().Database)();

  constructor() {
    this.exec("PRAGMA foreign_keys = ON");
  }

  exec(text: string): void {
    this.#database.exec(text);
  }

  prepare(text: string): StatementSync {
    return new StatementSync(this.#database.prepare(text));
  }

  close(): void {
    this.#database.close();
  }
}

class StatementSync {
  readonly sourceSQL: string;
  readonly #statement: Statement;

  constructor(statement: Statement) {
    this.#statement = statement;
    this.sourceSQL = statement.getSQL();
  }

  // Arrays and big integers are all that is given here.
  setReadBigInts(): void {}
  setReturnArrays(): void {}

  columns(): { name: string }[] {
    return this.#statement.getColumnNames().map((name) => ({ name }));
  }

  all(...values: unknown[]): unknown[][] {
    this.#bind(values);
    const rows: unknown[][] = [];
    while (this.#statement.step()) rows.push(this.#row());
    this.#statement.reset();
    return rows;
  }

  get(...values: unknown[]): unknown[] | undefined {
    return this.all(...values)[0];
  }

  #row(): unknown[] {
    return this.#statement.get(null, { useBigInt: true }) as unknown[];
  }

  #bind(values: readonly unknown[]): void {
    this.#statement.reset();
    const [first] = values;
    const isNamed = typeof first === "object" && first !== null && !ArrayBuffer.isView(first);
    if (!isNamed) {
      if (values.length > 0) this.#statement.bind(values.map((value) => bindable(value as Input)));
      return;
    }
    const named = Object.entries(first as Record<string, Input>).map(([name, value]) => [name, bindable(value)]);
    this.#statement.bind(Object.fromEntries(named) as Record<string, Bound>);
  }
}

/** A big integer would be bound as a text. */
function bindable(value: Input): Bound {
  return typeof value === "bigint" ? Number(value) : value;
}
