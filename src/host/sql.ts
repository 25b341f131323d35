// The Sql port over a Durable Object's storage.
import type { Sql, SqlRow, SqlValue } from "./ports.ts";
import { Catalog } from "./table-set.ts";
import { watchTransactions } from "./transactions.ts";

const ports = new WeakMap<object, Sql>();

/** The port over a `ctx.storage.sql` that an agent has opened: user code that passes it on still gets transactions. */
export function portOf(sqlStorage: object): Sql | undefined {
  return ports.get(sqlStorage);
}

export function openSql(storage: DurableObjectStorage): Sql {
  const { sql } = storage;
  const { transactions, run } = watchTransactions(storage);
  const exec = (query: string, values: SqlValue[]) => sql.exec(query, ...values);
  const port: Omit<Sql, "catalog"> = {
    // Row shapes are the caller's word: SQLite has no types to check against.
    all: <Row extends object = SqlRow>(query: string, ...values: SqlValue[]) =>
      exec(query, values).toArray().map(withBytes) as Row[],
    one: <Row extends object = SqlRow>(query: string, ...values: SqlValue[]) => {
      const { value, done } = exec(query, values).next();
      return done ? undefined : (withBytes(value) as Row);
    },
    run(query, ...values) {
      exec(query, values).toArray();
      return {
        get changed() {
          return Number(exec("SELECT changes() AS changed", []).one()["changed"]);
        }
      };
    },
    transaction: run,
    afterTransaction: (end) => transactions.after(end),
    get rollbacks() {
      return transactions.rollbacks;
    }
  };
  const opened = withCatalog(port);
  ports.set(sql, opened);
  return opened;
}

/** Every port has one catalog of its tables. */
export function withCatalog(port: Omit<Sql, "catalog">): Sql {
  let catalog: Catalog | undefined;
  // Its getters must stay getters.
  return Object.defineProperty(port, "catalog", { get: () => (catalog ??= new Catalog(port as Sql)) }) as Sql;
}

/** The platform gives blobs as ArrayBuffer; the port promises Uint8Array. The row is ours to change; most have no blob. */
function withBytes(row: Record<string, SqlStorageValue>): SqlRow {
  const converted: SqlRow = row as Record<string, Exclude<SqlStorageValue, ArrayBuffer>>;
  for (const key in row) {
    const value = row[key];
    if (value instanceof ArrayBuffer) converted[key] = new Uint8Array(value);
  }
  return converted;
}
