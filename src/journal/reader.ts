// Reading the journal from a cursor. A page is bounded by bytes before any body is loaded, and made of whole rows where
// they fit; what cannot be read is reported beside the rest.
import { byteLength } from "../util/bytes.ts";
import type { TurnId } from "../util/ids.ts";
import { decodeFrame, unpackBatch, type Frame } from "./batch.ts";
import type { Conversation } from "./conversation.ts";
import type { SequencedRecord } from "./records.ts";
import type { JournalRow, JournalRows } from "./rows.ts";

export const DEFAULT_PAGE_BYTES = 1024 * 1024;
export const DEFAULT_PAGE_RECORDS = 256;

export interface ReadOptions {
  /** Sequence of the last record already seen. Default 0: from the beginning. */
  after?: number;
  /** Only this turn's records. The walk starts at an open turn's admission; for another, pass `after` if you know it. */
  turnId?: TurnId;
  /** Only the records of these turns. */
  turnIds?: ReadonlySet<string>;
  /**
   * What a page may load: it ends before the row, and in a row larger than this before the record, that would exceed
   * it. A single larger record is a page of its own. With a filter a page can hold less, even nothing, and say `more`.
   */
  maxBytes?: number;
  maxRecords?: number;
  /** Content segments without their chunks: for folds that do not replay. */
  outline?: boolean;
  /** Content segments that end before this chunk are left out. */
  fromChunk?: number;
}

/** A row of which records cannot be read. Hand it to the quarantine. */
export interface CorruptRow {
  /** Of the first record that is lost. */
  readonly sequence: number;
  /** How many are. */
  readonly lost: number;
  /** The row's key: the sequence of its last record. */
  readonly last: number;
  readonly reason: string;
}

export interface JournalPage {
  readonly entries: readonly SequencedRecord[];
  /** Of any turn: damage is reported wherever it is met. */
  readonly corrupt: readonly CorruptRow[];
  /** Pass it as `after` to go on. It also moves over records that were not asked for. */
  readonly cursor: number;
  /** There was more than fitted. */
  readonly more: boolean;
}

export class JournalReader {
  readonly #rows: JournalRows;
  readonly #conversation: Conversation;
  readonly #onCorrupt: ((rows: readonly CorruptRow[]) => void) | undefined;

  /** `onCorrupt`: called with rows that cannot be read, each time they are met. */
  constructor(rows: JournalRows, conversation: Conversation, onCorrupt?: (rows: readonly CorruptRow[]) => void) {
    this.#rows = rows;
    this.#conversation = conversation;
    this.#onCorrupt = onCorrupt;
  }

  read(options: ReadOptions = {}): JournalPage {
    const rows = this.#rows;
    const { maxRecords = DEFAULT_PAGE_RECORDS, maxBytes = DEFAULT_PAGE_BYTES } = options;
    const limits = { maxRecords: Math.max(1, maxRecords), maxBytes };
    const after = this.#start(options);
    const sizes = rows.sizes(after + 1, limits.maxRecords + 1);
    const [first] = sizes;
    if (!first) return { entries: [], corrupt: [], cursor: Math.max(after, rows.head()), more: false };
    const whole = fittingRows(sizes, after, limits);
    const last = sizes[whole - 1]?.last ?? first.last;
    const loaded = rows.between(after + 1, last).map((row) => ({ row, frames: this.#frames(row, after) }));
    const all = loaded.flatMap(({ frames }) => frames);
    // A first row that does not fit is read in parts.
    const taken = whole > 0 ? all.length : fittingFrames(all, options, limits);
    const cursor = all[taken - 1]?.sequence ?? last;
    const more = cursor < last || sizes.length > Math.max(1, whole);
    const { entries, corrupt } = decoded(loaded, options, cursor);
    if (corrupt.length > 0) this.#onCorrupt?.(corrupt);
    return { entries, corrupt, cursor: more ? cursor : Math.max(last, rows.head()), more };
  }

  /** All of it, page by page. Each page is read when it is asked for. */
  *pages(options: ReadOptions = {}): Generator<JournalPage, void, undefined> {
    let after = options.after ?? 0;
    for (;;) {
      const page = this.read({ ...options, after });
      if (!isEmpty(page)) yield page;
      if (!page.more) return;
      after = page.cursor;
    }
  }

  /** How much reading a turn from its admission on would load. At most: other turns may be among it. */
  bytesSince(turn: { readonly firstSequence: number }): number {
    return this.#rows.bytesFrom(turn.firstSequence);
  }

  /** The cursor, or the one before an open turn's admission. */
  #start({ after = 0, turnId }: ReadOptions): number {
    const open = this.#conversation.row.openTurns.find((turn) => turn.turnId === turnId);
    return open ? Math.max(after, open.firstSequence - 1) : after;
  }

  #frames(row: JournalRow, after: number): Frame[] {
    return unpackBatch(row, this.#rows.text(row)).filter((frame) => frame.sequence > after);
  }
}

interface Limits {
  maxRecords: number;
  maxBytes: number;
}

interface LoadedRow {
  row: JournalRow;
  /** After the cursor. */
  frames: readonly Frame[];
}

/** How many rows fit as a whole. Cells are counted as found: a damaged one makes a small page, not an endless one. */
function fittingRows(sizes: readonly Omit<JournalRow, "blob" | "body">[], after: number, limits: Limits): number {
  let [records, bytes, fitting] = [0, 0, 0];
  for (const { last, count, size_bytes } of sizes) {
    records += Math.min(Number(count) || 1, last - after);
    bytes += Number(size_bytes) || 0;
    if (records > limits.maxRecords || bytes > limits.maxBytes) break;
    fitting += 1;
  }
  return fitting;
}

/** How many frames to take: at least one that is wanted, if there is one, and the unwanted around it. */
function fittingFrames(frames: readonly Frame[], options: ReadOptions, limits: Limits): number {
  let [records, bytes] = [0, 0];
  const end = frames.findIndex((frame) => {
    if (!isWanted(frame, options)) return false;
    records += 1;
    bytes += byteLength(frame.text ?? "");
    return records > 1 && (records > limits.maxRecords || bytes > limits.maxBytes);
  });
  return end < 0 ? frames.length : end;
}

/** Damage is always wanted. */
function isWanted({ header }: Frame, { turnId, turnIds, fromChunk }: ReadOptions): boolean {
  if (!header.ok) return true;
  const { turn, range } = header.value;
  if (turnId !== undefined && turn !== turnId) return false;
  if (turnIds && (turn === null || !turnIds.has(turn))) return false;
  return fromChunk === undefined || range === null || range.firstChunk + range.chunkCount > fromChunk;
}

function decoded(rows: readonly LoadedRow[], options: ReadOptions, upTo: number) {
  const entries: SequencedRecord[] = [];
  const corrupt: CorruptRow[] = [];
  for (const { row, frames } of rows) {
    const damage: { sequence: number; reason: string }[] = [];
    for (const frame of frames) {
      if (frame.sequence > upTo || !isWanted(frame, options)) continue;
      const record = decodeFrame(frame, options.outline);
      if (record.ok) entries.push({ sequence: frame.sequence, record: record.value });
      else damage.push({ sequence: frame.sequence, reason: record.error });
    }
    const [first] = damage;
    if (first) corrupt.push({ ...first, lost: damage.length, last: row.last });
  }
  return { entries, corrupt };
}

function isEmpty(page: JournalPage): boolean {
  return page.entries.length === 0 && page.corrupt.length === 0;
}
