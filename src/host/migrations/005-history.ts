// Version 5: what is known of a conversation after its records are gone. Each table says who owns it, what bounds it, what
// deletes from it. Both hold positions in the journal, and neither has an index: a turn or a change writes one row.
import type { Sql } from "../ports.ts";

export const HISTORY_TABLES: readonly string[] = [
  // Owner: journal/history. Bound: TURN_ROW_BYTES a row; rows of a message as long as it is stored, others MAX_LOOSE_TURNS. Deleted: with the message, by a newer loose one, by a clear.
  `CREATE TABLE cf_turns (
    sequence INTEGER PRIMARY KEY,
    message_id TEXT,
    body TEXT NOT NULL
  )`,
  // Owner: journal/history. Bound: MAX_CHANGES slots, a few hundred bytes each. Deleted: the oldest, by the newest that takes its slot; all by a clear.
  `CREATE TABLE cf_changes (
    slot INTEGER PRIMARY KEY,
    sequence INTEGER NOT NULL,
    body TEXT NOT NULL
  )`
];

export function history(sql: Sql): void {
  for (const statement of HISTORY_TABLES) sql.run(statement);
}
