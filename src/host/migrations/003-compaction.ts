// Version 3: summaries that stand for a range of messages, and the last token count a provider reported. Summaries that
// another program left under the same table name are taken over where both their ends are still on one path.

const ORIGINAL = "assistant_compactions_original";

/** Before ours is made, where another program left one of that name. */
export const SET_ASIDE_COMPACTIONS = `ALTER TABLE assistant_compactions RENAME TO ${ORIGINAL}`;

export const COMPACTION_TABLES: readonly string[] = [
  // Owner: session/overlays. Bound: a row per compaction, its summary below 256 KiB. Deleted: with the messages it covers, by clearMessages.
  `CREATE TABLE assistant_compactions (
    session_id TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    from_message_id TEXT NOT NULL,
    to_message_id TEXT NOT NULL,
    created_at TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    from_sequence INTEGER NOT NULL,
    to_sequence INTEGER NOT NULL,
    is_on_path INTEGER NOT NULL,
    is_shown INTEGER NOT NULL,
    covered_length INTEGER NOT NULL,
    covered_bytes INTEGER NOT NULL,
    covered_tokens INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    summary TEXT NOT NULL,
    PRIMARY KEY (session_id, id)
  ) WITHOUT ROWID`,
  // The one or few that histories show: an append and a look read these only.
  `CREATE INDEX assistant_compactions_shown ON assistant_compactions (session_id, to_sequence) WHERE is_shown = 1`,
  // Owner: session/tokens-reported. Bound: one row per session. Deleted: by a compaction, a change of branch, clearMessages.
  `CREATE TABLE cf_session_usage (
    session_id TEXT PRIMARY KEY,
    message_sequence INTEGER NOT NULL,
    reported_tokens INTEGER NOT NULL,
    extra_tokens INTEGER NOT NULL
  ) WITHOUT ROWID`
];

/** And after. */
export const TAKE_OVER_COMPACTIONS: readonly string[] = [
  // Walks from each summary's end up to its start; one whose ends are not on one path never applied and is left out.
  // Older than any of ours: their order is negative.
  `WITH RECURSIVE covered (old, session_id, from_id, id, parent_id, sequence, to_sequence, length, bytes, tokens) AS (
     SELECT old.rowid, m.session_id, old.from_message_id, m.id, m.parent_id, m.sequence, m.sequence, 1, m.size_bytes,
       m.tokens
       FROM ${ORIGINAL} AS old
       JOIN assistant_messages AS m ON m.session_id = COALESCE(old.session_id, '') AND m.id = old.to_message_id
     UNION ALL
     SELECT covered.old, m.session_id, covered.from_id, m.id, m.parent_id, m.sequence, covered.to_sequence,
       covered.length + 1, covered.bytes + m.size_bytes, covered.tokens + m.tokens
       FROM covered JOIN assistant_messages AS m ON m.session_id = covered.session_id AND m.id = covered.parent_id
       WHERE covered.id <> covered.from_id AND m.sequence < covered.sequence
   )
   INSERT INTO assistant_compactions
   SELECT covered.session_id, old.id, old.from_message_id, old.to_message_id, COALESCE(old.created_at, ''),
     old.rowid - 1 - (SELECT MAX(rowid) FROM ${ORIGINAL}), covered.sequence, covered.to_sequence, 0, 0,
     covered.length, covered.bytes, covered.tokens, LENGTH(CAST(old.summary AS BLOB)), LENGTH(old.summary) / 4 + 4,
     old.summary
   FROM covered JOIN ${ORIGINAL} AS old ON old.rowid = covered.old
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
  `DROP TABLE ${ORIGINAL}`
];
