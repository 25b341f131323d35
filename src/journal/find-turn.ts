// Which turn does a client mean by its request id? Open turns are in the conversation's row; a finished one is searched
// for backwards in what retention kept, up to the last clear and to SEARCH_LIMITS.
import type { TurnId } from "../util/ids.ts";
import { decodeFrame, unpackBatch } from "./batch.ts";
import type { ConversationRow } from "./conversation.ts";
import { aliasOf } from "./open-turns.ts";
import type { TurnSettled } from "./records.ts";
import { SEARCH_LIMITS, type JournalRows } from "./rows.ts";

export interface FoundTurn {
  readonly turnId: TurnId;
  /** Its records start there. */
  readonly firstSequence: number;
  /** Its outcome, once it has one. */
  readonly settled?: TurnSettled;
}

/** Request ids remembered in one activation; above it they are read again. */
const ALIAS_LIMIT = 10_000;

/** Finds turns without reading the journal for every request id that is new: which ids it holds is read once. */
export class TurnFinder {
  readonly #rows: JournalRows;
  /** Every alias that may be in the journal; some of them may be gone. */
  #aliases: Set<string> | undefined;

  constructor(rows: JournalRows) {
    this.#rows = rows;
  }

  /** A turn of this name is being written. */
  note(alias: string): void {
    this.#aliases?.add(alias);
    if (this.#aliases && this.#aliases.size > ALIAS_LIMIT) this.#aliases = undefined;
  }

  find(fields: Pick<ConversationRow, "openTurns" | "clearedSequence">, requestId: string): FoundTurn | undefined {
    this.#aliases ??= allAliases(this.#rows, fields.clearedSequence);
    const isOpen = fields.openTurns.some((turn) => turn.requestId === requestId);
    return isOpen || this.#aliases.has(requestId) ? findTurn(this.#rows, fields, requestId) : undefined;
  }
}

function allAliases(rows: JournalRows, floor: number): Set<string> {
  const aliases = new Set<string>();
  for (const row of rows.newestFirst(floor + 1, SEARCH_LIMITS)) {
    for (const frame of unpackBatch(row, rows.text(row))) {
      if (!frame.header.ok || frame.header.value.type !== "turn-admitted") continue;
      const record = decodeFrame(frame);
      if (record.ok && record.value.type === "turn-admitted") aliases.add(aliasOf(record.value));
    }
  }
  return aliases;
}

function findTurn(
  rows: JournalRows,
  fields: Pick<ConversationRow, "openTurns" | "clearedSequence">,
  requestId: string
): FoundTurn | undefined {
  const open = fields.openTurns.findLast((turn) => turn.requestId === requestId);
  const floor = Math.max(open?.firstSequence ?? 0, fields.clearedSequence);
  const outcomes = new Map<TurnId, TurnSettled>();
  for (const row of rows.newestFirst(floor + 1, SEARCH_LIMITS)) {
    for (const frame of unpackBatch(row, rows.text(row)).reverse()) {
      const type = frame.header.ok && frame.header.value.type;
      if (frame.sequence <= floor || (type !== "turn-settled" && type !== "turn-admitted")) continue;
      const record = decodeFrame(frame);
      if (!record.ok) continue;
      if (record.value.type === "turn-settled") outcomes.set(record.value.turnId, record.value);
      if (record.value.type !== "turn-admitted" || aliasOf(record.value) !== requestId) continue;
      const { turnId } = record.value;
      const settled = outcomes.get(turnId);
      return { turnId, firstSequence: frame.sequence, ...(settled && { settled }) };
    }
  }
  // The writer put it there as an id; the row has forgotten the brand.
  return open && { turnId: open.turnId as TurnId, firstSequence: open.firstSequence };
}
