// SQLite as WebAssembly is loaded before the host, which opens databases without waiting.
interface Statement {
  getSQL(): string;
  getColumnNames(): string[];
  bind(values: readonly unknown[] | Readonly<Record<string, unknown>>): void;
  step(): boolean;
  get(values: null, config: { useBigInt: true }): unknown[];
  reset(): void;
}

interface Database {
  exec(text: string): void;
  prepare(text: string): Statement;
  close(): void;
}

export interface OpenedSql {
  readonly Database: { new (): Database; readonly prototype: Database };
}

const holder = globalThis as { playgroundSql?: OpenedSql };

export function keepSql(sql: OpenedSql): void {
  holder.playgroundSql = sql;
}

export function openedSql(): OpenedSql {
  if (holder.playgroundSql === undefined) throw new Error("SQLite is not loaded.");
  return holder.playgroundSql;
}
