// Packs a stream of small chunks into few records. Pure bookkeeping: it is given the time, holds no timer and writes
// nothing; the caller appends what it returns and asks again at `dueAt`. Numbers are given when a chunk is pushed,
// strictly one after another, and survive packing.
//
// What decides between cost and loss: a crash loses at most what is unflushed, and clients have seen it. A flush costs a page
// of the file and a sync of the disk whatever it holds, so the bytes to the disk grow with the number of flushes and not with
// the text. The delay is shorter than what users are promised, because a timer may fire late in a busy process; the first
// one is much shorter, so that the beginning of an answer is kept. Size is what the table stores: most chunks are a few
// words of text in a frame of fifty bytes that is stored once.
import { byteLength } from "../util/bytes.ts";
import type { TurnId } from "../util/ids.ts";
import { isObject, parseJson } from "../util/json.ts";
import { frameOf, isFramedBy } from "./codec.ts";
import { journalErrors } from "./errors.ts";
import type { ContentSegment } from "./records.ts";

export interface SegmentLimits {
  /** A segment is flushed before what is stored of it would exceed this. A larger chunk is a segment of its own. */
  maxBytes: number;
  /** How long the first text of a stream may be lost to a crash. */
  firstDelayMs: number;
  /** Longest wait of the first unflushed chunk after that. */
  nextDelayMs: number;
}

/** What users are promised, unless the class says otherwise. */
export const DEFAULT_MAX_UNSTORED_TEXT_MS = 500;
const SHORTEST_PROMISE_MS = 100;
const LONGEST_PROMISE_MS = 5_000;
/** Of the promise: the rest is for a timer that fires late. */
const SHARE_TO_WAIT = 0.8;

export const SEGMENT_LIMITS: SegmentLimits = {
  maxBytes: 4 * 1024,
  firstDelayMs: 25,
  nextDelayMs: DEFAULT_MAX_UNSTORED_TEXT_MS * SHARE_TO_WAIT
};

/** The limits that keep a class's promise: no text is unstored for longer than this. */
export function segmentLimits(maxUnstoredTextMs: number): SegmentLimits {
  const asked = Number.isNaN(maxUnstoredTextMs) ? DEFAULT_MAX_UNSTORED_TEXT_MS : maxUnstoredTextMs;
  const promise = Math.min(LONGEST_PROMISE_MS, Math.max(SHORTEST_PROMISE_MS, asked));
  return { ...SEGMENT_LIMITS, nextDelayMs: promise * SHARE_TO_WAIT };
}

export class SegmentPacker {
  readonly #turnId: TurnId;
  readonly #attempt: number;
  readonly #limits: SegmentLimits;
  #pending: string[] = [];
  #pendingBytes = 0;
  #pendingSince = 0;
  /** Of the chunk before, and of those that are stored without it. */
  #frame = "";
  #firstPending: number;
  #delayMs: number;

  /** `firstChunk`: number of the first chunk to come, as the attempt's record has it. */
  constructor(init: { turnId: TurnId; attempt: number; firstChunk: number; limits?: Partial<SegmentLimits> }) {
    this.#turnId = init.turnId;
    this.#attempt = init.attempt;
    this.#firstPending = init.firstChunk;
    this.#limits = { ...SEGMENT_LIMITS, ...init.limits };
    this.#delayMs = this.#limits.firstDelayMs;
  }

  /** Number the next chunk will get; the length of the stream so far. */
  get nextChunk(): number {
    return this.#firstPending + this.#pending.length;
  }

  /** When `flushDue` has something to do, or null while nothing is unflushed. */
  get dueAt(): number | null {
    return this.#pending.length === 0 ? null : this.#pendingSince + this.#delayMs;
  }

  /** Takes one chunk, as the JSON text of an object. Returns what is full or due, to be appended in this order. */
  push(chunk: string, now: number): ContentSegment[] {
    const line = singleLine(chunk);
    let sizeBytes = this.#storedBytes(line);
    const ready: ContentSegment[] = [];
    if (this.#pending.length > 0 && this.#pendingBytes + sizeBytes > this.#limits.maxBytes) {
      ready.push(...this.flush(now));
      // The first of a segment is stored whole.
      sizeBytes = this.#storedBytes(line);
    }
    if (this.#pending.length === 0) this.#pendingSince = now;
    this.#pending.push(line);
    // With the line break that will follow it.
    this.#pendingBytes += sizeBytes + 1;
    ready.push(...(this.#pendingBytes > this.#limits.maxBytes ? this.flush(now) : this.flushDue(now)));
    return ready;
  }

  /** Flushes if the oldest unflushed chunk has waited long enough. */
  flushDue(now: number): ContentSegment[] {
    if (this.dueAt === null || now < this.dueAt) return [];
    this.#delayMs = this.#limits.nextDelayMs;
    return this.flush(now);
  }

  /** At once: before a tool runs or its outcome becomes visible, at the end of a step, at park and at settle. */
  flush(now: number): ContentSegment[] {
    if (this.#pending.length === 0) return [];
    const segment: ContentSegment = {
      type: "content-segment",
      turnId: this.#turnId,
      attempt: this.#attempt,
      at: now,
      firstChunk: this.#firstPending,
      chunks: this.#pending
    };
    this.#firstPending = this.nextChunk;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#frame = "";
    return [segment];
  }

  #storedBytes(line: string): number {
    if (isFramedBy(this.#frame, line)) return byteLength(line) - this.#frame.length - 1;
    this.#frame = frameOf(line);
    return byteLength(line);
  }
}

/** Segments are stored one chunk per line. JSON may be written over several; it never has to be. */
function singleLine(chunk: string): string {
  const parsed = parseJson(chunk);
  if (!parsed.ok || !isObject(parsed.value))
    throw journalErrors.InvalidRecordError("content-segment", "a chunk is no JSON object");
  return chunk.includes("\n") ? JSON.stringify(parsed.value) : chunk;
}
