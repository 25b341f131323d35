// Version 2, continued: the messages of conversations, and how a table that another program left under the same name
// becomes ours. Its readable columns keep their names; a transcript survives the change of the import.
import type { Sql } from "../ports.ts";

export const MESSAGE_TABLES: readonly string[] = [
  // Owner: session/message-store. Bound: a row per message, below 2 MB (larger ones whole in cf_blobs). Deleted: by deleteMessages, clearMessages.
  `CREATE TABLE assistant_messages (
    session_id TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    parent_id TEXT,
    role TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    is_branch INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    path_length INTEGER NOT NULL,
    path_bytes INTEGER NOT NULL,
    path_tokens INTEGER NOT NULL,
    full_hash TEXT,
    full_bytes INTEGER,
    created_at TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (session_id, id)
  ) WITHOUT ROWID`,
  // Roots, and messages with siblings: the few rows by which branches are found. A linear append never touches it.
  `CREATE INDEX assistant_messages_branches ON assistant_messages (session_id, parent_id, sequence) WHERE is_branch = 1`
];

const ORIGINAL = "assistant_messages_original";

/** Creates the tables. Messages of an older table of the same name move into them, in the order they were written. */
export function createMessageTables(sql: Sql): void {
  const columns = sql.all<{ name: string }>("PRAGMA table_info(assistant_messages)");
  const hasOriginal = columns.length > 0 && !columns.some(({ name }) => name === "sequence");
  if (hasOriginal) sql.run(`ALTER TABLE assistant_messages RENAME TO ${ORIGINAL}`);
  for (const statement of MESSAGE_TABLES) sql.run(statement);
  if (hasOriginal) for (const statement of TAKE_OVER) sql.run(statement);
}

// Insertion order is the order of the rows' numbers. A parent that is gone, belongs to another session or came later
// makes its child a root, which is how such a row was shown before. Tokens are estimated by length here; every later
// write of a message counts it properly. Sums of a path are exact on its newest message only (session/message-store).
const TAKE_OVER = [
  `INSERT INTO assistant_messages
     (session_id, id, parent_id, role, sequence, is_branch, size_bytes, tokens, path_length, path_bytes, path_tokens,
      created_at, content)
   SELECT COALESCE(child.session_id, ''), child.id, parent.id, COALESCE(child.role, ''), child.rowid, 0,
     LENGTH(CAST(COALESCE(child.content, '') AS BLOB)), LENGTH(COALESCE(child.content, '')) / 4, 0, 0, 0,
     COALESCE(child.created_at, ''), COALESCE(child.content, '')
   FROM ${ORIGINAL} AS child LEFT JOIN ${ORIGINAL} AS parent
     ON parent.id = child.parent_id AND COALESCE(parent.session_id, '') = COALESCE(child.session_id, '')
     AND parent.rowid < child.rowid
   WHERE child.id IS NOT NULL`,
  `UPDATE assistant_messages SET is_branch = 1 WHERE parent_id IS NULL OR (session_id, parent_id) IN (
     SELECT session_id, parent_id FROM assistant_messages GROUP BY session_id, parent_id HAVING COUNT(*) > 1)`,
  `INSERT INTO cf_conversations
     (id, generation, leaf, next_message, cleared_sequence, journal_floor, open_turns, responding_turns)
   SELECT session_id, 0, NULL, MAX(sequence) + 1, 0, 0, '[]', '[]' FROM assistant_messages GROUP BY session_id`,
  `UPDATE cf_conversations SET leaf = (
     SELECT id FROM assistant_messages AS newest WHERE newest.session_id = cf_conversations.id
       AND (newest.session_id, newest.id) NOT IN (
         SELECT session_id, parent_id FROM assistant_messages WHERE parent_id IS NOT NULL)
     ORDER BY newest.sequence DESC LIMIT 1)`,
  `WITH RECURSIVE path (session_id, leaf, parent_id, size_bytes, tokens) AS (
     SELECT newest.session_id, newest.id, newest.parent_id, newest.size_bytes, newest.tokens
       FROM cf_conversations AS owner
       JOIN assistant_messages AS newest ON newest.session_id = owner.id AND newest.id = owner.leaf
     UNION ALL
     SELECT path.session_id, path.leaf, above.parent_id, above.size_bytes, above.tokens
       FROM path JOIN assistant_messages AS above ON above.session_id = path.session_id AND above.id = path.parent_id
   ), sums AS (
     SELECT session_id, leaf, COUNT(*) AS length, SUM(size_bytes) AS bytes, SUM(tokens) AS tokens FROM path
       GROUP BY session_id, leaf
   )
   UPDATE assistant_messages SET path_length = sums.length, path_bytes = sums.bytes, path_tokens = sums.tokens
     FROM sums WHERE sums.session_id = assistant_messages.session_id AND sums.leaf = assistant_messages.id`,
  `DROP TABLE ${ORIGINAL}`
];
