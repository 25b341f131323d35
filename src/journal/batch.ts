// The records of one append as the text of one row, and back. Packing splits what is too large for a row; unpacking
// never throws: as long as headers can be read each record stands alone, and after one that cannot, the rest of the row
// is lost (each with its sequence, so that numbering holds).
import { byteLength } from "../util/bytes.ts";
import { err, type Result } from "../util/result.ts";
import { decodeOutline, decodeRecord, encodeRecord, parseHeader, type RecordHeader } from "./codec.ts";
import type { JournalRecord, ReadableRecord } from "./records.ts";

/** An append above this takes several rows, in one transaction. A single larger record is a row of its own. */
export const MAX_ROW_BYTES = 8 * 1024 * 1024;
/** The same by number. A row that claims more is damaged. */
export const MAX_ROW_RECORDS = 10_000;

export interface Batch {
  readonly count: number;
  readonly sizeBytes: number;
  readonly body: string;
}

/** Where one record is in its row. */
export interface Frame {
  readonly sequence: number;
  /** As stored; null when its beginning or end cannot be found. */
  readonly text: string | null;
  readonly header: Result<RecordHeader>;
  readonly body: string;
}

export function packBatches(records: readonly JournalRecord[]): Batch[] {
  const batches: Batch[] = [];
  let texts: string[] = [];
  let sizeBytes = 0;
  const close = () => {
    if (texts.length > 0) batches.push(joinTexts(texts, sizeBytes));
    [texts, sizeBytes] = [[], 0];
  };
  for (const record of records) {
    const text = encodeRecord(record);
    const textBytes = byteLength(text);
    // With the line break between this record and the one before.
    if (sizeBytes + 1 + textBytes > MAX_ROW_BYTES || texts.length === MAX_ROW_RECORDS) close();
    sizeBytes += texts.length === 0 ? textBytes : textBytes + 1;
    texts.push(text);
  }
  close();
  return batches;
}

/** The frames of a row, or the text of a row from its frames. */
export function joinTexts(texts: readonly string[], sizeBytes?: number): Batch {
  const body = texts.join("\n");
  return { count: texts.length, sizeBytes: sizeBytes ?? byteLength(body), body };
}

/** As many frames as the row says it has records, in order. `text` is the row's body, if it is there. */
export function unpackBatch(row: { last: number; count: number }, text: Result<string>): Frame[] {
  const count = believableCount(row);
  if (!text.ok) return lost(row.last, count, text.error);
  const { frames, rest } = frameTexts(text.value, row.last - count + 1, count);
  if (frames.length === count && rest) return lost(row.last, count, `it holds more than ${count} records`);
  if (frames.length < count) {
    frames.push(
      ...lost(row.last, count - frames.length, `record ${frames.length} of ${count} is cut off or unreadable`)
    );
  }
  return frames;
}

export function decodeFrame(frame: Frame, outline = false): Result<ReadableRecord> {
  if (!frame.header.ok) return frame.header;
  const header = frame.header.value;
  return outline && header.type === "content-segment" ? decodeOutline(header) : decodeRecord(header, frame.body);
}

function frameTexts(text: string, first: number, count: number): { frames: Frame[]; rest: boolean } {
  const frames: Frame[] = [];
  let start = 0;
  while (frames.length < count && start <= text.length) {
    const headerEnd = text.indexOf("\n", start);
    const parsed = headerEnd < 0 ? undefined : parseHeader(text.slice(start, headerEnd));
    const end = parsed && endOfLines(text, headerEnd, parsed.lines);
    if (!parsed || end === undefined) break;
    const body = text.slice(headerEnd + 1, end);
    frames.push({ sequence: first + frames.length, text: text.slice(start, end), header: parsed.header, body });
    start = end + 1;
  }
  return { frames, rest: start <= text.length };
}

/** Where the n-th line after this line break ends, or undefined when there are not as many. */
function endOfLines(text: string, lineBreak: number, lines: number): number | undefined {
  let end = lineBreak;
  for (let line = 0; line < lines; line++) {
    if (end >= text.length) return undefined;
    const next = text.indexOf("\n", end + 1);
    end = next < 0 ? text.length : next;
  }
  return end;
}

/** The last `count` frames of a row, unreadable. */
function lost(last: number, count: number, reason: string): Frame[] {
  return Array.from({ length: count }, (_, index) => ({
    sequence: last - count + 1 + index,
    text: null,
    header: err(reason),
    body: ""
  }));
}

/** A count that cannot be is one: the row's own sequence is the only one certain to be its. */
function believableCount({ last, count }: { last: number; count: number }): number {
  return Number.isSafeInteger(count) && count >= 1 && count <= Math.min(last, MAX_ROW_RECORDS) ? count : 1;
}
