// A row that cannot be read is set aside once instead of being reported on every read. For each record in it that is
// lost, one saying so takes its place: the sequence stays used, lost chunks stay numbered as far as they are known, and
// every fold knows that something is missing there. The records beside it stay as they are, byte for byte.
import type { Quarantine } from "../host/quarantine.ts";
import type { TurnId } from "../util/ids.ts";
import { decodeFrame, joinTexts, unpackBatch, type Frame } from "./batch.ts";
import { encodeRecord } from "./codec.ts";
import type { CorruptRow } from "./reader.ts";
import { JournalRows, type JournalStorage } from "./rows.ts";

/**
 * Replaces the records of a row that cannot be read, in one transaction; `setAside` keeps its bytes for an operator. Doing
 * it twice is harmless: the second finds a readable row and leaves it.
 */
export function quarantineRow(
  init: JournalStorage & { readonly setAside: Quarantine },
  corrupt: Pick<CorruptRow, "last" | "reason">,
  now: number
): void {
  const rows = new JournalRows(init);
  init.sql.transaction(() => {
    const row = rows.read(corrupt.last);
    if (!row) return;
    const frames = unpackBatch(row, rows.text(row));
    const problems = frames.map((frame) => problemOf(frame));
    if (problems.every((problem) => problem === undefined)) return;
    const body = row.blob === null ? row.body : `blob ${row.blob}`;
    init.setAside({ table: "cf_journal", key: String(row.last), body: String(body), error: corrupt.reason });
    const texts = frames.map((frame, index) => {
      const reason = problems[index];
      if (reason === undefined && frame.text !== null) return frame.text;
      const turnId = turnOf(frame) ?? frames.map(turnOf).find((turn) => turn !== null) ?? openTurnAt(init, frame);
      return encodeRecord({
        type: "record-quarantined",
        turnId,
        at: now,
        recordType: frame.header.ok ? frame.header.value.type : "unreadable",
        reason: reason ?? corrupt.reason,
        lostChunks: frame.header.ok ? frame.header.value.range : null
      });
    });
    rows.replace(row.last, joinTexts(texts));
  });
}

function problemOf(frame: Frame): string | undefined {
  const record = decodeFrame(frame);
  return record.ok ? undefined : record.error;
}

function turnOf({ header }: Frame): TurnId | null {
  // Whatever text it is, it is compared with ids, not used as one.
  return header.ok ? (header.value.turn as TurnId | null) : null;
}

/**
 * Nothing says whose record it was. The oldest turn that was open then is the one that was running, and it must learn
 * that something may be missing: an outcome that cannot be read is not a call that never ran.
 */
function openTurnAt({ conversation }: JournalStorage, { sequence }: Frame): TurnId | null {
  const open = conversation.row.openTurns.find((turn) => turn.firstSequence <= sequence);
  return open ? (open.turnId as TurnId) : null;
}
