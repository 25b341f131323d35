// Record <-> row. Encoding checks the shape, so nothing unreadable is ever written. Decoding never throws: a row is a
// record, or a record this build does not know (carried, and encoded back byte for byte), or damaged (reported, for the
// caller to quarantine). Large bodies go to blobs and come back here, invisible to everyone else.
import { BlobCorruptError, BlobMissingError, type Blobs } from "../host/blobs.ts";
import { byteLength } from "../util/bytes.ts";
import { errorMessage } from "../util/errors.ts";
import type { TurnId } from "../util/ids.ts";
import { isObject, parseJson } from "../util/json.ts";
import { err, ok, type Result } from "../util/result.ts";
import { InvalidRecordError } from "./errors.ts";
import { failingField, isRecordType, RECORD_SHAPES, type RecordShape } from "./record-shapes.ts";
import type {
  ChunkRange,
  ContentOutline,
  ContentSegment,
  JournalRecord,
  ReadableRecord,
  WritableRecord
} from "./records.ts";

/** Bodies above this are stored as blobs, so that a page of rows stays small and no cell nears the platform's limit. */
export const INLINE_BODY_BYTES = 256 * 1024;

/** A row without its place and its body's whereabouts. */
export interface EncodedRecord {
  turn: string | null;
  type: string;
  version: number;
  at: number;
  attempt: number | null;
  first_chunk: number | null;
  chunk_count: number | null;
  size_bytes: number;
  body: string;
}

/** A row as read. `body` is null when it is in a blob, or was left out on purpose (`outline`). */
export interface JournalRow extends Omit<EncodedRecord, "body"> {
  position: number;
  blob: string | null;
  body: string | null;
}

export function encodeRecord(record: WritableRecord): EncodedRecord {
  if (record.type === "unknown") {
    return encoded({
      turn: record.turnId,
      type: record.recordType,
      version: record.version,
      at: record.at,
      attempt: record.attempt,
      first_chunk: record.range?.firstChunk ?? null,
      chunk_count: record.range?.chunkCount ?? null,
      body: record.body
    });
  }
  const { type, turnId, at, ...rest } = record;
  const { attempt = null, ...body } = { attempt: null, ...rest };
  const shape: RecordShape<JournalRecord> = RECORD_SHAPES[type];
  const problem = headerProblem(shape, { turn: turnId, at, attempt }) ?? bodyProblem(shape, body);
  if (problem) throw new InvalidRecordError(type, problem);
  return encoded({
    turn: turnId,
    type,
    version: shape.version,
    at,
    attempt,
    ...rangeColumns(record),
    body: record.type === "content-segment" ? joinChunks(record) : JSON.stringify(body)
  });
}

/** What the row says. Damage is an error text; it names no content. */
export function decodeRow(row: JournalRow, blobs: Blobs): Result<ReadableRecord> {
  const { type, version } = row;
  if (typeof type !== "string" || !Number.isSafeInteger(version)) return err("its type or version is unreadable");
  const body = bodyText(row, blobs);
  if (!body.ok) return body;
  if (!isRecordType(type) || version > RECORD_SHAPES[type].version) return decodeUnknown(row, body.value);
  const shape: RecordShape<JournalRecord> = RECORD_SHAPES[type];
  const problem = headerProblem(shape, row);
  if (problem) return err(problem);
  return type === "content-segment" ? decodeSegment(row, body.value) : decodeBody(row, shape, body.value);
}

/** The same row without its chunks. */
export function decodeOutline(row: JournalRow): Result<ContentOutline> {
  const range = rangeOf(row);
  const problem = headerProblem(RECORD_SHAPES["content-segment"], row) ?? (range ? undefined : "it has no chunk range");
  if (problem || !range) return err(problem ?? "it has no chunk range");
  // headerProblem has just checked that turn and attempt are there.
  return ok({
    type: "content-outline",
    turnId: row.turn as TurnId,
    at: row.at,
    attempt: Number(row.attempt),
    ...range
  });
}

/** The chunks a row says it holds, if it says so believably. */
export function rangeOf(row: Pick<JournalRow, "first_chunk" | "chunk_count">): ChunkRange | null {
  const { first_chunk: firstChunk, chunk_count: chunkCount } = row;
  return isCount(firstChunk) && isCount(chunkCount) ? { firstChunk, chunkCount } : null;
}

/** Exported for the test of upgrades, which need a shape with a past. */
export function decodeBody(row: JournalRow, shape: RecordShape<JournalRecord>, text: string): Result<JournalRecord> {
  const parsed = parseJson(text);
  if (!parsed.ok || !isObject(parsed.value)) return err("its body is not a JSON object");
  let body = parsed.value;
  for (let from = row.version; from < shape.version; from++) {
    const upgrade = shape.upgrades?.[from];
    if (!upgrade) return err(`there is no way from version ${from} to ${from + 1}`);
    body = upgrade(body);
  }
  const problem = bodyProblem(shape, body);
  if (problem) return err(problem);
  const header = { type: row.type, turnId: row.turn, at: row.at };
  const record = shape.attempt === "none" ? { ...body, ...header } : { ...body, ...header, attempt: row.attempt };
  // Every field was checked against the shape of this type; the compiler cannot follow that through the table.
  return ok(record as JournalRecord);
}

function encoded(columns: Omit<EncodedRecord, "size_bytes">): EncodedRecord {
  return { ...columns, size_bytes: byteLength(columns.body) };
}

/** A quarantined segment keeps its range in the columns, so that numbering goes on after the hole. */
function rangeColumns(record: JournalRecord): Pick<EncodedRecord, "first_chunk" | "chunk_count"> {
  if (record.type === "content-segment") {
    return { first_chunk: record.firstChunk, chunk_count: record.chunks.length };
  }
  const lost = record.type === "record-quarantined" ? record.lostChunks : null;
  return { first_chunk: lost?.firstChunk ?? null, chunk_count: lost?.chunkCount ?? null };
}

/** One chunk per line: JSON text has no raw line breaks, so nothing is escaped twice and replay needs no parsing. */
function joinChunks(segment: ContentSegment): string {
  if (segment.chunks.length === 0) throw new InvalidRecordError(segment.type, "it has no chunks");
  const odd = segment.chunks.findIndex((chunk) => chunk.includes("\n") || !isChunk(chunk));
  if (odd >= 0) throw new InvalidRecordError(segment.type, `chunk ${odd} is not a JSON object on one line`);
  return segment.chunks.join("\n");
}

function decodeSegment(row: JournalRow, text: string): Result<ContentSegment> {
  const outline = decodeOutline(row);
  if (!outline.ok) return outline;
  const { firstChunk, chunkCount, turnId, at, attempt } = outline.value;
  const chunks = text.split("\n");
  if (chunks.length !== chunkCount) return err(`it holds ${chunks.length} chunks instead of ${chunkCount}`);
  const odd = chunks.findIndex((chunk) => !isChunk(chunk));
  if (odd >= 0) return err(`chunk ${firstChunk + odd} is not a JSON object`);
  return ok({ type: "content-segment", turnId, at, attempt, firstChunk, chunks });
}

function decodeUnknown(row: JournalRow, body: string): Result<ReadableRecord> {
  const problem = headerProblem({ turn: "optional", attempt: "optional" }, row);
  if (problem) return err(problem);
  return ok({
    type: "unknown",
    // Checked to be text or null; what it names is known to whoever wrote it.
    turnId: row.turn as TurnId | null,
    at: row.at,
    recordType: row.type,
    version: row.version,
    attempt: row.attempt,
    range: rangeOf(row),
    body
  });
}

function bodyText(row: JournalRow, blobs: Blobs): Result<string> {
  if (row.blob === null) return typeof row.body === "string" ? ok(row.body) : err("its body is missing");
  try {
    return ok(blobs.readText({ hash: row.blob, sizeBytes: row.size_bytes }));
  } catch (error) {
    if (error instanceof BlobMissingError || error instanceof BlobCorruptError) return err(errorMessage(error));
    throw error;
  }
}

function headerProblem(
  shape: Pick<RecordShape<JournalRecord>, "turn" | "attempt">,
  header: Pick<JournalRow, "turn" | "at" | "attempt">
): string | undefined {
  const { turn, at, attempt } = header;
  if (!isCount(at)) return "its time is unreadable";
  if (turn === null ? shape.turn === "required" : shape.turn === "none" || typeof turn !== "string" || turn === "") {
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

function isChunk(text: string): boolean {
  const parsed = parseJson(text);
  return parsed.ok && isObject(parsed.value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
