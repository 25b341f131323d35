// The stream of one attempt: its chunks get their numbers, reach the readers at once and the journal in segments, and
// are folded into the answer. What is shown early is text; an outcome of a tool is durable before anyone learns of it.
import type { UIMessage, UIMessageChunk } from "ai";
import type { Clock } from "../host/ports.ts";
import { SegmentPacker } from "../journal/segments.ts";
import type { ContentSegment } from "../journal/records.ts";
import {
  closeOpenParts,
  continueFold,
  foldChunk,
  foldedMessage,
  isToolPart,
  startFold,
  type MessageFold
} from "../model/index.ts";
import { sanitizeMessage } from "../util/sanitize-message.ts";
import type { TurnId } from "../util/ids.ts";

export interface StreamInit {
  readonly turnId: TurnId;
  readonly attempt: number;
  readonly firstChunk: number;
  readonly messageId: string;
  /** The stored answer this attempt extends. */
  readonly extends: UIMessage | undefined;
  readonly clock: Clock;
  /** Makes segments durable. */
  readonly append: (segments: readonly ContentSegment[]) => void;
}

/** What becomes of one chunk. */
export type Streamed =
  | { readonly kind: "chunk"; readonly seq: number; readonly body: string }
  /** It settled a call that an earlier stream introduced: readers get the changed message instead. */
  | { readonly kind: "answer"; readonly message: UIMessage };

export class TurnStream {
  readonly #init: StreamInit;
  readonly #packer: SegmentPacker;
  #fold: MessageFold;
  #flushing = false;
  #isOver = false;

  constructor(init: StreamInit) {
    this.#init = init;
    this.#fold = init.extends ? continueFold(init.extends) : startFold(init.messageId);
    this.#packer = new SegmentPacker({ turnId: init.turnId, attempt: init.attempt, firstChunk: init.firstChunk });
  }

  /** The answer so far. */
  get message(): UIMessage {
    return foldedMessage(this.#fold);
  }

  get chunkCount(): number {
    return this.#packer.nextChunk;
  }

  /** Chunks that a crash would lose now, with their numbers. */
  get unflushed(): { readonly seq: number; readonly body: string }[] {
    const { firstChunk, chunks } = this.#packer.unflushed;
    return chunks.map((body, index) => ({ seq: firstChunk + index, body }));
  }

  push(chunk: UIMessageChunk): Streamed {
    const foreign = this.#isForeignOutcome(chunk);
    this.#fold = foldChunk(this.#fold, chunk);
    if (foreign) return { kind: "answer", message: this.message };
    const seq = this.#packer.nextChunk;
    const body = JSON.stringify(this.#init.extends ? withoutMessageId(chunk) : chunk);
    this.#append(this.#packer.push(body, this.#init.clock.now()));
    if (this.#packer.dueAt !== null) void this.#flushLater();
    return { kind: "chunk", seq, body };
  }

  /** What is not durable yet, to be appended with the record that needs it. */
  takeUnflushed(): ContentSegment[] {
    return this.#packer.flush(this.#init.clock.now());
  }

  flush(): void {
    this.#append(this.takeUnflushed());
  }

  /** The answer as it will be stored; undefined when there is nothing a person could see. */
  finish(): UIMessage | undefined {
    this.#isOver = true;
    // As the store would do it: readers are told exactly what is stored.
    const message = sanitizeMessage(closeOpenParts(this.message));
    return message.parts.some((part) => part.type !== "step-start") ? message : undefined;
  }

  /** An answer from outside, to a call of the message that is being streamed. */
  change(change: (message: UIMessage) => UIMessage | undefined): UIMessage | undefined {
    const changed = change(this.#fold.message);
    if (changed) this.#fold = { ...this.#fold, message: changed };
    return changed;
  }

  #append(segments: readonly ContentSegment[]): void {
    if (segments.length > 0) this.#init.append(segments);
  }

  /** A stream that pauses must not keep its last words in memory. */
  async #flushLater(): Promise<void> {
    if (this.#flushing) return;
    this.#flushing = true;
    try {
      for (let due = this.#packer.dueAt; due !== null && !this.#isOver; due = this.#packer.dueAt) {
        const { clock } = this.#init;
        await clock.sleep(Math.max(0, due - clock.now()));
        if (!this.#isOver) this.#append(this.#packer.flushDue(clock.now()));
      }
    } catch (error) {
      // The turn has ended or was overtaken, or the disk failed: the attempt meets the same at its next record.
      this.#isOver = true;
      console.error("Streamed text could not be stored:", error);
    } finally {
      this.#flushing = false;
    }
  }

  /** True for the outcome of a call that is already part of the message this attempt extends. */
  #isForeignOutcome(chunk: UIMessageChunk): boolean {
    if (!chunk.type.startsWith("tool-output-") || !("toolCallId" in chunk)) return false;
    const { toolCallId } = chunk;
    return this.#init.extends?.parts.some((part) => isToolPart(part) && part.toolCallId === toolCallId) ?? false;
  }
}

/** Clients would take a continuation's id for a new message. */
function withoutMessageId(chunk: UIMessageChunk): UIMessageChunk {
  if (chunk.type !== "start" || chunk.messageId === undefined) return chunk;
  const { messageId: _dropped, ...rest } = chunk;
  return rest;
}
