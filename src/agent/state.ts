// The agent's shared state: one JSON row, one copy in memory, and one frame per tick to every client that follows it.
// What is in memory is always what was parsed back from the stored text, so the two cannot differ.
import { Cached } from "../host/cached.ts";
import type { Sql } from "../host/ports.ts";
import { TableSet, type TableDefinition } from "../host/table-set.ts";
import type { Quarantine } from "../host/quarantine.ts";
import { byteLength } from "../util/bytes.ts";
import { errorMessage } from "../util/errors.ts";
import { parseJson } from "../util/json.ts";
import type { Connection } from "../host/connection.ts";
import { agentErrors } from "./errors.ts";

/** One SQLite cell holds at most 2 MB; the rest is left for the row around it. */
export const STATE_LIMIT_BYTES = 1_900_000;

/** Who changed the state: agent code, or the client that pushed it. */
export type StateSource = Connection | "server";

export interface StateInit {
  sql: Sql;
  quarantine: Quarantine;
  /** The class's `initialState`, read when first needed: fields are assigned after construction. */
  initial: () => { value: unknown } | undefined;
  validate: (next: unknown, source: StateSource) => void;
  /** Sends a state frame to every protocol-enabled connection but one. */
  broadcast: (stateJson: string, except: Connection | undefined) => void;
  /** Called after each change, without delaying the caller. */
  changed: (next: unknown, source: StateSource) => void;
}

interface Loaded {
  json: string;
  value: unknown;
}

export const STATE_TABLES: readonly TableDefinition[] = [
  // Bound: one row, of at most STATE_LIMIT_BYTES. Deleted: with the object.
  {
    name: "cf_state",
    create: [
      `CREATE TABLE cf_state (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        json TEXT NOT NULL
      )`
    ]
  }
];

export class StateStore {
  readonly #init: StateInit;
  readonly #table: TableSet;
  /** `null`: nothing is stored. */
  readonly #loaded: Cached<Loaded | null>;
  #unsent: { except: Connection | undefined } | undefined;

  constructor(init: StateInit) {
    this.#init = init;
    this.#table = new TableSet(init.sql, STATE_TABLES);
    this.#loaded = new Cached(init.sql, () => this.#load());
  }

  get value(): unknown {
    return this.read()?.value;
  }

  /** The stored state; the first read of an unset one stores `initialState`. `reader` is served by its caller. */
  read(reader?: Connection): Loaded | null {
    if (this.#loaded.value !== null) return this.#loaded.value;
    const initial = this.#init.initial();
    if (initial !== undefined) this.#apply(initial.value, "server", reader);
    return this.#loaded.value;
  }

  set(next: unknown, source: StateSource): void {
    this.#apply(next, source, source === "server" ? undefined : source);
  }

  /** Sends what `set` queued in this tick. Called before any other frame so that frames keep their order. */
  flush(): void {
    if (!this.#unsent || !this.#loaded.value) return;
    const { except } = this.#unsent;
    this.#unsent = undefined;
    this.#init.broadcast(this.#loaded.value.json, except);
  }

  #apply(next: unknown, source: StateSource, except: Connection | undefined): void {
    this.#init.validate(next, source);
    const json = serialize(next);
    this.#table.run(
      "INSERT INTO cf_state (id, json) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET json = excluded.json",
      json
    );
    const loaded = { json, value: JSON.parse(json) as unknown };
    this.#loaded.set(loaded);
    this.#init.sql.afterTransaction({
      committed: () => {
        if (!this.#unsent) queueMicrotask(() => this.flush());
        // Only the last writer of the tick already shows the final value; all other clients need the frame.
        this.#unsent = { except };
        this.#init.changed(loaded.value, source);
      }
    });
  }

  #load(): Loaded | null {
    const row = this.#table.one<{ json: string }>("SELECT json FROM cf_state WHERE id = 1");
    if (!row) return null;
    const parsed = parseJson(row.json);
    if (parsed.ok) return { json: row.json, value: parsed.value };
    this.#init.quarantine({ table: "cf_state", key: "1", body: row.json, error: parsed.error });
    this.#table.change("DELETE FROM cf_state WHERE id = 1");
    return null;
  }
}

function serialize(value: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    throw agentErrors.StateNotSerializableError(errorMessage(error));
  }
  if (json === undefined) throw agentErrors.StateNotSerializableError();
  const sizeBytes = byteLength(json);
  if (sizeBytes > STATE_LIMIT_BYTES) throw agentErrors.StateTooLargeError(sizeBytes, STATE_LIMIT_BYTES);
  return json;
}
