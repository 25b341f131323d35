// What the library for messages of the original has left in an object that holds nothing else of it (see
// host/takeover.ts). Its messages, summaries, blocks and entries are moved into our tables, once, and its tables
// dropped: a transcript survives the change of the import.
import type { Sql } from "../host/ports.ts";
import { SET_ASIDE_SUFFIX } from "../host/schema.ts";
import { TableSet, type TableDefinition } from "../host/table-set.ts";
import { CONVERSATION_TABLES } from "../journal/conversation.ts";
import { BLOCK_TABLES } from "./context/agent-context-provider.ts";
import { ENTRY_TABLES } from "./context/agent-search-provider.ts";
import { MESSAGE_TABLES } from "./message-rows.ts";
import { COMPACTION_TABLES } from "./overlay-rows.ts";

const MESSAGES = `assistant_messages${SET_ASIDE_SUFFIX}`;
const SUMMARIES = `assistant_compactions${SET_ASIDE_SUFFIX}`;
const BLOCKS = "cf_agents_context_blocks";
const ENTRIES = "cf_agents_search_entries";

// Insertion order is the order of the rows' numbers. A parent that is gone, belongs to another session or came later
// makes its child a root, which is how such a row was shown before. Tokens are estimated by length here; every later
// write of a message counts it properly. Sums of a path are exact on its newest message only (session/message-store).
const INSERT_MESSAGES = `INSERT INTO assistant_messages
     (session_id, id, parent_id, role, sequence, is_branch, size_bytes, tokens, path_length, path_bytes, path_tokens,
      created_at, content)
   SELECT COALESCE(child.session_id, ''), child.id, parent.id, COALESCE(child.role, ''), child.rowid, 0,
     LENGTH(CAST(COALESCE(child.content, '') AS BLOB)), LENGTH(COALESCE(child.content, '')) / 4, 0, 0, 0,
     COALESCE(child.created_at, ''), COALESCE(child.content, '')
   FROM ${MESSAGES} AS child LEFT JOIN ${MESSAGES} AS parent
     ON parent.id = child.parent_id AND COALESCE(parent.session_id, '') = COALESCE(child.session_id, '')
     AND parent.rowid < child.rowid
   WHERE child.id IS NOT NULL`;

const MOVE_MESSAGES = [
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
  `DROP TABLE ${MESSAGES}`
];

const MOVE_SUMMARIES = [
  // Walks from each summary's end up to its start; one whose ends are not on one path never applied and is left out.
  // Older than any of ours: their order is negative. User code may have stored the message that shows a summary as a
  // message of its own; both are shown, and need two ids.
  `WITH RECURSIVE covered (old, session_id, from_id, id, parent_id, sequence, to_sequence, length, bytes, tokens) AS (
     SELECT old.rowid, m.session_id, old.from_message_id, m.id, m.parent_id, m.sequence, m.sequence, 1, m.size_bytes,
       m.tokens
       FROM ${SUMMARIES} AS old
       JOIN assistant_messages AS m ON m.session_id = COALESCE(old.session_id, '') AND m.id = old.to_message_id
     UNION ALL
     SELECT covered.old, m.session_id, covered.from_id, m.id, m.parent_id, m.sequence, covered.to_sequence,
       covered.length + 1, covered.bytes + m.size_bytes, covered.tokens + m.tokens
       FROM covered JOIN assistant_messages AS m ON m.session_id = covered.session_id AND m.id = covered.parent_id
       WHERE covered.id <> covered.from_id AND m.sequence < covered.sequence
   )
   INSERT INTO assistant_compactions
   SELECT covered.session_id, CASE WHEN EXISTS (
       SELECT 1 FROM assistant_messages AS m WHERE m.session_id = covered.session_id AND m.id = 'compaction_' || old.id
     ) THEN old.id || '_original' ELSE old.id END, old.from_message_id, old.to_message_id, COALESCE(old.created_at, ''),
     old.rowid - 1 - (SELECT MAX(rowid) FROM ${SUMMARIES}), covered.sequence, covered.to_sequence, 0, 0,
     covered.length, covered.bytes, covered.tokens, LENGTH(CAST(old.summary AS BLOB)), LENGTH(old.summary) / 4 + 4,
     old.summary
   FROM covered JOIN ${SUMMARIES} AS old ON old.rowid = covered.old
   WHERE covered.id = covered.from_id AND old.id IS NOT NULL AND TRIM(COALESCE(old.summary, '')) <> ''`,
  `WITH RECURSIVE path (session_id, id, parent_id, sequence) AS (
     SELECT m.session_id, m.id, m.parent_id, m.sequence FROM cf_conversations AS owner
       JOIN assistant_messages AS m ON m.session_id = owner.id AND m.id = owner.leaf
       WHERE owner.id IN (SELECT session_id FROM assistant_compactions)
     UNION ALL
     SELECT m.session_id, m.id, m.parent_id, m.sequence FROM path
       JOIN assistant_messages AS m ON m.session_id = path.session_id AND m.id = path.parent_id
       WHERE m.sequence < path.sequence
   )
   UPDATE assistant_compactions SET is_on_path = 1 WHERE (session_id, to_message_id) IN (SELECT session_id, id FROM path)`,
  // What another program showed: of the summaries with the earliest start, the newest. Later ones start inside it.
  `UPDATE assistant_compactions SET is_shown = 1 WHERE is_on_path = 1 AND (session_id, sequence) IN (
     SELECT session_id, MAX(sequence) FROM assistant_compactions AS candidate WHERE is_on_path = 1 AND from_sequence = (
       SELECT MIN(from_sequence) FROM assistant_compactions AS other
         WHERE other.session_id = candidate.session_id AND other.is_on_path = 1)
     GROUP BY session_id)`,
  `DROP TABLE ${SUMMARIES}`
];

const MOVE_BLOCKS = [
  // Frozen prompts are rendered again instead: nothing says which blocks they were made of.
  `INSERT INTO cf_context_blocks (session_id, label, content)
   SELECT '', label, content FROM cf_agents_context_blocks
     WHERE label IS NOT NULL AND content <> '' AND label NOT LIKE '\\_system\\_prompt%' ESCAPE '\\'`,
  // A label that ends in a session's id may be that session's block or a label of its own: it becomes both.
  `INSERT OR IGNORE INTO cf_context_blocks (session_id, label, content)
   SELECT owner.id, SUBSTR(block.label, 1, LENGTH(block.label) - LENGTH(owner.id) - 1), block.content
     FROM cf_agents_context_blocks AS block JOIN cf_conversations AS owner
       ON owner.id <> '' AND SUBSTR(block.label, -LENGTH(owner.id) - 1) = '_' || owner.id
     WHERE block.content <> '' AND LENGTH(block.label) > LENGTH(owner.id) + 1
       AND block.label NOT LIKE '\\_system\\_prompt%' ESCAPE '\\'`,
  `DROP TABLE cf_agents_context_blocks`
];

const MOVE_ENTRIES = [
  `INSERT OR IGNORE INTO cf_context_entries (session_id, label, entry_key, content)
   SELECT '', label, key, content FROM cf_agents_search_entries
     WHERE label IS NOT NULL AND key IS NOT NULL AND content <> ''`,
  `INSERT INTO cf_context_entries_fts (cf_context_entries_fts) VALUES ('rebuild')`,
  `DROP TABLE cf_agents_search_entries`,
  `DROP TABLE IF EXISTS cf_agents_search_fts`
];

/** Summaries and blocks come after the messages: they refer to conversations. */
const MOVES: readonly { from: string; into: readonly (readonly TableDefinition[])[]; statements: readonly string[] }[] =
  [
    { from: MESSAGES, into: [CONVERSATION_TABLES, MESSAGE_TABLES], statements: MOVE_MESSAGES },
    { from: SUMMARIES, into: [CONVERSATION_TABLES, MESSAGE_TABLES, COMPACTION_TABLES], statements: MOVE_SUMMARIES },
    { from: BLOCKS, into: [CONVERSATION_TABLES, BLOCK_TABLES], statements: MOVE_BLOCKS },
    { from: ENTRIES, into: [ENTRY_TABLES], statements: MOVE_ENTRIES },
    // An index of messages; ours is made by the first search.
    { from: "assistant_fts", into: [], statements: ["DROP TABLE assistant_fts"] }
  ];

/**
 * One transaction. Of an object that has nothing to take over it asks the catalog only. `complete` is called when the rows
 * of messages are there and nothing was summed up yet.
 */
export function moveOriginalSession(sql: Sql, complete?: () => void): void {
  const moves = MOVES.filter(({ from }) => sql.catalog.hasTable(from));
  if (moves.length === 0) return;
  sql.transaction(() => {
    for (const { from, into, statements } of moves) {
      for (const tables of into) new TableSet(sql, tables).make();
      if (from === MESSAGES) {
        sql.run(INSERT_MESSAGES);
        complete?.();
      }
      for (const statement of statements) sql.run(statement);
    }
  });
  sql.catalog.refresh();
}
