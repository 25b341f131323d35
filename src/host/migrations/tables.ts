// Every table as it is made today, with its indexes. The statements are those of the migrations: a migration that
// changes a table changes it there for new objects, and where it exists for all others.
import { AGENT_TABLES } from "./001-foundation.ts";
import { BLOB_TABLES, JOURNAL_TABLES } from "./001-journal.ts";
import { CONVERSATION_TABLES } from "./002-conversation.ts";
import { MESSAGE_TABLES } from "./002-messages.ts";
import { ACTION_TABLES } from "./003-actions.ts";
import { COMPACTION_TABLES } from "./003-compaction.ts";
import { CONTEXT_TABLES } from "./003-context.ts";
import { SEARCH_TABLES } from "./003-search.ts";
import { IDEMPOTENCY_TABLES } from "./004-durable-work.ts";
import { HISTORY_TABLES } from "./005-history.ts";

const STATEMENTS = [
  ...AGENT_TABLES,
  ...BLOB_TABLES,
  ...JOURNAL_TABLES,
  ...CONVERSATION_TABLES,
  ...MESSAGE_TABLES,
  ...ACTION_TABLES,
  ...COMPACTION_TABLES,
  ...CONTEXT_TABLES,
  ...SEARCH_TABLES,
  ...IDEMPOTENCY_TABLES,
  ...HISTORY_TABLES
];

/** What makes each table, by its name; nothing if it is there already. */
export const TABLES: ReadonlyMap<string, readonly string[]> = byTable();

function byTable(): Map<string, string[]> {
  const tables = new Map<string, string[]>();
  for (const statement of STATEMENTS) {
    const [, kind, table = ""] = /^CREATE (TABLE|VIRTUAL TABLE|INDEX \w+ ON) (\w+)/.exec(statement) ?? [];
    if (kind === undefined) throw new Error("A table must be made by a plain CREATE statement.");
    const ifMissing = statement.replace(/^CREATE (VIRTUAL TABLE|TABLE|INDEX)/, "CREATE $1 IF NOT EXISTS");
    tables.set(table, [...(tables.get(table) ?? []), ifMissing]);
  }
  return tables;
}
