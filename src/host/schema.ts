// Opens an object's database. All objects have one table, cf_meta, whose one row is what a boot reads; every other table
// is declared, made and migrated by its owner (table-set.ts). A database that a newer build has written is refused
// untouched; one that the packages everthink replaces have written is taken over (takeover.ts).
import { hostErrors } from "./errors.ts";
import type { Sql } from "./ports.ts";
import { addColumns } from "./table-set.ts";
import {
  isOriginalObject,
  refuseUncarried,
  takeOverOriginal,
  type TakeoverInit,
  type TakeoverReport
} from "./takeover.ts";

/** Raised with every change of a table that older builds cannot work with, together with a fixture database. */
export const SCHEMA_VERSION = 8;

/** Until version 4 all migrations ran here; since then `tables` holds how many of its own each table has behind it. */
const META_COLUMNS = { tables: "TEXT" };

// Owner: this file. One row, for the life of the object.
const META_TABLE = `CREATE TABLE cf_meta (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL,
    identity TEXT,
    condemned INTEGER NOT NULL DEFAULT 0,
    tables ${META_COLUMNS.tables}
  )`;

/** The one row that boot reads. */
export interface MetaRow {
  version: number;
  /** JSON of the object's identity, written at the first start. */
  identity: string | null;
  /** Set when destroy() began: the object must be torn down, never started. */
  condemned: number;
  /** The object was the original's until now. */
  takenOver?: TakeoverReport;
}

/** Tables of the original that have the names of ours. */
const SAME_NAMES = ["assistant_messages", "assistant_compactions"];
export const SET_ASIDE_SUFFIX = "_original";

/** For a database of no class. */
const NOTHING_CARRIED: TakeoverInit = { parts: [], lossyKinds: [], now: Date.now, newId: () => "", arm: () => {} };

/** Brings the database to the newest version and returns the meta row. One read when it is up to date. */
export function openSchema(sql: Sql, takeover: TakeoverInit = NOTHING_CARRIED): MetaRow {
  const meta = readMeta(sql);
  const version = meta?.version ?? 0;
  if (version > SCHEMA_VERSION) throw hostErrors.NewerSchemaError(version, SCHEMA_VERSION);
  if (meta && version === SCHEMA_VERSION) return meta;
  const tables = tablesOf(sql);
  const lost = !meta && isOriginalObject(tables) ? refuseUncarried(sql, tables, takeover) : undefined;
  return sql.transaction(() => {
    if (tables.has("cf_meta")) addColumns(sql, "cf_meta", META_COLUMNS);
    else sql.run(META_TABLE);
    setOriginalTablesAside(sql, tables);
    sql.run(
      "INSERT INTO cf_meta (id, version) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET version = excluded.version",
      SCHEMA_VERSION
    );
    const opened = { version: SCHEMA_VERSION, identity: meta?.identity ?? null, condemned: meta?.condemned ?? 0 };
    return lost ? { ...opened, takenOver: takeOverOriginal(sql, { tables, lost }, takeover) } : opened;
  });
}

/** Theirs are renamed; the owner of ours moves the rows. */
function setOriginalTablesAside(sql: Sql, tables: ReadonlySet<string>): void {
  for (const name of SAME_NAMES) {
    if (!tables.has(name)) continue;
    const columns = sql.all<{ name: string }>(`PRAGMA table_info(${name})`);
    if (columns.some((column) => column.name === "sequence")) continue;
    sql.run(`ALTER TABLE ${name} RENAME TO ${name}${SET_ASIDE_SUFFIX}`);
  }
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
