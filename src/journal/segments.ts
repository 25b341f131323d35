// Packs a stream of small chunks into few records. Pure bookkeeping: it is given the time, holds no timer and writes
// nothing; the caller appends what it returns and asks again at `dueAt`. Numbers are given when a chunk is pushed,
// strictly one after another, and survive packing.
//
// What decides between cost and loss: a crash loses at most what is unflushed, and clients have seen it. The promise to
// users is half a second or 16 KiB. The delay is a little shorter, because a timer may fire late in a busy process; the
// first one is much shorter, so that the beginning of an answer is kept.
import { byteLength } from "../util/bytes.ts";
import type { TurnId } from "../util/ids.ts";
import { isObject, parseJson } from "../util/json.ts";
import { journalErrors } from "./errors.ts";
import type { ContentSegment } from "./records.ts";

export interface SegmentLimits {
  /** A segment is flushed before it would exceed this. A larger chunk is a segment of its own. */
  maxBytes: number;
  /** How long the first text of a stream may be lost to a crash. */
  firstDelayMs: number;
  /** Longest wait of the first unflushed chunk after that. */
  nextDelayMs: number;
}

export const SEGMENT_LIMITS: SegmentLimits = {
  maxBytes: 16 * 1024,
  firstDelayMs: 25,
  nextDelayMs: 400
};

export class SegmentPacker {
  readonly #turnId: TurnId;
  readonly #attempt: number;
  readonly #limits: SegmentLimits;
  #pending: string[] = [];
  #pendingBytes = 0;
  #pendingSince = 0;
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
    const sizeBytes = byteLength(line);
    const ready: ContentSegment[] = [];
    if (this.#pendingBytes + sizeBytes > this.#limits.maxBytes) ready.push(...this.flush(now));
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
    return [segment];
  }
}

/** Segments are stored one chunk per line. JSON may be written over several; it never has to be. */
function singleLine(chunk: string): string {
  const parsed = parseJson(chunk);
  if (!parsed.ok || !isObject(parsed.value))
    throw journalErrors.InvalidRecordError("content-segment", "a chunk is no JSON object");
  return chunk.includes("\n") ? JSON.stringify(parsed.value) : chunk;
}
