// The conversation's row is a cache of the journal: where it was damaged, what stands in the records says which turns are
// open and which hooks are owed. Records that do not fit are passed over: this must not fail.
import type { Conversation } from "./conversation.ts";
import { advance, type Place, type Standing } from "./open-turns.ts";
import type { ReadableRecord, WritableRecord } from "./records.ts";
import type { JournalReader } from "./reader.ts";

export function rebuildStanding(conversation: Conversation, reader: JournalReader): void {
  const { generation, clearedSequence } = conversation.row;
  let standing: Standing = { generation, clearedSequence, openTurns: [], respondingTurns: [] };
  for (const page of reader.pages({ outline: true })) {
    for (const { record, sequence } of page.entries) standing = advanced(standing, record, sequence);
  }
  conversation.transaction((row) => {
    row.openTurns = standing.openTurns;
    row.respondingTurns = standing.respondingTurns;
    // A clear that the row had forgotten.
    row.generation = Math.max(row.generation, standing.generation);
  });
}

function advanced(standing: Standing, record: ReadableRecord, sequence: number): Standing {
  if (!isStanding(record)) return standing;
  // Chunks are not numbered anew here: what is stored is in order.
  const nextChunk = () => (record.type === "attempt-started" ? record.firstChunk : 0);
  const place: Place = { sequence, nextChunk, isRecorded: () => true };
  const generation = record.type === "turn-admitted" ? record.generation : standing.generation;
  try {
    return { ...standing, generation, ...advance({ ...standing, generation }, record, place) };
  } catch {
    // About a turn whose admission is gone: nobody can go on with it.
    return standing;
  }
}

/** Content changes nothing of where a conversation stands. */
function isStanding(record: ReadableRecord): record is WritableRecord {
  return record.type !== "content-outline" && record.type !== "content-segment";
}
