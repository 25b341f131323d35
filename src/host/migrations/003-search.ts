// Version 3: tables of search. An index is a cache of the messages: it is made and brought up to date by searching, so a
// conversation nobody searches has none, and one that is damaged is dropped and made again.

export const SEARCH_TABLES: readonly string[] = [
  // Owner: session/search-index. Bound: one row per session that was searched. Deleted: when the session is cleared.
  // `slot` numbers the sessions of one object: an entry of the index is slot and sequence of its message in one number.
  `CREATE TABLE cf_search_sessions (
    session_id TEXT PRIMARY KEY,
    slot INTEGER NOT NULL UNIQUE,
    indexed_to INTEGER NOT NULL
  ) WITHOUT ROWID`,
  // Owner: session/search-index. Bound: one row per indexed message. Deleted: with the message.
  `CREATE TABLE cf_search_messages (
    entry INTEGER PRIMARY KEY,
    message_id TEXT NOT NULL
  )`
];

/** What an older program indexed for the messages we took over (002-messages). */
export const DROP_OLD_INDEX = "DROP TABLE IF EXISTS assistant_fts";

/**
 * Made by the first search of an object. Owner, bound, deletion: as cf_search_messages; the table itself goes with the
 * last session that was searched. It holds no texts: those are read from the messages.
 */
export const SEARCH_INDEX = `CREATE VIRTUAL TABLE IF NOT EXISTS cf_search_text USING fts5 (
    content, content = '', contentless_delete = 1, tokenize = 'porter unicode61'
  )`;
