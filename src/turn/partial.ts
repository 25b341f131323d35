// What interrupted attempts left of an answer, and what it takes to go on from there. Pure, and total: damaged chunks are
// skipped, never thrown over. Kept are text that was shown, and calls that ran or wait for an answer; reasoning and
// half-written calls at the end led nowhere and are written anew. A recorded outcome always reaches its call, and a call
// whose outcome is unknown is settled as exactly that: it is never run again by itself.
import type { UIMessage, UIMessageChunk } from "ai";
import { isAwaited, openCall, type CallsFold, type CallView } from "../journal/folds/calls-fold.ts";
import {
  asMessagePart,
  closeOpenParts,
  foldChunk,
  isSettledToolPart,
  isToolPart,
  resumeFold,
  startFold,
  toolInputObject,
  type MessageFold,
  type ToolPart
} from "../model/index.ts";
import { cutOffPart, openCallOf } from "../session/open-calls.ts";
import type { CallId } from "../util/ids.ts";
import { isObject, parseJson } from "../util/json.ts";
import { withChangedInput } from "./tool-answer.ts";
import { toolPartOf } from "./tool-calls.ts";
import type { Progress } from "./decide.ts";
import { AnswerSize } from "./stream.ts";

type MessagePart = UIMessage["parts"][number];

export interface PartialInit extends StoredAnswer {
  /** What stands for a call that was cut off. */
  readonly repairPart: (part: MessagePart) => MessagePart;
  /** A last look at recorded outcomes that were not streamed yet. */
  readonly annotate?: (chunk: UIMessageChunk) => UIMessageChunk;
}

export interface RecoveredPartial {
  /** Chunks below this number stay. */
  readonly keeps: number;
  /** The answer of the kept chunks and the repairs. Text that was cut off is still open. */
  readonly fold: MessageFold;
  /** What the next attempt streams before anything else. */
  readonly repairs: readonly UIMessageChunk[];
  /** Calls that may have run and whose outcome is now recorded as unknown. */
  readonly unknownCalls: readonly CallId[];
  /** The text block that was cut off. */
  readonly openTextId: string | undefined;
  readonly progress: Progress;
  /** The stored answer, where outcomes of its own calls are new. */
  readonly changedBase: UIMessage | undefined;
  /** The earlier answer, likewise. */
  readonly changedEarlier: UIMessage | undefined;
  /** It holds the result of a call: that is never dropped. */
  readonly hasResults: boolean;
  /** Of text and tool inputs, in what stays. */
  readonly answerBytes: number;
  /** There is more than the limits allow: it is not read, and the answer cannot be continued. */
  readonly isTooLarge: boolean;
}

export function recoverPartial(init: PartialInit): RecoveredPartial {
  const kept = keepChunks(init);
  const repair = new Repair(init, kept);
  repair.run();
  const baseCount = init.base?.parts.length ?? 0;
  const added = repair.fold.message.parts.slice(baseCount);
  return {
    keeps: kept.keeps,
    fold: repair.fold,
    repairs: repair.chunks,
    unknownCalls: repair.unknownCalls,
    openTextId: repair.chunks.length > 0 ? undefined : openTextId(repair.fold),
    progress: progressOf({ added, isFinished: kept.isFinished, isAwaiting: repair.isAwaiting }),
    changedBase: repair.changesBase ? { ...repair.fold.message, parts: baseParts(repair.fold, baseCount) } : undefined,
    changedEarlier: repair.earlier === init.earlier ? undefined : repair.earlier,
    hasResults: added.some((part) => isToolPart(part) && isSettledToolPart(part)),
    answerBytes: kept.answerBytes,
    isTooLarge: kept.isTooLarge
  };
}

function baseParts(fold: MessageFold, count: number): MessagePart[] {
  return fold.message.parts.slice(0, count);
}

/** Brings the recorded outcomes to the calls, and settles the calls that will get none. */
class Repair {
  fold: MessageFold;
  readonly chunks: UIMessageChunk[] = [];
  readonly unknownCalls: CallId[] = [];
  changesBase = false;
  isAwaiting = false;
  earlier: UIMessage | undefined;
  readonly #init: PartialInit;
  readonly #hasStart: boolean;
  #isInStep: boolean;

  constructor(init: PartialInit, { fold, keeps, isInStep }: Kept) {
    this.#init = init;
    this.fold = fold;
    this.earlier = init.earlier;
    this.#hasStart = keeps > 0;
    this.#isInStep = isInStep;
  }

  run(): void {
    for (const call of this.#init.calls.values()) {
      if (!this.#settleEarlier(call)) this.#settle(call);
    }
    for (const part of this.fold.message.parts.slice(this.#baseCount)) this.#settleOrphan(part);
  }

  get #baseCount(): number {
    return this.#init.base?.parts.length ?? 0;
  }

  #settle(call: CallView): void {
    const { outcome } = call;
    if (outcome?.kind === "unknown" && this.#isReplacedInBase(call)) return;
    this.#introduce(call);
    if (outcome?.kind === "unknown") return this.#replace(call.callId, call);
    if (outcome) return this.#apply(call, this.#annotated(outcomeChunk(call.callId, outcome)));
    if (call.state === "approval-responded") return this.#approve(call);
    if (openCall(call) === "cut-off" && !this.#isSettled(call)) {
      this.unknownCalls.push(call.callId);
      this.#replace(call.callId, call);
    }
  }

  /** A call of the earlier answer is settled there, and is no part of this one. False: it is not one of those. */
  #settleEarlier(call: CallView): boolean {
    const part = this.earlier && toolPartOf(this.earlier, call.callId);
    if (!this.earlier || !part) return false;
    if (isSettledToolPart(part)) return true;
    const { outcome } = call;
    const isUnknown = outcome?.kind === "unknown" || openCall(call) === "cut-off";
    if (!outcome && isUnknown) this.unknownCalls.push(call.callId);
    if (isUnknown) {
      const index = this.earlier.parts.findIndex((one) => isToolPart(one) && one.toolCallId === call.callId);
      const repaired = this.#init.repairPart(asMessagePart(openedAgain(part, call)));
      this.earlier = { ...this.earlier, parts: this.earlier.parts.with(index, repaired) };
    } else if (outcome) {
      const chunk = this.#annotated(outcomeChunk(call.callId, outcome));
      this.earlier = safely(resumeFold(this.earlier), chunk).message;
    }
    return true;
  }

  /** What stood for it in the stored answer is no call: there is nothing more to say about it. */
  #isReplacedInBase({ callId }: CallView): boolean {
    return this.#init.base !== undefined && !this.#init.wholeSteps && !this.#find(callId);
  }

  #isSettled({ callId }: CallView): boolean {
    const found = this.#find(callId);
    return found !== undefined && isSettledToolPart(found.part);
  }

  /** Its record came before its chunks did, or its chunks are lost. */
  #introduce(call: CallView): void {
    const { callId, approval } = call;
    const found = this.#find(callId);
    if (found && found.index < this.#baseCount) return;
    if (!found) this.#openStep();
    if (!found || found.part.state === "input-streaming") this.#push(inputChunk(call));
    if (!approval || this.#find(callId)?.part.state !== "input-available") return;
    const descriptor = approval.descriptor !== null && { approvalDescriptor: approval.descriptor };
    this.#push({ type: "tool-approval-request", approvalId: approval.approvalId, toolCallId: callId, ...descriptor });
  }

  /** A call of the next step must not look like one of the last: the model made it after it had seen results. */
  #openStep(): void {
    if (this.#isInStep) return;
    const { base, messageId } = this.#init;
    if (!this.#hasStart) this.#push(base ? { type: "start" } : { type: "start", messageId });
    this.#push({ type: "start-step" });
    this.#isInStep = true;
  }

  #annotated(chunk: UIMessageChunk): UIMessageChunk {
    return this.#init.annotate?.(chunk) ?? chunk;
  }

  #apply(call: CallView, chunk: UIMessageChunk): void {
    const before = this.#find(call.callId);
    if (!before || isSettledToolPart(before.part)) return;
    if (before.index < this.#baseCount) {
      this.fold = safely(this.fold, chunk);
      this.changesBase = true;
    } else this.#push(chunk);
  }

  #approve({ callId, input, approval: decided }: CallView): void {
    const found = this.#find(callId);
    if (found?.part.state !== "approval-requested") return;
    const { askedInput, givenInput } = decided ?? {};
    const approval = { id: callId, ...found.part.approval, approved: true };
    const part: ToolPart = { ...found.part, state: "approval-responded", approval };
    const isChanged = askedInput !== undefined;
    const answered = isChanged ? withChangedInput({ ...part, askedInput }, { input, givenInput }) : part;
    this.#put(found.index, asMessagePart(answered));
  }

  #settleOrphan(part: MessagePart): void {
    if (!isToolPart(part)) return;
    const open = openCallOf(part);
    const isClients = part.state === "input-available" && this.#isAwaitedCall(part.toolCallId);
    if (isClients || open === "awaited") this.isAwaiting = true;
    else if (open === "cut-off" || open === "provided") this.#replace(part.toolCallId);
  }

  #isAwaitedCall(toolCallId: string): boolean {
    return [...this.#init.calls.values()].some((call) => call.callId === toolCallId && isAwaited(call));
  }

  /** A call that was cut off gets what stands for it, in the stream as far as chunks can say it, and in the message. */
  #replace(toolCallId: string, call?: CallView): void {
    const found = this.#find(toolCallId);
    if (!found) return;
    const { part, index } = found;
    const { repairPart } = this.#init;
    // Without a record it has not started.
    const hasStarted = call !== undefined;
    const repaired = cutOffPart(asMessagePart(openedAgain(part, call)), { hasStarted, repairPart });
    if (index < this.#baseCount) this.changesBase = true;
    else if (!isSettledToolPart(part)) this.#push(chunkOf(toolCallId, repaired));
    this.#put(index, repaired);
  }

  #find(toolCallId: string): { readonly part: ToolPart; readonly index: number } | undefined {
    const { parts } = this.fold.message;
    const index = parts.findLastIndex((part) => isToolPart(part) && part.toolCallId === toolCallId);
    const part = parts[index];
    return part && isToolPart(part) ? { part, index } : undefined;
  }

  #put(index: number, part: MessagePart): void {
    const { message } = this.fold;
    this.fold = { ...this.fold, message: { ...message, parts: message.parts.with(index, part) } };
  }

  #push(...chunks: UIMessageChunk[]): void {
    if (this.chunks.length === 0) this.#closeText();
    for (const chunk of chunks) this.#stream(chunk);
  }

  /** Nothing may come between a text and its end. */
  #closeText(): void {
    const id = openTextId(this.fold);
    if (id !== undefined) this.#stream({ type: "text-end", id });
  }

  #stream(chunk: UIMessageChunk): void {
    this.chunks.push(chunk);
    this.fold = safely(this.fold, chunk);
  }
}

/** As the call was before it was cut off: what repairs it may look at its state. */
function openedAgain(part: ToolPart, call: CallView | undefined): ToolPart {
  const {
    errorText: _text,
    output: _output,
    preliminary: _preliminary,
    rawInput,
    inputEncoding: _code,
    ...rest
  } = part;
  const input = toolInputObject(part.input ?? call?.input ?? rawInput);
  return { ...rest, state: part.state === "input-streaming" ? part.state : "input-available", input };
}

function outcomeChunk(toolCallId: string, outcome: NonNullable<CallView["outcome"]>): UIMessageChunk {
  switch (outcome.kind) {
    case "output":
      return { type: "tool-output-available", toolCallId, output: outcome.output };
    case "error":
      return { type: "tool-output-error", toolCallId, errorText: outcome.errorText };
    case "denied":
      return { type: "tool-output-denied", toolCallId };
    case "unknown":
      return { type: "tool-output-error", toolCallId, errorText: outcome.reason };
  }
}

const CUT_OFF = "The call was interrupted.";

function chunkOf(toolCallId: string, repaired: MessagePart): UIMessageChunk {
  if (!isToolPart(repaired)) return { type: "tool-output-error", toolCallId, errorText: CUT_OFF };
  switch (repaired.state) {
    case "output-available":
      return { type: "tool-output-available", toolCallId, output: repaired.output };
    case "output-denied":
      return { type: "tool-output-denied", toolCallId };
    default:
      return { type: "tool-output-error", toolCallId, errorText: repaired.errorText ?? CUT_OFF };
  }
}

/** The newest text block that has no end, if it is the last thing in the message. */
function openTextId({ message, openText }: MessageFold): string | undefined {
  const last = message.parts.length - 1;
  return Object.entries(openText).find(([, index]) => index === last)?.[0];
}

function progressOf(seen: { added: readonly MessagePart[]; isFinished: boolean; isAwaiting: boolean }): Progress {
  if (seen.isAwaiting) return "awaiting";
  if (seen.isFinished) return "finished";
  return seen.added.some((part) => part.type !== "step-start") ? "partial" : "nothing";
}

interface StoredAnswer {
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
interface Kept {
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
function keepChunks(init: StoredAnswer): Kept {
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

function safely(fold: MessageFold, chunk: UIMessageChunk): MessageFold {
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

function inputChunk({ callId, toolName, input, dynamic, executor }: CallView): UIMessageChunk {
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
