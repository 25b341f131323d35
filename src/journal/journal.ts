// One conversation's journal, put together: what the rooms above hold. It adds no behaviour of its own.
import type { Blobs } from "../host/blobs.ts";
import type { Sql } from "../host/ports.ts";
import { JournalNotifier } from "./notifier.ts";
import { JournalReader } from "./reader.ts";
import { MAX_CONVERSATION } from "./schema.ts";
import { TurnIndex } from "./turn-index.ts";
import { JournalWriter } from "./writer.ts";

export interface JournalInit {
  sql: Sql;
  blobs: Blobs;
  /** Number of the conversation in this object. Default 0: an object with one conversation. */
  conversation?: number;
  /** Told what a subscriber threw. */
  report: (error: unknown) => void;
}

export interface Journal {
  readonly conversation: number;
  readonly writer: JournalWriter;
  readonly reader: JournalReader;
  readonly turns: TurnIndex;
}

/** Open one per conversation and activation: subscribers hear of appends made through the same journal only. */
export function openJournal(init: JournalInit): Journal {
  const { sql, blobs, conversation = 0 } = init;
  if (!Number.isInteger(conversation) || conversation < 0 || conversation > MAX_CONVERSATION) {
    throw new RangeError(`A conversation's number is an integer from 0 to ${MAX_CONVERSATION}`);
  }
  const notifier = new JournalNotifier(init.report);
  const turns = new TurnIndex(sql, conversation);
  const writer = new JournalWriter({ sql, blobs, turns, notifier, conversation });
  const reader = new JournalReader({ sql, blobs, turns, writer, notifier, conversation });
  return { conversation, writer, reader, turns };
}
