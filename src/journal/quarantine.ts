// A row nobody can read is set aside once instead of being reported on every read. A record saying so takes its place:
// the sequence stays used, the lost chunks stay numbered, and every fold knows that something is missing there.
import type { Blobs } from "../host/blobs.ts";
import type { Sql } from "../host/ports.ts";
import type { Quarantine } from "../host/quarantine.ts";
import type { TurnId } from "../util/ids.ts";
import { encodeRecord, rangeOf, type JournalRow } from "./codec.ts";
import type { RecordQuarantined } from "./records.ts";
import type { CorruptRow } from "./reader.ts";
import { bodyOwner } from "./schema.ts";

export interface QuarantineInit {
  sql: Sql;
  blobs: Blobs;
  /** Keeps the bytes for an operator. */
  setAside: Quarantine;
}

/** One transaction. Doing it twice is harmless: the second finds a readable row and leaves it. */
export function quarantineRow(init: QuarantineInit, corrupt: CorruptRow, now: number): void {
  const { row, reason } = corrupt;
  const record: RecordQuarantined = {
    type: "record-quarantined",
    turnId: typeof row.turn === "string" && row.turn !== "" ? (row.turn as TurnId) : null,
    at: now,
    recordType: String(row.type),
    reason,
    lostChunks: rangeOf(row)
  };
  const replacement = encodeRecord(record);
  init.sql.transaction(() => {
    // Read again: the reported row may lack its body (outlines), or may have been set aside since.
    const current = init.sql.one<JournalRow>("SELECT * FROM cf_journal WHERE position = ?", row.position);
    if (!current || current.type === record.type) return;
    const body = current.body ?? (row.blob === null ? "" : `blob ${row.blob}`);
    init.setAside({ table: "cf_journal", key: String(row.position), body: String(body), error: reason });
    init.sql.run(
      `UPDATE cf_journal SET turn = ?, type = ?, version = ?, at = ?, attempt = NULL, first_chunk = ?, chunk_count = ?,
         size_bytes = ?, blob = NULL, body = ? WHERE position = ?`,
      replacement.turn,
      replacement.type,
      replacement.version,
      replacement.at,
      replacement.first_chunk,
      replacement.chunk_count,
      replacement.size_bytes,
      replacement.body,
      row.position
    );
    if (row.blob !== null) init.blobs.release(bodyOwner(row.position));
  });
}
