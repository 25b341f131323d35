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
  // Owner: journal/rows. One row per append, `last` being the sequence of its last record. Bound: what open turns wrote,
  // and what others did for RetentionOptions.contentTtlMs after they settled; bodies above 256 KB are in cf_blobs.
  // Deleted: by journal/retention, all at once after a clear. `free_to` is the sequence up to which no turn needed the
  // records any more when this row was written: retention counts from there, and finds it without reading a body.
  // Narrow columns come first, so that a walk over headers never touches a body's overflow pages.
  `CREATE TABLE cf_journal (
    last INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    at INTEGER NOT NULL,
    free_to INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    blob TEXT,
    body TEXT
  )`
];
