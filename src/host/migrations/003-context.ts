// Version 3: what context blocks keep. Tables that another program left under its own names are moved into ours and
// dropped;

export const CONTEXT_TABLES: readonly string[] = [
  // Owner: session/context/agent-context-provider. Bound: a row per written block, at most MAX_BLOCK_BYTES. Deleted: by writing an empty text.
  `CREATE TABLE cf_context_blocks (
    session_id TEXT NOT NULL,
    label TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (session_id, label)
  ) WITHOUT ROWID`,
  // Owner: session/context/prompt-store. Bound: a row per session, at most MAX_PROMPT_BYTES. Deleted: when the conversation is cleared.
  `CREATE TABLE cf_context_prompts (
    session_id TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    sections TEXT NOT NULL
  ) WITHOUT ROWID`,
  // Owner: session/context/agent-search-provider. Bound: MAX_ENTRIES rows per block, each at most MAX_ENTRY_BYTES. Deleted: by writing an empty text.
  `CREATE TABLE cf_context_entries (
    id INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    label TEXT NOT NULL,
    entry_key TEXT NOT NULL,
    content TEXT NOT NULL,
    UNIQUE (session_id, label, entry_key)
  )`,
  // The index of cf_context_entries; the text itself is read from there.
  `CREATE VIRTUAL TABLE cf_context_entries_fts USING fts5(
    content, content = 'cf_context_entries', content_rowid = 'id', tokenize = 'porter unicode61'
  )`
];

/** For a database with the other program's blocks. */
export const TAKE_OVER_BLOCKS: readonly string[] = [
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

/** For a database with the other program's search entries. */
export const TAKE_OVER_ENTRIES: readonly string[] = [
  `INSERT OR IGNORE INTO cf_context_entries (session_id, label, entry_key, content)
   SELECT '', label, key, content FROM cf_agents_search_entries
     WHERE label IS NOT NULL AND key IS NOT NULL AND content <> ''`,
  `INSERT INTO cf_context_entries_fts (cf_context_entries_fts) VALUES ('rebuild')`,
  `DROP TABLE cf_agents_search_entries`,
  `DROP TABLE IF EXISTS cf_agents_search_fts`
];
