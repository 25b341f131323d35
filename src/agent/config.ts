// Private settings of one agent: a JSON value that survives restarts and is never sent to clients. Reading gives a fresh
// copy each time, so that user code cannot change what is stored by changing what it was given.
import { encodeStored } from "./stored-json.ts";
import type { Sql } from "../host/ports.ts";
import { TableSet, type TableDefinition } from "../host/table-set.ts";
import type { Quarantine } from "../host/quarantine.ts";
import { parseJson } from "../util/json.ts";

/** The name under which objects of the original kept theirs. */
export const CONFIG_KEY = "_think_config";

export const CONFIG_TABLES: readonly TableDefinition[] = [
  // Bound: one row per key, of which there is one. Deleted: with the object.
  {
    name: "think_config",
    create: [
      `CREATE TABLE think_config (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL
      ) WITHOUT ROWID`
    ]
  }
];

export interface ConfigStore {
  readonly sql: Sql;
  readonly quarantine: Quarantine;
}

/** The last value written; null when there is none. */
export function readConfig(store: ConfigStore): unknown {
  const table = new TableSet(store.sql, CONFIG_TABLES);
  const row = table.one<{ value: string }>("SELECT value FROM think_config WHERE key = ?", CONFIG_KEY);
  if (row === undefined) return null;
  const parsed = parseJson(row.value);
  if (parsed.ok) return parsed.value;
  table.transaction(() => {
    store.quarantine({ table: "think_config", key: CONFIG_KEY, body: row.value, error: parsed.error });
    table.change("DELETE FROM think_config WHERE key = ?", CONFIG_KEY);
  });
  return null;
}

/** Throws NotJsonError or TooLargeError, and stores nothing then. */
export function writeConfig(store: ConfigStore, config: unknown): void {
  const json = encodeStored(config, "configuration");
  new TableSet(store.sql, CONFIG_TABLES).run(
    "INSERT OR REPLACE INTO think_config (key, value) VALUES (?, ?)",
    CONFIG_KEY,
    json
  );
}
