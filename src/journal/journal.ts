// One conversation's journal, put together. It adds no behaviour of its own.
import type { Quarantine } from "../host/quarantine.ts";
import { History, type TurnArchive } from "./history.ts";
import { quarantineRow } from "./quarantine.ts";
import { JournalReader, type CorruptRow } from "./reader.ts";
import { rebuildRow } from "./rebuild.ts";
import { JournalRetention, type RetentionOptions } from "./retention.ts";
import { JournalRows, type JournalStorage } from "./rows.ts";
import { TurnFolds } from "./turn-folds.ts";
import { JournalWriter } from "./writer.ts";

export interface JournalInit extends JournalStorage {
  retention?: Partial<RetentionOptions>;
  /** Where rows go that cannot be read. Without it they are left where they are and reported on every read. */
  setAside?: Quarantine;
  /** Keeps the history of turns that outlive their message. */
  archive?: () => TurnArchive | undefined;
  now?: () => number;
}

export interface Journal {
  readonly writer: JournalWriter;
  readonly reader: JournalReader;
  /** What the records of the open turns say, and where those of ended turns are. */
  readonly folds: TurnFolds;
  readonly retention: JournalRetention;
  readonly history: History;
}

/** Open one per activation and conversation. */
export function openJournal(init: JournalInit): Journal {
  const { conversation, setAside, now = Date.now } = init;
  const rows = new JournalRows(init);
  const onCorrupt =
    setAside &&
    ((corrupt: readonly CorruptRow[]) => {
      for (const row of corrupt) quarantineRow({ ...init, setAside }, row, now());
      // What they were folded from has changed.
      folds.drop();
    });
  const reader = new JournalReader(rows, conversation, onCorrupt);
  const folds = new TurnFolds(rows, conversation, reader);
  if (conversation.isDamaged) rebuildRow(conversation, reader);
  return {
    writer: new JournalWriter(rows, conversation, folds),
    reader,
    folds,
    retention: new JournalRetention(rows, conversation, init.retention),
    history: new History(init, rows)
  };
}
