// Adaptive coalescing. A model's stream is read ahead of its consumer, and deltas of one block that are there already
// become one delta. "There already" is counted in turns of the microtask queue, not in time: a delta is handed over as
// soon as nothing more can follow without waiting for the outside world, so one that arrives alone stays alone and is
// not delayed, and no timer is involved. (A clock is read only to spare paced streams the counting.) Order and concatenated content
// never change, metadata never moves from one delta to another, and an error or the end comes after everything that
// was sent before it. What the parts mean is none of this file's business.
import { canonicalJson } from "../util/json.ts";
import { FastReadableStream } from "./fast-readable.ts";

/** A merged delta grows no further than this, so that readers still see progress in a burst. */
export const MAX_MERGED_CHARS = 16_384;
/** Reading ahead stops here until the consumer has taken something. */
export const MAX_READ_AHEAD_PARTS = 256;
export const MAX_READ_AHEAD_CHARS = 262_144;

/**
 * How many turns of the microtask queue in which nothing arrives mean that the source waits for the outside world. The
 * SDK's decoder of event streams takes 8 from one part to the next (measured in Node); providers may add stages.
 */
export const QUIET_TURNS = 32;

/** After this many deltas that nothing joined, a stream counts as paced: its deltas are handed over without listening. */
const SINGLE_DELTAS = 8;
/** Deltas of a paced stream are at least this far apart; one that is closer is listened after again. */
const PACED_GAP_MS = 1;

/** Any part of a provider's stream. */
export interface ModelPart {
  readonly type: string;
}

interface Delta extends ModelPart {
  readonly id: string;
  readonly delta: string;
  readonly providerMetadata?: unknown;
}

/** Where parts come from: none, one or several at a time; undefined is the end. */
export interface PartReader<Part> {
  read(): Promise<readonly Part[] | undefined>;
  cancel(reason: unknown): Promise<void>;
}

/** The source's parts with bursts merged. Nothing is read before the first read; cancelling cancels the source. */
export function coalesceParts<Part extends ModelPart>(source: PartReader<Part>): FastReadableStream<Part> {
  const ahead = new ReadAhead(source);
  return new FastReadableStream<Part>(
    {
      async pull(controller) {
        const next = await ahead.next();
        if (next === undefined) controller.close();
        else controller.enqueue(next);
      },
      cancel: (reason) => ahead.cancel(reason)
    },
    // One part at a time: a part handed over cannot grow any more.
    { highWaterMark: 0 }
  );
}

class ReadAhead<Part extends ModelPart> {
  readonly #source: PartReader<Part>;
  #queue: Part[] = [];
  #queuedChars = 0;
  #arrived = 0;
  /** Deltas in a row that nothing joined. */
  #singles = 0;
  #lastSingleAt = 0;
  #end: { readonly error?: unknown; readonly failed: boolean } | undefined;
  #isReading = false;
  #wakeConsumer: (() => void) | undefined;

  constructor(source: PartReader<Part>) {
    this.#source = source;
  }

  /** The next part, or undefined at the end. Rejects as the source did. */
  async next(): Promise<Part | undefined> {
    this.#readOn();
    while (this.#queue.length === 0 && this.#end === undefined) {
      await new Promise<void>((resolve) => {
        this.#wakeConsumer = resolve;
      });
    }
    await this.#untilQuiet();
    const part = this.#queue.shift();
    if (part === undefined) {
      if (this.#end?.failed === true) throw this.#end.error;
      return undefined;
    }
    if (isDelta(part)) this.#queuedChars -= part.delta.length;
    this.#readOn();
    return part;
  }

  async cancel(reason: unknown): Promise<void> {
    this.#queue = [];
    this.#finish({ failed: false });
    await this.#source.cancel(reason);
  }

  /** Lets the first part grow while it can. */
  async #untilQuiet(): Promise<void> {
    if (!this.#canGrow() || this.#isPaced()) return;
    const first = this.#arrived;
    let seen = first;
    for (let turn = 0; turn < QUIET_TURNS && this.#end === undefined; turn += 1) {
      await undefined;
      if (this.#arrived === seen) continue;
      if (!this.#canGrow()) break;
      seen = this.#arrived;
      turn = 0;
    }
    this.#singles = this.#arrived === first && this.#end === undefined ? this.#singles + 1 : 0;
  }

  /** A stream that has only sent single deltas is not worth waiting in, as long as they keep their distance. */
  #isPaced(): boolean {
    if (this.#singles < SINGLE_DELTAS) return false;
    const now = performance.now();
    const gapMs = now - this.#lastSingleAt;
    this.#lastSingleAt = now;
    return gapMs >= PACED_GAP_MS;
  }

  /** Only a delta grows, only while nothing stands behind it, and only up to its limit (which ends in a second part). */
  #canGrow(): boolean {
    const [first] = this.#queue;
    return this.#queue.length === 1 && first !== undefined && isDelta(first) && this.#end === undefined;
  }

  #readOn(): void {
    if (this.#isReading || this.#end !== undefined || this.#isFull()) return;
    this.#isReading = true;
    void this.#read();
  }

  async #read(): Promise<void> {
    try {
      while (this.#end === undefined && !this.#isFull()) {
        const parts = await this.#source.read();
        if (parts === undefined) this.#finish({ failed: false });
        // A cancel may have come during the read.
        else if (this.#end === undefined) for (const part of parts) this.#add(part);
      }
    } catch (error) {
      this.#finish({ failed: true, error });
    } finally {
      this.#isReading = false;
    }
  }

  #add(part: Part): void {
    this.#arrived += 1;
    const last = this.#queue.at(-1);
    const merged = last === undefined ? undefined : merge(last, part);
    if (merged === undefined) this.#queue.push(part);
    else this.#queue[this.#queue.length - 1] = merged;
    if (isDelta(part)) this.#queuedChars += part.delta.length;
    this.#wake();
  }

  #finish(end: { readonly error?: unknown; readonly failed: boolean }): void {
    this.#end ??= end;
    this.#wake();
  }

  #wake(): void {
    this.#wakeConsumer?.();
    this.#wakeConsumer = undefined;
  }

  #isFull(): boolean {
    return this.#queue.length >= MAX_READ_AHEAD_PARTS || this.#queuedChars >= MAX_READ_AHEAD_CHARS;
  }
}

/** Both as one part, or undefined if they have to stay apart. */
function merge<Part extends ModelPart>(first: Part, second: Part): Part | undefined {
  if (first.type !== second.type || !isDelta(first) || !isDelta(second) || first.id !== second.id) return undefined;
  if (first.delta.length + second.delta.length > MAX_MERGED_CHARS) return undefined;
  if (!sameMetadata(first.providerMetadata, second.providerMetadata)) return undefined;
  return { ...first, delta: first.delta + second.delta };
}

const DELTA_FIELDS: ReadonlySet<string> = new Set(["type", "id", "delta", "providerMetadata"]);

/** True only for shapes known completely: a field we do not know might not survive being merged. */
function isDelta<Part extends ModelPart>(part: Part): part is Part & Delta {
  if (part.type !== "text-delta" && part.type !== "reasoning-delta" && part.type !== "tool-input-delta") return false;
  if (!("id" in part) || !("delta" in part) || typeof part.delta !== "string") return false;
  for (const field in part) if (!DELTA_FIELDS.has(field)) return false;
  return true;
}

function sameMetadata(first: unknown, second: unknown): boolean {
  if (first === second) return true;
  if (first === undefined || second === undefined) return false;
  return canonicalJson(first) === canonicalJson(second);
}
