// Private settings of one agent: a JSON value that survives restarts and is never sent to clients. Reading gives a fresh
// copy each time, so nobody can change what is stored by changing what they were given.
// Table think_config: owner is this file; bound: one row per key, of which there is one here; deleted with the object.
import { encodeStored } from "../agent/stored-json.ts";
import type { Sql } from "../host/ports.ts";
import type { Quarantine } from "../host/quarantine.ts";
import { parseJson } from "../util/json.ts";

/** The name under which objects of the original kept theirs. */
const KEY = "_think_config";

export interface ConfigStore {
  readonly sql: Sql;
  readonly quarantine: Quarantine;
}

/** The last value written; null when there is none. */
export function readConfig(store: ConfigStore): unknown {
  const row = store.sql.one<{ value: string }>("SELECT value FROM think_config WHERE key = ?", KEY);
  if (row === undefined) return null;
  const parsed = parseJson(row.value);
  if (parsed.ok) return parsed.value;
  store.sql.transaction(() => {
    store.quarantine({ table: "think_config", key: KEY, body: row.value, error: parsed.error });
    store.sql.run("DELETE FROM think_config WHERE key = ?", KEY);
  });
  return null;
}

/** Throws NotJsonError or TooLargeError, and stores nothing then. */
export function writeConfig(store: ConfigStore, config: unknown): void {
  const json = encodeStored(config, "configuration");
  store.sql.run("INSERT OR REPLACE INTO think_config (key, value) VALUES (?, ?)", KEY, json);
}
