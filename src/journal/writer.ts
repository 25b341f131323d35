// The only way into the journal: a synchronous, all-or-nothing append, stored as one row. It gives each record its
// sequence, refuses what an overtaken attempt, a settled turn or a cleared conversation may no longer write, and keeps the
// conversation's row in step. What to write, and when, is decided above.
import type { TurnId } from "../util/ids.ts";
import { packBatches, unpackBatch } from "./batch.ts";
import { rangeOf } from "./codec.ts";
import type { Conversation, OpenTurn } from "./conversation.ts";
import type { TurnFinder } from "./find-turn.ts";
import { advance, aliasOf, freeTo } from "./open-turns.ts";
import type { WritableRecord } from "./records.ts";
import { SEARCH_LIMITS, type JournalRows } from "./rows.ts";

export interface WriterInit {
  rows: JournalRows;
  conversation: Conversation;
  finder: TurnFinder;
}

export interface AppendReceipt {
  /** Sequences of the first and the last record of this append; `last < first` when it was empty. */
  readonly first: number;
  readonly last: number;
}

/** Number of the next chunk by turn, as far as it is known. */
type Streams = Map<string, number>;

export class JournalWriter {
  readonly #init: WriterInit;
  /**
   * Where the open streams stood when `head` was the newest record. Every append moves the head and a rollback moves it
   * back, so another head means that this is about something that never happened.
   */
  #known: { head: number; streams: Streams } = { head: 0, streams: new Map() };

  constructor(init: WriterInit) {
    this.#init = init;
  }

  /**
   * Appends all records or none, in a transaction of its own or as part of the caller's (`conversation.transaction`: a
   * plain one could be rolled back behind the conversation's back). Throws what errors.ts lists.
   * Writes one row, and the conversation's if it changed: a turn was admitted, changed attempts, or ended.
   */
  append(records: readonly WritableRecord[]): AppendReceipt {
    const { rows, conversation, finder } = this.#init;
    const head = rows.head();
    const receipt = { first: head + 1, last: head + records.length };
    if (records.length === 0) return receipt;
    conversation.join((row) => {
      const batches = packBatches(records);
      const streams = new Map(this.#streamsAt(head));
      records.forEach((record, index) => {
        const place = {
          sequence: receipt.first + index,
          nextChunk: (turn: OpenTurn) => streams.get(turn.turnId) ?? this.#findNextChunk(turn),
          isRecorded: (turnId: TurnId) =>
            records.slice(0, index).some((earlier) => earlier.turnId === turnId) || this.#isRecorded(turnId)
        };
        Object.assign(row, advance(row, record, place));
        follow(streams, record);
      });
      const at = Math.max(...records.map((record) => record.at));
      let last = head;
      for (const batch of batches) {
        last += batch.count;
        rows.insert({ ...batch, last, at, freeTo: freeTo(row, receipt.last) });
      }
      this.#known = { head: last, streams };
    });
    for (const record of records) if (record.type === "turn-admitted") finder.note(aliasOf(record));
    return receipt;
  }

  /** Sequence of the newest record ever written, 0 for none. */
  head(): number {
    return this.#init.rows.head();
  }

  /** Number of the next chunk of a turn's stream: what its next attempt must start with. */
  nextChunk(turn: OpenTurn): number {
    return this.#streamsAt(this.head()).get(turn.turnId) ?? this.#findNextChunk(turn);
  }

  #streamsAt(head: number): Streams {
    return this.#known.head === head ? this.#known.streams : new Map();
  }

  /** From the turn's records, newest first, back to the start of its last attempt. */
  #findNextChunk(turn: OpenTurn): number {
    const { rows } = this.#init;
    for (const row of rows.newestFirst(turn.firstSequence)) {
      for (const { header } of unpackBatch(row, rows.text(row)).reverse()) {
        if (!header.ok || header.value.turn !== turn.turnId) continue;
        const { range, type } = header.value;
        if (range) return range.firstChunk + range.chunkCount;
        if (type === "attempt-started") return turn.firstChunk;
      }
    }
    return turn.firstChunk;
  }

  #isRecorded(turnId: TurnId): boolean {
    const { rows } = this.#init;
    for (const row of rows.newestFirst(0, SEARCH_LIMITS)) {
      const frames = unpackBatch(row, rows.text(row));
      if (frames.some(({ header }) => header.ok && header.value.turn === turnId)) return true;
    }
    return false;
  }
}

function follow(streams: Streams, record: WritableRecord): void {
  if (record.turnId === null) return;
  if (record.type === "turn-settled") return void streams.delete(record.turnId);
  const next = nextAfter(record);
  if (next !== undefined) streams.set(record.turnId, next);
}

/** Where the stream goes on after this record, if it says. */
function nextAfter(record: WritableRecord): number | undefined {
  if (record.type === "turn-admitted") return 0;
  if (record.type === "attempt-started") return record.firstChunk;
  const range = rangeOf(record);
  return range ? range.firstChunk + range.chunkCount : undefined;
}
