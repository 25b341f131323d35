// The beginning of an interrupted answer that is worth keeping, from its stored chunks. Pure, and total: damaged chunks are
// skipped, never thrown over. Memory is bounded by the answer and not by its stream: chunks are folded as they are read,
// and reading stops at the limits.
import type { UIMessage, UIMessageChunk } from "ai";
import type { CallsFold, CallView } from "../journal/folds/calls-fold.ts";
import { closeOpenParts, foldChunk, isToolPart, resumeFold, startFold, type MessageFold } from "../model/index.ts";
import { isObject, parseJson } from "../util/json.ts";
import { AnswerSize } from "./answer-size.ts";
import { toolPartOf } from "./tool-calls.ts";

export interface StoredAnswer {
  /** The calls of the turn, with their inputs and outcomes. */
  readonly calls: CallsFold;
  readonly messageId: string;
  /** The stored answer this turn extends. */
  readonly base: UIMessage | undefined;
  /** The stored answer whose decided calls this turn runs without extending it. */
  readonly earlier?: UIMessage | undefined;
  /** The chunks of the answer, as they are stored, with their numbers. Read once. */
  readonly chunks: Iterable<{ readonly seq: number; readonly body: string }>;
  /** Keep finished steps only: text of the last one must not be continued. */
  readonly wholeSteps?: boolean;
  /** What is read of an answer: bytes of text and tool inputs, and characters in all. Absent: all of it. */
  readonly limits?: { readonly answerBytes: number; readonly heldChars: number };
}

/** The beginning of the answer that stays. */
export interface Kept {
  readonly fold: MessageFold;
  /** Chunks below this number. */
  readonly keeps: number;
  readonly isFinished: boolean;
  /** The last step that began has not ended. */
  readonly isInStep: boolean;
  readonly answerBytes: number;
  readonly isTooLarge: boolean;
}

/**
 * Reads the chunks once. Held are the message they make up to the last chunk that is worth keeping, and the chunks
 * behind that: an answer is never in memory a second time as its chunks.
 */
export function keepChunks(init: StoredAnswer): Kept {
  const keeper = new Keeper(init);
  const { heldChars = Infinity } = init.limits ?? {};
  let chars = 0;
  for (const { seq, body } of init.chunks) {
    const chunk = parsed(body);
    // Of a delta only its text is held, which the size of the answer counts.
    chars += chunk && isDelta(chunk) ? 0 : body.length;
    if (chars > heldChars) keeper.isTooLarge = true;
    else if (chunk) keeper.add(seq, chunk);
    if (keeper.isTooLarge) break;
  }
  return keeper.end();
}

class Keeper {
  isTooLarge = false;
  readonly #init: StoredAnswer;
  readonly #size: AnswerSize;
  readonly #seenCalls: Set<string>;
  #kept: Omit<Kept, "isTooLarge">;
  /** Behind the last chunk that is worth keeping, with the size of the answer after each. */
  #behind: { readonly seq: number; readonly chunk: UIMessageChunk; readonly answerBytes: number }[] = [];

  constructor(init: StoredAnswer) {
    this.#init = init;
    this.#size = new AnswerSize(init.limits?.answerBytes ?? Infinity);
    const { base, earlier, messageId } = init;
    const known = [...(base?.parts ?? []), ...(earlier?.parts ?? [])];
    this.#seenCalls = new Set(known.map((part) => (isToolPart(part) ? part.toolCallId : "")));
    const fold = base ? resumeFold(closeOpenParts(base)) : startFold(messageId);
    this.#kept = { fold, keeps: 0, isFinished: false, isInStep: false, answerBytes: 0 };
  }

  add(seq: number, chunk: UIMessageChunk): void {
    const fitting = this.#size.take(chunk);
    this.isTooLarge = this.#size.isExceeded;
    if (!fitting) return;
    if (fitting.type === "tool-input-available") this.#seenCalls.add(fitting.toolCallId);
    const before = this.#behind.at(-1);
    const merged = before && mergedDeltas(before.chunk, fitting);
    if (merged) this.#behind.pop();
    this.#behind.push({ seq, chunk: merged ?? fitting, answerBytes: this.#size.bytes });
    const { calls, wholeSteps } = this.#init;
    const isKept = wholeSteps ? fitting.type === "finish-step" : isWorthKeeping(fitting, calls);
    if (isKept) this.#keep(this.#behind.length);
  }

  end(): Kept {
    // What a call follows from stays with it: providers refuse a call without the reasoning that led to it.
    if (!this.#init.wholeSteps && this.#hasUnseenCalls) {
      this.#keep(this.#behind.findLastIndex(({ chunk }) => chunk.type === "reasoning-end") + 1);
    }
    if (!this.#init.wholeSteps && this.#kept.keeps > 0) {
      const closing = this.#behind.findIndex(({ chunk }) => !CLOSING.has(chunk.type));
      this.#keep(closing < 0 ? this.#behind.length : closing);
    }
    return { ...this.#kept, isTooLarge: this.isTooLarge };
  }

  /** Whether a call was recorded before its chunk was. */
  get #hasUnseenCalls(): boolean {
    return [...this.#init.calls.keys()].some((id) => !this.#seenCalls.has(id));
  }

  #keep(count: number): void {
    for (const { seq, chunk, answerBytes } of this.#behind.splice(0, count)) {
      const { fold, isFinished, isInStep } = this.#kept;
      this.#kept = {
        fold: safely(withLostInput(fold, chunk, this.#init.calls), chunk),
        keeps: seq + 1,
        isFinished: isFinished || chunk.type === "finish",
        isInStep: STEP.has(chunk.type) ? chunk.type === "start-step" : isInStep,
        answerBytes
      };
    }
  }
}

function parsed(body: string): UIMessageChunk | undefined {
  const value = parseJson(body);
  if (!value.ok || !isObject(value.value) || typeof value.value["type"] !== "string") return undefined;
  // The engine stores chunks of the SDK as JSON and nothing else.
  return value.value as UIMessageChunk;
}

const DELTAS: ReadonlySet<string> = new Set(["text-delta", "reasoning-delta", "tool-input-delta"]);

function isDelta({ type }: UIMessageChunk): boolean {
  return DELTAS.has(type);
}

/** Two deltas of one block as one, so that what led nowhere is not held as a chunk per word. Undefined: they are not. */
function mergedDeltas(first: UIMessageChunk, second: UIMessageChunk): UIMessageChunk | undefined {
  // Fields beyond these three might not survive being merged.
  if (Object.keys(first).length !== 3 || Object.keys(second).length !== 3) return undefined;
  if (first.type === "reasoning-delta" && second.type === "reasoning-delta" && first.id === second.id) {
    return { ...first, delta: first.delta + second.delta };
  }
  if (first.type !== "tool-input-delta" || second.type !== "tool-input-delta") return undefined;
  if (first.toolCallId !== second.toolCallId) return undefined;
  return { ...first, inputTextDelta: first.inputTextDelta + second.inputTextDelta };
}

export function safely(fold: MessageFold, chunk: UIMessageChunk): MessageFold {
  try {
    return foldChunk(fold, chunk);
  } catch {
    // A damaged chunk costs itself, not the answer.
    return fold;
  }
}

const AFTER_INPUT: ReadonlySet<string> = new Set([
  "tool-approval-request",
  "tool-output-available",
  "tool-output-error",
  "tool-output-denied"
]);

/** A chunk that follows an input shows that the input was complete. If it is lost, the record of the call has it. */
function withLostInput(fold: MessageFold, chunk: UIMessageChunk, calls: CallsFold): MessageFold {
  if (!AFTER_INPUT.has(chunk.type) || !("toolCallId" in chunk)) return fold;
  const { toolCallId } = chunk;
  if (toolPartOf(fold.message, toolCallId)?.state !== "input-streaming") return fold;
  const call = [...calls.values()].find(({ callId }) => callId === toolCallId);
  return call ? safely(fold, inputChunk(call)) : fold;
}

export function inputChunk({ callId, toolName, input, dynamic, executor }: CallView): UIMessageChunk {
  const added = { ...(dynamic && { dynamic }), ...(executor === "client" && { clientExecuted: true }) };
  return { type: "tool-input-available", toolCallId: callId, toolName, input, ...added };
}

const CLOSING: ReadonlySet<string> = new Set(["text-end", "finish-step", "message-metadata"]);
const STEP: ReadonlySet<string> = new Set(["start-step", "finish-step"]);
const CONTENT: ReadonlySet<string> = new Set([
  "file",
  "source-url",
  "source-document",
  "tool-input-error",
  "tool-output-available",
  "tool-output-error",
  "tool-output-denied",
  "tool-approval-request",
  "finish"
]);

function isWorthKeeping(chunk: UIMessageChunk, calls: CallsFold): boolean {
  if (chunk.type === "text-delta") return chunk.delta !== "";
  // One that has not started can be asked for again.
  if (chunk.type === "tool-input-available") return [...calls.keys()].some((id) => id === chunk.toolCallId);
  if (chunk.type.startsWith("data-")) return !("transient" in chunk && chunk.transient === true);
  return CONTENT.has(chunk.type);
}
