// Statements of tests on what an object has stored. Objects make their tables when they first write to them; a test need
// not know which they have made: one that is not there yet reads as an empty one, and is made if the test writes to it.
import type { Database } from "./inprocess/database.ts";
import type { Sql, SqlValue } from "../host/ports.ts";
import { Tables } from "../host/tables.ts";

type Result = ReturnType<Database["run"]>;

export function runOnStored(database: Database, query: string, values: readonly SqlValue[]): Result {
  try {
    return database.run(query, ...values);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes("no such table") || !database.has("cf_meta")) throw error;
  }
  const isLook = /^\s*(?:SELECT|WITH)\b/i.test(query);
  database.run("SAVEPOINT stored_tables");
  try {
    new Tables(sqlOf(database)).makeFor(query);
    return database.run(query, ...values);
  } finally {
    if (isLook) database.run("ROLLBACK TO stored_tables");
    database.run("RELEASE stored_tables");
  }
}

/** As much of the port as making tables needs; the savepoint above is the transaction. */
function sqlOf(database: Database): Sql {
  const all = <Row extends object>(query: string, ...values: SqlValue[]) => {
    const { columns, rows } = database.run(query, ...values);
    return rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])) as Row);
  };
  return {
    all,
    one: <Row extends object>(query: string, ...values: SqlValue[]) => all<Row>(query, ...values)[0],
    run(query, ...values) {
      database.run(query, ...values);
      return { changed: 0 };
    },
    transaction: (work) => work(),
    afterTransaction: (end) => end.committed()
  };
}
