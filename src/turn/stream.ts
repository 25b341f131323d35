// The stream of one attempt: its chunks get their numbers, reach the listeners at once and the journal in segments, and
// are folded into the answer. What is shown early is text; an outcome of a tool is durable before it is shown.
import type { UIMessage, UIMessageChunk } from "ai";
import type { Clock } from "../host/ports.ts";
import { DEFAULT_MAX_UNSTORED_TEXT_MS, SegmentPacker, segmentLimits } from "../journal/segments.ts";
import type { ContentSegment, ModelCalled, StepFinished } from "../journal/records.ts";
import { closeOpenParts, foldChunk, foldedMessage, isToolPart, type MessageFold } from "../model/index.ts";
import { byteLength, cutToBytes } from "../util/bytes.ts";
import { sanitizeMessage } from "../util/sanitize-message.ts";
import type { TurnId } from "../util/ids.ts";
import { isPlainJson } from "../util/json.ts";
import { approvedCalls } from "./tool-answer.ts";

export interface StreamInit {
  readonly turnId: TurnId;
  readonly attempt: number;
  readonly firstChunk: number;
  /** The answer before this attempt's first chunk. */
  readonly fold: MessageFold;
  /** The stored answer the turn extends. */
  readonly extends: UIMessage | undefined;
  /** The earlier answer whose calls the turn runs, and which it does not extend. */
  readonly resolves: UIMessage | undefined;
  /** Joins the model's chunks to what was streamed before. */
  readonly join: Join;
  /** How long shown text may be unstored. Default: half a second. */
  readonly maxUnstoredTextMs?: number;
  /** What the answer has so far, and may have. */
  readonly size: AnswerSize;
  readonly clock: Clock;
  /** Makes records durable. */
  readonly append: (records: readonly StreamRecord[]) => void;
}

type Note = ModelCalled | StepFinished;
export type StreamRecord = ContentSegment | Note;

/** What becomes of one chunk. */
export type Streamed =
  | { readonly kind: "chunk"; readonly seq: number; readonly body: string }
  /**
   * It settled a call that an earlier stream introduced: listeners get the changed message instead. Stored is the earlier
   * answer alone, because what this stream adds to it is in the journal and is folded on top of it after a restart.
   */
  | { readonly kind: "answer"; readonly message: UIMessage; readonly stored: UIMessage }
  /** The outcome of a call of the earlier answer that the turn resolves. It is no part of this stream. */
  | { readonly kind: "earlier"; readonly chunk: UIMessageChunk };

export class TurnStream {
  /** Calls that were allowed before and that this turn is to run. */
  readonly runs: ReadonlySet<string>;
  /** Calls whose execution has begun. */
  readonly started = new Set<string>();
  readonly #init: StreamInit;
  readonly #packer: SegmentPacker;
  #fold: MessageFold;
  #notes: StepFinished[] = [];
  /** What the attempt begins with. */
  #opening: ModelCalled[] = [];
  #flushing = false;
  #isOver = false;

  constructor(init: StreamInit) {
    this.#init = init;
    this.#fold = init.fold;
    this.runs = new Set(approvedCalls(init.extends ?? init.resolves).map(({ toolCallId }) => toolCallId));
    const { turnId, attempt, firstChunk, maxUnstoredTextMs = DEFAULT_MAX_UNSTORED_TEXT_MS } = init;
    this.#packer = new SegmentPacker({ turnId, attempt, firstChunk, limits: segmentLimits(maxUnstoredTextMs) });
  }

  /** The answer so far. */
  get message(): UIMessage {
    return foldedMessage(this.#fold);
  }

  /** The answer has reached its limit: nothing more is taken. */
  get isFull(): boolean {
    return this.#init.size.isExceeded;
  }

  push(chunk: UIMessageChunk): Streamed[] {
    return this.#init.join(chunk).flatMap((joined) => {
      const fitting = this.#init.size.take(joined);
      return fitting ? this.#take(fitting) : [];
    });
  }

  #take(chunk: UIMessageChunk): Streamed[] {
    if (this.#isOfEarlierCall(chunk)) return isOutcome(chunk) ? [{ kind: "earlier", chunk }] : [];
    return [this.#takeOwn(chunk)];
  }

  #takeOwn(chunk: UIMessageChunk): Streamed {
    const foreign = this.#isForeignOutcome(chunk);
    // First: what cannot be stored must not become part of the answer, or the answer could not be stored either.
    const body = JSON.stringify(chunk);
    this.#fold = foldChunk(this.#fold, asStored(chunk, body));
    if (foreign) return { kind: "answer", message: this.message, stored: this.#extended };
    const seq = this.#packer.nextChunk;
    this.#appendDue(this.#packer.push(body, this.#init.clock.now()));
    if (this.#packer.dueAt !== null) void this.#flushLater();
    return { kind: "chunk", seq, body };
  }

  get #extended(): UIMessage {
    const { message } = this;
    return { ...message, parts: message.parts.slice(0, this.#init.extends?.parts.length) };
  }

  /** A record that need not be durable before the next one is. */
  note(record: Note): void {
    if (record.type === "model-called") this.#opening.push(record);
    else this.#notes.push(record);
  }

  /** What is not durable yet, to be appended with the record that needs it. */
  takeUnflushed(): StreamRecord[] {
    return this.#withNotes(this.#packer.flush(this.#init.clock.now()));
  }

  #withNotes(segments: readonly ContentSegment[]): StreamRecord[] {
    const records = [...this.#opening, ...segments, ...this.#notes];
    this.#opening = [];
    this.#notes = [];
    return records;
  }

  flush(): void {
    this.#append(this.takeUnflushed());
  }

  /** Nothing is stored any more on its own account. */
  stop(): void {
    this.#isOver = true;
  }

  /** The answer as it will be stored; undefined when there is nothing a person could see. */
  finish(): UIMessage | undefined {
    this.stop();
    return storableAnswer(this.message);
  }

  /** The answer as its chunks left it: inputs that are being written have no value yet. */
  get unfinished(): UIMessage {
    return this.#fold.message;
  }

  /** The same with a change from outside, to one of its calls. */
  replace(message: UIMessage): void {
    this.#fold = { ...this.#fold, message };
  }

  /**
   * The stored answer that it extends was changed. The end of the turn writes the whole answer: without the change it would
   * be undone. Returns the answer so far; undefined when the message is another one.
   */
  rebase(stored: UIMessage): UIMessage | undefined {
    const { extends: base } = this.#init;
    if (base?.id !== stored.id || base.parts.length !== stored.parts.length) return undefined;
    const { unfinished } = this;
    this.replace({ ...unfinished, parts: [...stored.parts, ...unfinished.parts.slice(base.parts.length)] });
    return this.message;
  }

  /** What is noted goes with it: a model that thinks for minutes must not keep what the step before it cost in memory. */
  #appendDue(segments: readonly ContentSegment[]): void {
    if (segments.length > 0) this.#append(this.#withNotes(segments));
  }

  #append(records: readonly StreamRecord[]): void {
    if (records.length > 0) this.#init.append(records);
  }

  /** A stream that pauses must not keep its last words in memory. */
  async #flushLater(): Promise<void> {
    if (this.#flushing) return;
    this.#flushing = true;
    try {
      for (let due = this.#packer.dueAt; due !== null && !this.#isOver; due = this.#packer.dueAt) {
        const { clock } = this.#init;
        await clock.sleep(Math.max(0, due - clock.now()));
        if (!this.#isOver) this.#appendDue(this.#packer.flushDue(clock.now()));
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
    if (!isOutcome(chunk)) return false;
    const { toolCallId } = chunk;
    return this.#init.extends?.parts.some((part) => isToolPart(part) && part.toolCallId === toolCallId) ?? false;
  }

  /** Clients have no such call in the message that they are being streamed: nothing about it may reach them this way. */
  #isOfEarlierCall(chunk: UIMessageChunk): boolean {
    const { resolves } = this.#init;
    if (!resolves || !chunk.type.startsWith("tool-")) return false;
    const callId = "toolCallId" in chunk ? chunk.toolCallId : undefined;
    const approvalId = "approvalId" in chunk ? chunk.approvalId : undefined;
    return resolves.parts.some(
      (part) =>
        isToolPart(part) &&
        (part.toolCallId === callId || (approvalId !== undefined && part.approval?.id === approvalId))
    );
  }
}

function isOutcome(chunk: UIMessageChunk): chunk is Extract<UIMessageChunk, { type: `tool-output-${string}` }> {
  return chunk.type.startsWith("tool-output-");
}

/** A tool that renders its own results may return any object; what is stored and read after a restart is its JSON. */
function asStored(chunk: UIMessageChunk, body: string): UIMessageChunk {
  if (chunk.type !== "tool-output-available" || isPlainJson(chunk.output)) return chunk;
  // It was made of this chunk.
  return JSON.parse(body) as UIMessageChunk;
}

/** The answer as the store would keep it, so that listeners receive exactly that; nothing if it shows nothing. */
export function storableAnswer(message: UIMessage): UIMessage | undefined {
  const answer = sanitizeMessage(closeOpenParts(message));
  return answer.parts.some((part) => part.type !== "step-start") ? answer : undefined;
}

/**
 * Joins the stream of an attempt that goes on to what earlier attempts streamed, so that listeners see one stream of one
 * message: chunks in, the chunks to stream out. Text that was cut off goes on in the same part, if the model goes on with
 * text; otherwise it is closed first.
 */
export type Join = (chunk: UIMessageChunk) => readonly UIMessageChunk[];

/** The stream of an attempt with nothing before it. */
export const noJoin: Join = (chunk) => [chunk];

/** The first stream of a turn that extends a stored answer: clients would take an id for a new message. */
export const extendingJoin: Join = (chunk) => {
  if (chunk.type !== "start" || chunk.messageId === undefined) return [chunk];
  const { messageId: _dropped, ...rest } = chunk;
  return [rest];
};

/** `openTextId`: the text block that was cut off, by the id its chunks carry. */
export function joinAfter(openTextId: string | undefined): Join {
  let isUndecided = openTextId !== undefined;
  let held: UIMessageChunk[] = [];
  /** The id under which the model continues the block. */
  let continuedAs: string | undefined;
  return (chunk) => {
    // The message has begun long ago.
    if (chunk.type === "start") return metadataOf(chunk);
    if (isUndecided && openTextId !== undefined) {
      if (chunk.type === "start-step") {
        held.push(chunk);
        return [];
      }
      isUndecided = false;
      if (chunk.type === "text-start") {
        continuedAs = chunk.id;
        return [];
      }
      const before = held;
      held = [];
      return [{ type: "text-end", id: openTextId }, ...before, chunk];
    }
    return [openTextId === undefined || continuedAs === undefined ? chunk : renamed(chunk, openTextId, continuedAs)];
  };
}

/** The two ids change places, so that a block of the model's own under the first cannot be taken for the continued one. */
function renamed(chunk: UIMessageChunk, first: string, second: string): UIMessageChunk {
  if (chunk.type !== "text-start" && chunk.type !== "text-delta" && chunk.type !== "text-end") return chunk;
  if (chunk.id !== first && chunk.id !== second) return chunk;
  return { ...chunk, id: chunk.id === first ? second : first };
}

function metadataOf(chunk: Extract<UIMessageChunk, { type: "start" }>): UIMessageChunk[] {
  if (chunk.messageMetadata === undefined) return [];
  return [{ type: "message-metadata", messageMetadata: chunk.messageMetadata }];
}

/** What a class that does not say allows. */
export const DEFAULT_MAX_ANSWER_BYTES = 4_000_000;

/**
 * How large an answer may become: the text, the reasoning and the tool inputs that a model writes, over all steps and
 * attempts of its turn. Results of tools and files are not counted: they have limits of their own. A delta that crosses
 * the limit is cut there, so that an answer in one piece is not lost; an input that crosses it is useless and left out.
 */
export class AnswerSize {
  readonly limitBytes: number;
  #bytes: number;
  #isExceeded = false;
  /** Calls whose input came in pieces: the whole of it, which follows, is the same text once more. */
  readonly #counted = new Set<string>();

  /** A limit that is no positive number is none. */
  constructor(limitBytes: number, usedBytes = 0) {
    this.limitBytes = limitBytes > 0 ? limitBytes : Infinity;
    this.#bytes = usedBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Something did not fit: the answer ends here. */
  get isExceeded(): boolean {
    return this.#isExceeded;
  }

  /** The chunk as far as it fits; undefined when nothing of it does, and for every chunk after that. */
  take(chunk: UIMessageChunk): UIMessageChunk | undefined {
    if (this.#isExceeded) return undefined;
    switch (chunk.type) {
      case "text-delta":
      case "reasoning-delta": {
        const delta = this.#fitting(chunk.delta);
        return delta === chunk.delta ? chunk : delta === "" ? undefined : { ...chunk, delta };
      }
      case "tool-input-delta":
        this.#counted.add(chunk.toolCallId);
        return this.#fits(chunk.inputTextDelta) ? chunk : undefined;
      case "tool-input-available":
      case "tool-input-error":
        if (this.#counted.has(chunk.toolCallId)) return chunk;
        return this.#fits(JSON.stringify(chunk.input) ?? "") ? chunk : undefined;
      default:
        return chunk;
    }
  }

  #fits(text: string): boolean {
    const sizeBytes = byteLength(text);
    this.#isExceeded = this.#bytes + sizeBytes > this.limitBytes;
    if (!this.#isExceeded) this.#bytes += sizeBytes;
    return !this.#isExceeded;
  }

  #fitting(text: string): string {
    if (this.#fits(text)) return text;
    const cut = cutToBytes(text, this.limitBytes - this.#bytes);
    this.#bytes += byteLength(cut);
    return cut;
  }
}
