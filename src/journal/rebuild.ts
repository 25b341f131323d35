// The conversation's row is a cache of the journal: where it was damaged, the records say which turns are open and which
// hooks are owed. Records that do not fit are passed over: this must not fail.
import type { Conversation } from "./conversation.ts";
import { emptyTurn } from "./folds/turn-fold.ts";
import { advance, type OpenTurnFields } from "./open-turns.ts";
import type { JournalRecord, ReadableRecord } from "./records.ts";
import type { JournalReader } from "./reader.ts";

export function rebuildRow(conversation: Conversation, reader: JournalReader): void {
  const { generation, clearedSequence } = conversation.row;
  let fields: OpenTurnFields = { generation, clearedSequence, openTurns: [], respondingTurns: [] };
  for (const page of reader.pages({ outline: true })) {
    for (const { record, sequence } of page.entries) fields = advanced(fields, record, sequence);
  }
  conversation.transaction((row) => {
    row.openTurns = fields.openTurns;
    row.respondingTurns = fields.respondingTurns;
    // A clear that the row had forgotten.
    row.generation = Math.max(row.generation, fields.generation);
  });
}

function advanced(fields: OpenTurnFields, record: ReadableRecord, sequence: number): OpenTurnFields {
  const change = changeIn(record);
  if (!change) return fields;
  const generation = record.type === "turn-admitted" ? record.generation : fields.generation;
  try {
    const place = { sequence, foldOf: emptyTurn, isRecorded: () => true };
    return { ...fields, generation, ...advance({ ...fields, generation }, change, place) };
  } catch {
    // About a turn whose admission is gone: the runner cannot go on with it.
    return fields;
  }
}

/** The record, if it changes the row. Its attempt was checked when it was written. */
function changeIn(record: ReadableRecord): JournalRecord | undefined {
  switch (record.type) {
    case "turn-admitted":
    case "turn-responded":
    case "conversation-cleared":
      return record;
    case "turn-settled":
      return { ...record, attempt: null };
    default:
      return undefined;
  }
}
