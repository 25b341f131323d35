// Version 2: conversations and their messages. Each table says who owns it, what bounds it, what deletes from it.
import type { Sql } from "../ports.ts";
import { createMessageTables } from "./002-messages.ts";

export function conversation(sql: Sql): void {
  for (const statement of CONVERSATION_TABLES) sql.run(statement);
  createMessageTables(sql);
}

export const CONVERSATION_TABLES: readonly string[] = [
  // Owner: think/config. Bound: one row per key, of which there is one. Deleted: with the object.
  `CREATE TABLE think_config (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) WITHOUT ROWID`,
  // Owner: journal/conversation. Bound: one row per conversation. Deleted: with the object.
  `CREATE TABLE cf_conversations (
    id TEXT PRIMARY KEY,
    generation INTEGER NOT NULL,
    leaf TEXT,
    next_message INTEGER NOT NULL,
    cleared_sequence INTEGER NOT NULL,
    journal_floor INTEGER NOT NULL,
    open_turns TEXT NOT NULL,
    responding_turns TEXT NOT NULL,
    failed_turn TEXT,
    client_tools TEXT,
    body TEXT,
    armed_continuation TEXT
  ) WITHOUT ROWID`
];
