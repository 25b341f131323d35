// Recognises an object that the packages everthink replaces have written. Opening it would lose its state, schedules and
// ledgers in silence, so it is refused before anything is written, and those packages can still open it. Messages that
// only their library for messages has left are taken over (session/take-over.ts).
import { ThinkError } from "../util/errors.ts";
import type { Sql } from "./ports.ts";

/** Rows counted of one table, so that a refusal costs little however much there is. */
const COUNT_LIMIT = 10_000;

const ORIGINAL_TABLES = /^(?:cf_agents?_|cf_ai_chat_|cf_think_|think_config$)/;
/** Made by the original's library for messages in any object that uses it; an object with nothing else is taken over. */
const LIBRARY_TABLES = /^cf_agents_(?:context_blocks|search_\w+)$/;

export class OriginalObjectError extends ThinkError {
  /** `found`: its tables that hold something, with their number of rows. */
  constructor(readonly found: readonly string[]) {
    super({
      code: "object-of-the-original",
      message: `This object was written by the packages "agents" or "@cloudflare/think" and is not opened. It holds ${found.join(", ")}.`,
      hint: "Nothing was changed: those packages can still open it. Go back to them for this class, or give the class a new name (new_sqlite_classes) to begin with empty objects."
    });
  }
}

/** Tables of theirs that have the names of ours. */
const SAME_NAMES = ["assistant_messages", "assistant_compactions"];
export const SET_ASIDE_SUFFIX = "_original";

/** Theirs are renamed; the owner of ours moves the rows. */
export function setOriginalTablesAside(sql: Sql, tables: ReadonlySet<string>): void {
  for (const name of SAME_NAMES) {
    if (!tables.has(name)) continue;
    const columns = sql.all<{ name: string }>(`PRAGMA table_info(${name})`);
    if (columns.some((column) => column.name === "sequence")) continue;
    sql.run(`ALTER TABLE ${name} RENAME TO ${name}${SET_ASIDE_SUFFIX}`);
  }
}

/** For a database that is not ours yet. Throws OriginalObjectError. */
export function refuseOriginal(sql: Sql, tables: Iterable<string>): void {
  const theirs = [...tables].filter((name) => ORIGINAL_TABLES.test(name) && !LIBRARY_TABLES.test(name));
  if (theirs.length === 0) return;
  const counted = theirs.map((name) => ({ name, count: rowsIn(sql, name) }));
  const filled = counted.filter(({ count }) => count > 0);
  throw new OriginalObjectError((filled.length > 0 ? filled : counted).map(printed));
}

function rowsIn(sql: Sql, table: string): number {
  // Of the few tables above; the name cannot be bound as a value.
  const query = `SELECT COUNT(*) AS count FROM (SELECT 1 FROM "${table.replaceAll('"', '""')}" LIMIT ${COUNT_LIMIT})`;
  return sql.one<{ count: number }>(query)?.count ?? 0;
}

function printed({ name, count }: { name: string; count: number }): string {
  const rows = count === 1 ? "1 row" : `${count} rows`;
  return `${name} (${count === COUNT_LIMIT ? `${rows} or more` : rows})`;
}
