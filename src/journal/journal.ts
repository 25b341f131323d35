// One conversation's journal, put together: what the rooms above hold. It adds no behaviour of its own.
import type { Quarantine } from "../host/quarantine.ts";
import type { Blobs } from "../host/blobs.ts";
import type { Sql } from "../host/ports.ts";
import type { Conversation } from "./conversation.ts";
import { TurnFinder } from "./find-turn.ts";
import { History } from "./history.ts";
import { JournalNotifier } from "./notifier.ts";
import { quarantineRow } from "./quarantine.ts";
import { JournalReader, type CorruptRow } from "./reader.ts";
import { rebuildStanding } from "./rebuild.ts";
import { JournalRetention, type RetentionOptions } from "./retention.ts";
import { JournalRows } from "./rows.ts";
import { JournalWriter } from "./writer.ts";

export interface JournalInit {
  sql: Sql;
  blobs: Blobs;
  conversation: Conversation;
  /** Told what a subscriber threw. */
  report: (error: unknown) => void;
  retention?: Partial<RetentionOptions>;
  /** Where rows go that cannot be read. Without it they are left where they are and reported on every read. */
  setAside?: Quarantine;
  now?: () => number;
}

export interface Journal {
  readonly writer: JournalWriter;
  readonly reader: JournalReader;
  readonly retention: JournalRetention;
  readonly history: History;
}

/** Open one per activation: subscribers hear of appends made through the same journal only. */
export function openJournal(init: JournalInit): Journal {
  const { conversation, setAside, now = Date.now } = init;
  const rows = new JournalRows(init);
  const notifier = new JournalNotifier(init.report);
  const finder = new TurnFinder(rows);
  const onCorrupt =
    setAside &&
    ((corrupt: readonly CorruptRow[]) => {
      for (const row of corrupt) quarantineRow({ ...init, setAside }, row, now());
    });
  const reader = new JournalReader({ rows, conversation, notifier, finder, onCorrupt });
  if (conversation.isDamaged) rebuildStanding(conversation, reader);
  return {
    writer: new JournalWriter({ rows, conversation, notifier, finder }),
    reader,
    retention: new JournalRetention({ rows, conversation, options: init.retention }),
    history: new History({ sql: init.sql, conversation, head: () => rows.head() })
  };
}
