// Version 1, continued: blobs and the journal. Each table says who owns it, what bounds it, what deletes from it.

export const BLOB_TABLES: readonly string[] = [
  // Owner: host/blobs. Bound: what owners hold, each value at most MAX_BLOB_BYTES. Deleted: with the last owner.
  `CREATE TABLE cf_blobs (
    hash TEXT PRIMARY KEY,
    size_bytes INTEGER NOT NULL
  ) WITHOUT ROWID`,
  // Owner, bound, deletion: as cf_blobs. The digest makes one bad chunk visible without reading its siblings.
  `CREATE TABLE cf_blob_chunks (
    hash TEXT NOT NULL,
    chunk INTEGER NOT NULL,
    digest TEXT NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (hash, chunk)
  ) WITHOUT ROWID`,
  // Owner: whoever put the value. Bound: one row per owner and value. Deleted: by `release`.
  `CREATE TABLE cf_blob_owners (
    owner TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (owner, hash)
  ) WITHOUT ROWID`,
  // "Has anybody else got it?" is asked on every release.
  `CREATE INDEX cf_blob_owners_hash ON cf_blob_owners (hash)`
];

export const JOURNAL_TABLES: readonly string[] = [
  // Owner: journal/writer. Bound: a turn's chunks for RetentionOptions.contentTtlMs after it settled, its other records
  // for recordTtlMs, bodies above 256 KB in cf_blobs. Deleted: by journal/retention, all at once after a clear.
  // Narrow columns come first, so that a walk over headers never touches a body's overflow pages.
  `CREATE TABLE cf_journal (
    position INTEGER PRIMARY KEY,
    turn TEXT,
    type TEXT NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    attempt INTEGER,
    first_chunk INTEGER,
    chunk_count INTEGER,
    size_bytes INTEGER NOT NULL,
    blob TEXT,
    body TEXT
  )`,
  // Owner: journal/turn-index, as a cache of the turn fold kept in the same transaction as the record.
  // Bound: one row per turn that has records. Deleted: by journal/retention with the turn's last record.
  `CREATE TABLE cf_journal_turns (
    turn TEXT PRIMARY KEY,
    conversation INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    request TEXT,
    first_sequence INTEGER NOT NULL,
    last_sequence INTEGER,
    attempt INTEGER NOT NULL,
    attempt_open INTEGER NOT NULL,
    phase INTEGER NOT NULL,
    phase_order INTEGER NOT NULL
  ) WITHOUT ROWID`,
  // The queue of open turns and both sweeps are walks of this one index; it changes only when a turn changes phase.
  `CREATE INDEX cf_journal_turns_phase ON cf_journal_turns (phase, phase_order)`,
  // Owner: journal/writer (generation) and journal/retention (floor). Bound: one row per conversation that was ever
  // cleared or emptied. Deleted: with the object.
  `CREATE TABLE cf_journal_conversations (
    conversation INTEGER PRIMARY KEY,
    generation INTEGER NOT NULL DEFAULT 0,
    cleared_sequence INTEGER,
    cleared_at INTEGER,
    floor INTEGER NOT NULL DEFAULT 0
  )`
];
