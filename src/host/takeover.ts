// Takes over an object that the packages everthink replaces have written. What cannot be carried is found before anything
// is written: the object is then refused with a list of it, and those packages can still open it. Otherwise every part
// carries its rows in the one transaction that makes the object ours, the tables of the original are dropped, and the
// original refuses the object in words from then on. What a kind of data becomes is the business of the part that owns it.
import { ThinkError } from "../util/errors.ts";
import type { Sql } from "./ports.ts";
import { TableSet, type TableDefinition } from "./table-set.ts";

/** Tables with these names are the original's, whatever they hold. */
const ORIGINAL_TABLES =
  /^(?:cf_agents?_|cf_ai_chat_|cf_think_|think_config$|assistant_(?:messages|compactions|config|fts)|cf_workspace_|_?vfs_|computer_)/;
/** An object that holds nothing else is no agent of the original: its owner takes these over when it first needs them. */
const LIBRARY_TABLES =
  /^(?:cf_agents_(?:context_blocks|search_\w+)|assistant_(?:messages|compactions|config|fts)\w*|cf_workspace_\w+|_?vfs_\w+)$/;

/** What every request of the original fails with after a take-over. SQLite names the function that it does not find. */
const ROLLBACK_SENTENCE =
  "This object was taken over by everthink, and only everthink can open it: deploy everthink again, or restore a backup from before the take-over";

/** A kind of data that one object had, in rows. */
export interface TakeoverCount {
  kind: string;
  /** Rows of the original that are data; its own bookkeeping is not counted. */
  found: number;
  /** Rows that have a counterpart now. */
  carried: number;
  /** Rows that need none, because they are over or are made anew. */
  left: number;
}

/** Rows that were given up because the class allowed it (`allowLossyTakeover`). */
export interface TakeoverLoss {
  kind: string;
  what: string;
  rows: number;
}

export interface TakeoverReport {
  /** Milliseconds since 1970. */
  takenOverAt: number;
  kinds: TakeoverCount[];
  lost: TakeoverLoss[];
}

/** What a part works with, in the transaction of the take-over. */
export interface TakeoverContext {
  readonly sql: Sql;
  readonly now: number;
  readonly newId: () => string;
  /** A table that the object had before. */
  has(table: string): boolean;
  /** Rows in a table, 0 without it. */
  count(table: string, where?: string): number;
}

/** One kind of data. */
export interface TakeoverPart {
  readonly kind: string;
  /** The tables of the original that it reads. They are dropped in the end, unless `keepsTables`. */
  readonly tables: readonly string[] | RegExp;
  readonly keepsTables?: true;
  /** What it cannot carry. Nothing is written yet. */
  refuses?(context: TakeoverContext): readonly { readonly what: string; readonly rows: number }[];
  /** Undefined: the object has no data of this kind. */
  carry(context: TakeoverContext): Omit<TakeoverCount, "kind"> | undefined;
}

export interface TakeoverInit {
  /** In the order in which they run. */
  readonly parts: readonly TakeoverPart[];
  /** Kinds that the class gives up. */
  readonly lossyKinds: readonly string[];
  readonly now: () => number;
  readonly newId: () => string;
  /** Sets the wake, as part of the transaction. */
  readonly arm: () => void;
}

export class OriginalObjectError extends ThinkError {
  constructor(readonly refused: readonly TakeoverLoss[]) {
    super({
      code: "object-of-the-original",
      message: `This object was written by the packages "agents" or "@cloudflare/think", and some of it cannot be taken over: ${refused.map(printed).join("; ")}.`,
      hint: `Nothing was changed: those packages can still open it. Finish or delete that data with them and deploy again, or give it up: static options = { allowLossyTakeover: ${JSON.stringify([...new Set(refused.map(({ kind }) => kind))])} }.`
    });
  }
}

export const TAKEOVER_TABLES: readonly TableDefinition[] = [
  // Bound: the report, and a row per child of the original. Deleted: with the child, the object.
  {
    name: "cf_takeover",
    create: ["CREATE TABLE cf_takeover (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"]
  }
];

const REPORT = "report";
const UNKNOWN_TABLES = "unknown-tables";

/** Undefined for an object that was never the original's. */
export function readTakeoverReport(sql: Sql): TakeoverReport | undefined {
  const row = new TableSet(sql, TAKEOVER_TABLES).one<{ value: string }>(
    "SELECT value FROM cf_takeover WHERE key = ?",
    REPORT
  );
  // Written by `takeOverOriginal` only.
  return row && (JSON.parse(row.value) as TakeoverReport);
}

export function isOriginalObject(tables: Iterable<string>): boolean {
  return [...tables].some((name) => ORIGINAL_TABLES.test(name) && !LIBRARY_TABLES.test(name));
}

/** Throws OriginalObjectError with what cannot be carried. Returns what the class gives up. Reads only. */
export function refuseUncarried(sql: Sql, tables: ReadonlySet<string>, init: TakeoverInit): TakeoverLoss[] {
  const context = contextOf(sql, tables, init);
  const { parts, lossyKinds } = init;
  const found = parts.flatMap((part) => {
    const refused = orUnknownForm(() => part.refuses?.(context) ?? [], { part, tables, context });
    const listed = "unknown" in refused ? [refused.unknown] : refused.value;
    return listed.filter(({ rows }) => rows > 0).map((refusal) => ({ ...refusal, kind: part.kind }));
  });
  const unknown = [...tables]
    .filter((name) => ORIGINAL_TABLES.test(name) && !parts.some((part) => reads(part, name)))
    .map((name) => ({ kind: UNKNOWN_TABLES, what: name, rows: context.count(name) }))
    .filter(({ rows }) => rows > 0);
  const all = [...found, ...unknown];
  const refused = all.filter(({ kind }) => !lossyKinds.includes(kind));
  if (refused.length > 0) throw new OriginalObjectError(refused);
  return all;
}

/** Part of the transaction that makes the object ours, once nothing is refused. */
export function takeOverOriginal(
  sql: Sql,
  { tables, lost }: { readonly tables: ReadonlySet<string>; readonly lost: TakeoverLoss[] },
  init: TakeoverInit
): TakeoverReport {
  const context = contextOf(sql, tables, init);
  const { parts, lossyKinds } = init;
  const kinds = parts.flatMap((part) => {
    const { kind } = part;
    // A transaction of its own: a kind that is given up leaves nothing half carried.
    const carried = orUnknownForm(() => sql.transaction(() => part.carry(context)), { part, tables, context });
    if ("value" in carried) return carried.value && carried.value.found > 0 ? [{ kind, ...carried.value }] : [];
    if (!lossyKinds.includes(kind)) throw new OriginalObjectError([carried.unknown]);
    sql.catalog.refresh();
    if (!lost.some((one) => one.kind === kind)) lost.push(carried.unknown);
    return [];
  });
  dropTables({ sql, tables, lost, parts });
  refuseOriginal(sql);
  sql.catalog.refresh();
  const report: TakeoverReport = { takenOverAt: context.now, kinds, lost };
  const table = new TableSet(sql, TAKEOVER_TABLES);
  table.run("INSERT INTO cf_takeover (key, value) VALUES (?, ?)", REPORT, JSON.stringify(report));
  init.arm();
  return report;
}

/** What SQLite says of tables and rows that are not as one of the known layouts has them. */
const UNKNOWN_FORM = /no such (?:table|column)|has no column|constraint failed|malformed JSON|datatype mismatch/;

interface PartAtWork {
  readonly part: TakeoverPart;
  readonly tables: ReadonlySet<string>;
  readonly context: TakeoverContext;
}

/** A version of the original between or behind the known layouts is refused in words, like anything that is not known. */
function orUnknownForm<T>(
  work: () => T,
  { part, tables, context }: PartAtWork
): { readonly value: T } | { readonly unknown: TakeoverLoss } {
  try {
    return { value: work() };
  } catch (error) {
    const said = error instanceof Error ? error.message : "";
    if (!UNKNOWN_FORM.test(said)) throw error;
    const rows = [...tables]
      .filter((name) => reads(part, name))
      .reduce((sum, name) => sum + rowsLeft(context, name), 0);
    const what = `${part.kind} in a form that is not known (${said})`;
    return { unknown: { kind: part.kind, what, rows: Math.max(1, rows) } };
  }
}

function rowsLeft({ count }: TakeoverContext, table: string): number {
  try {
    return count(table);
  } catch {
    return 0; // It has been set aside under another name by now; the number is for the reader only.
  }
}

function contextOf(sql: Sql, tables: ReadonlySet<string>, init: TakeoverInit): TakeoverContext {
  return {
    sql,
    now: init.now(),
    newId: init.newId,
    has: (table) => tables.has(table),
    count(table, where = "1 = 1") {
      if (!tables.has(table)) return 0;
      return sql.one<{ count: number }>(`SELECT COUNT(*) AS count FROM ${quoted(table)} WHERE ${where}`)?.count ?? 0;
    }
  };
}

/** What was given up stays where it is. Shadow tables of an index go with it. */
function dropTables({
  sql,
  tables,
  lost,
  parts
}: {
  readonly sql: Sql;
  readonly tables: ReadonlySet<string>;
  readonly lost: readonly TakeoverLoss[];
  readonly parts: readonly TakeoverPart[];
}): void {
  const isKept = (name: string) =>
    parts.some((part) => reads(part, name) && (part.keepsTables || lost.some(({ kind }) => kind === part.kind))) ||
    lost.some(({ what }) => what === name);
  const doomed = [...tables].filter((name) => ORIGINAL_TABLES.test(name) && !isKept(name));
  // Dropped or renamed by a part already, or with the index they belong to.
  for (const name of doomed.sort()) sql.run(`DROP TABLE IF EXISTS ${quoted(name)}`);
}

/** What the original reads first: the older layout the state, the newer one the MCP servers. */
const READ_FIRST = ["cf_agents_state", "cf_agents_mcp_servers"];

/**
 * A view over a function that does not exist fails with the function's name; one over a table that does not exist would make
 * SQLite refuse to rename any table of the object, too.
 */
function refuseOriginal(sql: Sql): void {
  const kept = new Set(
    sql.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").map(({ name }) => name)
  );
  for (const name of READ_FIRST.filter((one) => !kept.has(one))) {
    sql.run(
      `CREATE VIEW ${name} AS SELECT id, state FROM (SELECT '' AS id, '' AS state) WHERE ${quoted(ROLLBACK_SENTENCE)}(id)`
    );
  }
}

function reads({ tables }: TakeoverPart, name: string): boolean {
  return tables instanceof RegExp ? tables.test(name) : tables.includes(name);
}

/** A name cannot be bound as a value. */
function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function printed({ what, rows }: TakeoverLoss): string {
  return `${what} (${rows === 1 ? "1 row" : `${rows} rows`})`;
}
