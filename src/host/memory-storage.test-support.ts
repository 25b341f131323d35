// As much of a Durable Object's storage as the Sql port uses, over an in-memory SQLite. Tests open the port of production
// on it, so that transactions, rollbacks and tables that are made on their first write are those of production.
import type { SqlRow, SqlValue } from "./ports.ts";

/** What is used of node:sqlite's DatabaseSync. Test files pass a real one. */
export interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): { all(...values: SqlValue[]): unknown[] };
}

/** `before` is called with every statement; what it throws is thrown instead of running it. */
export function memoryStorage(database: SqliteDatabase, before?: (query: string) => void): DurableObjectStorage {
  let depth = 0;
  const rollBack = (level: string) => database.exec(`ROLLBACK TO ${level}; RELEASE ${level}`);
  const storage = {
    sql: {
      exec(query: string, ...values: SqlValue[]) {
        before?.(query);
        const rows = database.prepare(query).all(...values) as SqlRow[];
        const cursor = rows.map((row) => ({ ...row })).values();
        return {
          next: () => cursor.next(),
          toArray: () => [...cursor],
          one: () => cursor.next().value
        };
      }
    },
    transactionSync<T>(work: () => T): T {
      const level = `level_${depth++}`;
      database.exec(`SAVEPOINT ${level}`);
      try {
        const result = work();
        database.exec(`RELEASE ${level}`);
        return result;
      } catch (error) {
        rollBack(level);
        throw error;
      } finally {
        depth -= 1;
      }
    },
    async transaction<T>(work: (transaction: { rollback(): void }) => Promise<T>): Promise<T> {
      const level = `level_${depth++}`;
      let isUndone = false;
      database.exec(`SAVEPOINT ${level}`);
      try {
        const result = await work({ rollback: () => void (isUndone = true) });
        if (isUndone) rollBack(level);
        else database.exec(`RELEASE ${level}`);
        return result;
      } catch (error) {
        rollBack(level);
        throw error;
      } finally {
        depth -= 1;
      }
    }
  };
  return storage as object as DurableObjectStorage;
}
