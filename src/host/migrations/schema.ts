// Every change of schema, in order, in one place. A database is brought to the newest version before anything else
// runs; one written by a newer everthink, or by the packages it replaces, is refused untouched.
import { ThinkError } from "../../util/errors.ts";
import type { Sql } from "../ports.ts";
import { foundation, META_TABLE } from "./001-foundation.ts";
import { conversation } from "./002-conversation.ts";
import { features } from "./003-features.ts";
import { durableWork } from "./004-durable-work.ts";
import { history } from "./005-history.ts";
import { refuseOriginal } from "./original.ts";

export interface Migration {
  /** Runs inside the transaction that also records the new version. */
  (sql: Sql): void;
}

/** Position + 1 is the version. Never edit or reorder a released entry: add one, with a fixture database. */
export const MIGRATIONS: readonly Migration[] = [foundation, conversation, features, durableWork, history];

export const SCHEMA_VERSION = MIGRATIONS.length;

export class NewerSchemaError extends ThinkError {
  constructor(readonly found: number) {
    super({
      code: "newer-schema",
      message: "This object was written by a newer version and cannot be opened.",
      hint: `Its schema is version ${found}, this build knows up to ${SCHEMA_VERSION}. Deploy a build at least as new; nothing was changed.`
    });
  }
}

/** The one row that boot reads. */
export interface MetaRow {
  version: number;
  /** JSON of the object's identity, written at the first start. */
  identity: string | null;
  /** Set when destroy() began: the object must be torn down, never started. */
  condemned: number;
}

/**
 * Brings the schema to the newest version and returns the meta row. One read when it is up to date. A new object gets
 * the one table that all have, and makes the others when it needs them (host/tables.ts).
 */
export function openSchema(sql: Sql): MetaRow {
  const meta = readMeta(sql);
  const version = meta?.version ?? 0;
  if (version > SCHEMA_VERSION) throw new NewerSchemaError(version);
  if (meta && version === SCHEMA_VERSION) return meta;
  const tables = tablesOf(sql);
  if (!meta) refuseOriginal(sql, tables);
  sql.transaction(() => {
    // What another program left is taken over table by table.
    if (tables.size === 0) sql.run(META_TABLE);
    else for (const migrate of MIGRATIONS.slice(version)) migrate(sql);
    sql.run(
      "INSERT INTO cf_meta (id, version) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET version = excluded.version",
      SCHEMA_VERSION
    );
  });
  return { version: SCHEMA_VERSION, identity: meta?.identity ?? null, condemned: meta?.condemned ?? 0 };
}

/** Without those of SQLite and of the platform. */
export function tablesOf(sql: Sql): Set<string> {
  const query = "SELECT json_group_array(name) AS names FROM sqlite_master WHERE type = 'table'";
  const names = JSON.parse(sql.one<{ names: string }>(query)?.names ?? "[]") as string[];
  return new Set(names.filter((name) => !/^(?:sqlite_|_cf_)/.test(name)));
}

function readMeta(sql: Sql): MetaRow | undefined {
  try {
    return sql.one<MetaRow & object>("SELECT version, identity, condemned FROM cf_meta WHERE id = 1");
  } catch (error) {
    // A new object has no table yet; anything else is a real failure.
    if (error instanceof Error && error.message.includes("no such table")) return undefined;
    throw error;
  }
}
