// Version 3: what features keep. One file per room that owns tables; each table says its owner, bound and delete path.
// What another program left under the same or other names is taken over.
import type { Sql } from "../ports.ts";
import { ACTION_TABLES } from "./003-actions.ts";
import { COMPACTION_TABLES, SET_ASIDE_COMPACTIONS, TAKE_OVER_COMPACTIONS } from "./003-compaction.ts";
import { CONTEXT_TABLES, TAKE_OVER_BLOCKS, TAKE_OVER_ENTRIES } from "./003-context.ts";
import { DROP_OLD_INDEX, SEARCH_TABLES } from "./003-search.ts";

export function features(sql: Sql): void {
  const hasCompactions = hasTable(sql, "assistant_compactions");
  if (hasCompactions) sql.run(SET_ASIDE_COMPACTIONS);
  runAll(sql, [...ACTION_TABLES, ...COMPACTION_TABLES, ...CONTEXT_TABLES, ...SEARCH_TABLES, DROP_OLD_INDEX]);
  if (hasCompactions) runAll(sql, TAKE_OVER_COMPACTIONS);
  if (hasTable(sql, "cf_agents_context_blocks")) runAll(sql, TAKE_OVER_BLOCKS);
  if (hasTable(sql, "cf_agents_search_entries")) runAll(sql, TAKE_OVER_ENTRIES);
}

function runAll(sql: Sql, statements: readonly string[]): void {
  for (const statement of statements) sql.run(statement);
}

function hasTable(sql: Sql, name: string): boolean {
  return sql.one("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name) !== undefined;
}
