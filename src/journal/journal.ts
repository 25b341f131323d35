// One conversation's journal, put together: what the rooms above hold. It adds no behaviour of its own.
import type { Blobs } from "../host/blobs.ts";
import type { Sql } from "../host/ports.ts";
import type { Conversation } from "./conversation.ts";
import { JournalNotifier } from "./notifier.ts";
import { JournalReader } from "./reader.ts";
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
}

export interface Journal {
  readonly writer: JournalWriter;
  readonly reader: JournalReader;
  readonly retention: JournalRetention;
}

/** Open one per activation: subscribers hear of appends made through the same journal only. */
export function openJournal(init: JournalInit): Journal {
  const { conversation } = init;
  const rows = new JournalRows(init);
  const notifier = new JournalNotifier(init.report);
  return {
    writer: new JournalWriter({ rows, conversation, notifier }),
    reader: new JournalReader({ rows, conversation, notifier }),
    retention: new JournalRetention({ rows, conversation, options: init.retention })
  };
}
