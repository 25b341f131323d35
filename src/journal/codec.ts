// Record <-> text. A record is a header line of JSON and the lines it announces: the body's JSON on one, or a chunk per
// line, so that nothing is escaped twice and a replay parses no chunk. Encoding checks the shape, so
// nothing unreadable is ever written. Decoding never throws: it gives a record, or one this build does not know
// (carried unread), or says what is damaged. How records share a row is in batch.ts.
import { isCount } from "../util/counts.ts";
import type { TurnId } from "../util/ids.ts";
import { isObject, parseJson } from "../util/json.ts";
import { err, ok, type Result } from "../util/result.ts";
import { journalErrors } from "./errors.ts";
import { failingField, isRecordType, RECORD_SHAPES, type RecordShape } from "./record-shapes.ts";
import type { ChunkRange, ContentOutline, ContentSegment, JournalRecord, ReadableRecord } from "./records.ts";

/** What can be known of a record without its body. Stored: names may be added, never changed. */
export interface RecordHeader {
  readonly type: string;
  readonly version: number;
  readonly turn: string | null;
  readonly at: number;
  readonly attempt: number | null;
  /** The chunks in it, or the chunks that were. */
  readonly range: ChunkRange | null;
}

/** The header's line, and the lines of the body. */
export function encodeRecord(record: JournalRecord): string {
  const { type, turnId: turn, at, ...rest } = record;
  const { attempt = null, ...body } = { attempt: null, ...rest };
  const shape: RecordShape<JournalRecord> = RECORD_SHAPES[type];
  const header = { type, version: shape.version, turn, at, attempt, range: rangeOf(record) };
  const problem = headerProblem(shape, header) ?? bodyProblem(shape, body);
  if (problem) throw journalErrors.InvalidRecordError(type, problem);
  if (record.type === "content-segment") return joined(header, joinChunks(record));
  return joined(header, JSON.stringify(shape.stored?.write(body) ?? body));
}

/** A header and how many lines follow it, or undefined when not even that can be read: then nothing after it can be. */
export function parseHeader(line: string): { header: Result<RecordHeader>; lines: number } | undefined {
  const parsed = parseJson(line);
  if (!parsed.ok || !isObject(parsed.value)) return undefined;
  const { type, version, turn = null, at, attempt = null, chunks = null, lines = 1 } = parsed.value;
  if (!isCount(lines) || lines === 0) return undefined;
  return { header: checkedHeader({ type, version, turn, at, attempt, chunks }), lines };
}

/** What the record says. Damage is an error text; it names no content. */
export function decodeRecord(header: RecordHeader, body: string): Result<ReadableRecord> {
  const { type, version } = header;
  if (!isRecordType(type) || version > RECORD_SHAPES[type].version) return ok(unknownRecord(header));
  const shape: RecordShape<JournalRecord> = RECORD_SHAPES[type];
  const problem = headerProblem(shape, header);
  if (problem) return err(problem);
  return type === "content-segment" ? decodeSegment(header, body) : decodeBody(header, shape, body);
}

/** A content segment without its chunks. One of a future version is outlined like ours: its header means the same. */
export function decodeOutline(header: RecordHeader): Result<ContentOutline> {
  const { turn, at, attempt, range } = header;
  const problem = headerProblem(RECORD_SHAPES["content-segment"], header);
  if (problem) return err(problem);
  if (!range) return err("it has no chunk range");
  // headerProblem has just checked that turn and attempt are there.
  return ok({ type: "content-outline", turnId: turn as TurnId, at, attempt: Number(attempt), ...range });
}

/** Exported for the test of upgrades, which need a shape with a past. */
export function decodeBody(
  header: RecordHeader,
  shape: RecordShape<JournalRecord>,
  text: string
): Result<JournalRecord> {
  const parsed = parseJson(text);
  if (!parsed.ok || !isObject(parsed.value)) return err("its body is not a JSON object");
  let body = parsed.value;
  for (let from = header.version; from < shape.version; from++) {
    const upgrade = shape.upgrades?.[from];
    if (!upgrade) return err(`there is no way from version ${from} to ${from + 1}`);
    body = upgrade(body);
  }
  body = shape.stored?.read(body) ?? body;
  const problem = bodyProblem(shape, body);
  if (problem) return err(problem);
  const common = { type: header.type, turnId: header.turn, at: header.at };
  const record = shape.attempt === "none" ? { ...body, ...common } : { ...body, ...common, attempt: header.attempt };
  // Every field was checked against the shape of this type; the compiler cannot follow that through the table.
  return ok(record as JournalRecord);
}

/** The chunks a record holds or stands for. A quarantined segment keeps its own, so that numbering goes on after it. */
export function rangeOf(record: ReadableRecord): ChunkRange | null {
  switch (record.type) {
    case "content-segment":
      return { firstChunk: record.firstChunk, chunkCount: record.chunks.length };
    case "content-outline":
      return { firstChunk: record.firstChunk, chunkCount: record.chunkCount };
    case "record-quarantined":
      return record.lostChunks;
    case "unknown":
      return record.range;
    default:
      return null;
  }
}

function joined({ type, version, turn, at, attempt, range }: RecordHeader, body: string): string {
  const lines = lineCount(body);
  // What is null, or one, is left out: most headers are then one short line.
  const header = JSON.stringify({
    type,
    version,
    turn: turn ?? undefined,
    at,
    attempt: attempt ?? undefined,
    chunks: range ? [range.firstChunk, range.chunkCount] : undefined,
    lines: lines === 1 ? undefined : lines
  });
  return `${header}\n${body}`;
}

function lineCount(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

/** JSON text has no raw line breaks: who wrote one over several lines must join them first, as SegmentPacker does. */
function joinChunks(segment: ContentSegment): string {
  if (segment.chunks.length === 0) throw journalErrors.InvalidRecordError(segment.type, "it has no chunks");
  const odd = segment.chunks.findIndex((chunk) => chunk.includes("\n") || !looksLikeChunk(chunk));
  if (odd >= 0) throw journalErrors.InvalidRecordError(segment.type, `chunk ${odd} is not a JSON object on one line`);
  return linesOf(segment.chunks);
}

function decodeSegment(header: RecordHeader, body: string): Result<ContentSegment> {
  const outline = decodeOutline(header);
  if (!outline.ok) return outline;
  const { firstChunk, chunkCount, turnId, at, attempt } = outline.value;
  const chunks = chunksIn(body);
  if (chunks.length !== chunkCount) return err(`it holds ${chunks.length} chunks instead of ${chunkCount}`);
  const odd = chunks.findIndex((chunk) => !looksLikeChunk(chunk));
  if (odd >= 0) return err(`chunk ${firstChunk + odd} is not a JSON object`);
  return ok({ type: "content-segment", turnId, at, attempt, firstChunk, chunks });
}

function unknownRecord({ type: recordType, turn, at, range }: RecordHeader): ReadableRecord {
  // Checked to be text or null; it is compared with ids, not used as one.
  return { type: "unknown", turnId: turn as TurnId | null, at, recordType, range };
}

function checkedHeader(fields: Record<"type" | "version" | "turn" | "at" | "attempt" | "chunks", unknown>) {
  const { type, version, turn, at, attempt, chunks } = fields;
  if (typeof type !== "string" || !isCount(version)) return err("its type or version is unreadable");
  if (!isCount(at)) return err("its time is unreadable");
  if (turn !== null && (typeof turn !== "string" || turn === "")) return err("its turn is unreadable");
  if (attempt !== null && !isCount(attempt)) return err("its attempt is unreadable");
  const range = parseRange(chunks);
  if (range === undefined) return err("its chunk range is unreadable");
  return ok({ type, version, turn, at, attempt, range });
}

function parseRange(chunks: unknown): ChunkRange | null | undefined {
  if (chunks === null) return null;
  const [firstChunk, chunkCount]: readonly unknown[] = Array.isArray(chunks) ? chunks : [];
  return isCount(firstChunk) && isCount(chunkCount) ? { firstChunk, chunkCount } : undefined;
}

function headerProblem(
  shape: Pick<RecordShape<JournalRecord>, "turn" | "attempt">,
  { turn, at, attempt }: RecordHeader
): string | undefined {
  if (!isCount(at)) return "its time is unreadable";
  if (turn === null ? shape.turn === "required" : shape.turn === "none" || turn === "") {
    return `its turn is ${turn === null ? "missing" : "unexpected"}`;
  }
  if (attempt === null ? shape.attempt === "required" : shape.attempt === "none" || !isCount(attempt)) {
    return `its attempt is ${attempt === null ? "missing" : "unexpected"}`;
  }
  return undefined;
}

function bodyProblem(shape: RecordShape<JournalRecord>, body: Record<string, unknown>): string | undefined {
  const field = failingField(shape.body, body);
  return field === undefined ? undefined : `"${field}" is not what it should be`;
}

/** Enough to notice a cut or shifted line. Parsing would cost more than everything else a replay does. */
function looksLikeChunk(text: string): boolean {
  return text.startsWith("{") && text.endsWith("}");
}

/** Comes before the text of a delta, and before values only: inside of strings quotes are escaped. */
const DELTA = '"delta":';

/**
 * The chunks of a segment as lines of text, one each; `chunksIn` gives them back byte for byte. Most chunks are deltas that
 * differ from the one before in a few words only: such a line has these words and not the forty bytes around them. A whole
 * line begins with a brace, a short one with the quote of its text.
 */
export function linesOf(chunks: readonly string[]): string {
  let around = "";
  const lines = chunks.map((chunk) => {
    if (isFramedBy(around, chunk)) return chunk.slice(around.length, -1);
    around = frameOf(chunk);
    return chunk;
  });
  return lines.join("\n");
}

export function chunksIn(text: string): string[] {
  let around = "";
  return text.split("\n").map((line) => {
    if (line.startsWith('"') && around !== "") return `${around}${line}}`;
    around = frameOf(line);
    return line;
  });
}

/** What comes before the text of a delta, and so of those after it that are alike; "" for other chunks. */
export function frameOf(chunk: string): string {
  const at = chunk.indexOf(DELTA);
  return at < 0 ? "" : chunk.slice(0, at + DELTA.length);
}

/** The chunk is stored as its text alone, after one with this frame. */
export function isFramedBy(frame: string, chunk: string): boolean {
  return frame !== "" && chunk.startsWith(frame) && chunk[frame.length] === '"';
}
