// The shell around recovery: reads what an interrupted turn left, records interruptions, asks the user's hooks, and gives
// up in one way whatever the cause. What to do is decided by decide.ts, how far and when by retry-policy.ts, from where by
// partial.ts.
import type { UIMessage } from "ai";
import { beforeDeadline } from "../host/deadline.ts";
import { isOutOfMemory, isPlatformTransient } from "../host/platform-errors.ts";
import { NO_CALLS, openCall, type CallsFold, type CallView } from "../journal/folds/calls-fold.ts";
import type { KeptRange, TurnFold } from "../journal/folds/turn-fold.ts";
import type { AttemptEnded, JournalRecord } from "../journal/records.ts";
import { isToolPart, SHRINKS_ABOVE_CHARS } from "../model/index.ts";
import type { EventPayloads } from "../observe/events.ts";
import { epochId } from "../util/ids.ts";
import type { Json } from "../util/json.ts";
import { turnErrors, type StreamStalledError } from "./errors.ts";
import type { FailureClass } from "../model/failure-classifier.ts";
import { nextOf, type NextDecision } from "./next-model.ts";
import type { TurnHooks } from "./hooks.ts";
import { recoverPartial, type RecoveredPartial } from "./partial.ts";
import {
  budgetOf,
  exhaustionOf,
  failurePauseMs,
  type NewFailure,
  isHandover,
  keepsWholeSteps,
  LONG_SILENCE,
  LONG_SILENCE_MS,
  OUT_OF_MEMORY,
  pauseAfterDeath,
  awaitedRetry,
  recoveringSince,
  type Budget,
  type ExhaustionReason,
  type RecoveryLimits
} from "./retry-policy.ts";
import { announceEnding, continuedMessages, settleTurn, type Ending } from "./settle.ts";
import type { TurnStore } from "./store.ts";
import { storableAnswer, type TurnStream } from "./stream.ts";
import type { Turn, TurnOutcome } from "./turn.ts";

/** How long `onChatRecovery` may think. A later answer is ignored. */
export const RECOVERY_HOOK_MS = 10_000;

/** What an attempt that was asked to begin anew leaves behind; the code of its end. */
export const DROPS_PARTIAL = "partial-dropped";

/** Above this, a partial answer is read only after that was recorded: a process that dies of it is counted. */
const LARGE_BYTES = 1024 * 1024;

/** What is read of a partial answer, whatever the class allows: it has to fit into memory several times over. */
const MAX_READ_BYTES = 16 * 1024 * 1024;

/** How an interrupted turn was found, before its next attempt. */
export interface Interrupted {
  readonly partial: RecoveredPartial;
  /** Undefined: it was never interrupted. */
  readonly budget: Budget | undefined;
  readonly isHandover: boolean;
  /** What was written could not be read, and the store has an answer from earlier, which stays as it is. */
  readonly isStored?: boolean;
}

/**
 * Reads what was written, up to a limit. Before much is read, that is on disk, and so is the death that came before: a
 * process that runs out of memory here loses what the platform has not yet stored.
 */
export async function readInterrupted(store: TurnStore, turn: Turn): Promise<Interrupted> {
  if (isLarge(store, turn)) {
    const { turnId } = turn.admitted;
    const epoch = epochId(store.epoch);
    store.init.journal.writer.append([{ type: "recovery-started", turnId, at: store.now(), epoch }]);
    await store.init.durable();
  }
  return { ...spentBy(store, turn), partial: partialOf(store, turn) };
}

/** The same of a turn whose content cannot be read. */
export function unreadInterrupted(store: TurnStore, turn: Turn): Interrupted {
  const { messageId } = turn.admitted;
  const nothing = { calls: NO_CALLS, messageId, base: undefined, chunks: [] };
  const partial = recoverPartial({ ...nothing, repairPart: (part) => part });
  return { ...spentBy(store, turn), partial, isStored: store.init.transcript.has(messageId) };
}

function spentBy(store: TurnStore, { fold }: Turn): Pick<Interrupted, "budget" | "isHandover"> {
  const budget = budgetOf(fold, { limits: store.init.hooks.recovery, nowMs: store.now() });
  return { budget, isHandover: isHandover(fold) };
}

function isLarge(store: TurnStore, turn: Turn): boolean {
  return store.init.journal.reader.bytesSince(turn.fold) > LARGE_BYTES;
}

/** Read once, as long as nothing that it is made of has changed. */
function partialOf(store: TurnStore, turn: Turn): RecoveredPartial {
  const { hooks } = store.init;
  const { fold } = turn;
  const { calls, kept, nextChunk } = fold;
  const last = fold.attempts.at(-1);
  const dropsPartial = last?.end === "restarted" && last.errorCode === DROPS_PARTIAL;
  const wholeSteps = keepsWholeSteps(fold);
  const source = { calls, kept, nextChunk, dropsPartial, wholeSteps };
  const { base, earlier } = continuedMessages(store, turn);
  // Stored messages may have changed.
  const known = base || earlier ? undefined : turn.partial;
  if (known && isSame(known.source, source)) return known.value;
  const value = recoverPartial({
    calls: callsOf(store, fold),
    messageId: turn.admitted.messageId,
    base,
    earlier,
    chunks: dropsPartial ? [] : store.chunksOf(fold),
    repairPart: (part) => hooks.repairPart(part, turn.requestId),
    annotate: (chunk) => hooks.annotateRepair?.(chunk) ?? chunk,
    wholeSteps,
    limits: { answerBytes: Math.min(answerLimit(hooks), MAX_READ_BYTES), heldChars: MAX_READ_BYTES }
  });
  turn.partial = { source, value };
  return value;
}

/** What a partial answer was made of. */
export interface PartialSource {
  readonly calls: CallsFold;
  readonly kept: readonly KeptRange[];
  readonly nextChunk: number;
  readonly dropsPartial: boolean;
  readonly wholeSteps: boolean;
}

/** Folds are replaced, never changed in place, so identity is equality. */
function isSame(a: PartialSource, b: PartialSource): boolean {
  return (Object.keys(a) as (keyof PartialSource)[]).every((key) => a[key] === b[key]);
}

/** The calls with their inputs and outcomes, which the fold of an open turn leaves out. */
function callsOf(store: TurnStore, { turnId, firstSequence, calls }: TurnFold): CallsFold {
  return calls.size === 0 ? calls : store.readTurn(turnId, firstSequence).calls;
}

/** The process that ran the newest attempt is gone. */
export function noteDeath(store: TurnStore, turn: Turn): void {
  const { maxInterruptedAttempts } = store.init.hooks.recovery;
  const { attempts } = turn.fold;
  const retryAt = pauseAfterDeath({ attempts, nowMs: store.now(), maxInterruptedAttempts });
  endAttempt(store, turn, { reason: "interrupted", error: null, retryAt });
}

/** The attempt is over and the turn goes on. `records` are what it had not written yet. */
export function endAttempt(
  store: TurnStore,
  turn: Turn,
  {
    records = [],
    ...end
  }: Pick<AttemptEnded, "reason" | "error" | "retryAt" | "next"> & { records?: readonly JournalRecord[] }
): void {
  const { turnId } = turn.admitted;
  const ended = { type: "attempt-ended", turnId, attempt: turn.fold.attempt, at: store.now(), ...end } as const;
  store.init.journal.writer.append([...records, ended]);
  if (isHandover(turn.fold)) return;
  announceInterruption(store, turn);
}

function announceInterruption(store: TurnStore, turn: Turn): void {
  const { emit, hooks } = store.init;
  // A turn that is not recovered ends at once: there is nothing to wait for.
  if (!turn.isOpen || !hooks.recovery.enabled) return;
  const { budget } = spentBy(store, turn);
  // Whether there is something to continue is read, unless that is large: then there is.
  const incident = isLarge(store, turn)
    ? undefined
    : incidentFor(store, turn, { budget, partial: partialOf(store, turn) });
  const event = incident ? eventOfIncident(incident) : eventOf(store, turn);
  if (budget && event) {
    if (budget.detections === 1) emit("chat:recovery:detected", event);
    emit("chat:recovery:attempt", event);
    if (!isExhausted(store, turn)) emit("chat:recovery:scheduled", event);
  }
  store.listeners.interrupted(turn.view());
}

function isExhausted(store: TurnStore, { fold }: Turn): boolean {
  const { epoch, init } = store;
  return exhaustionOf(fold, { limits: init.hooks.recovery, epoch, nowMs: store.now() }) !== undefined;
}

export function incidentFor(
  store: TurnStore,
  turn: Turn,
  { partial, budget }: Pick<Interrupted, "partial" | "budget">
): RecoveryIncident | undefined {
  if (!budget) return undefined;
  const { requestId, inputMessageIds, continuation } = turn.view();
  const parts = partial.fold.message.parts;
  return {
    incidentId: incidentId(requestId, inputMessageIds),
    requestId,
    recoveryRootRequestId: requestId,
    attempt: budget.attempt,
    maxAttempts: store.init.hooks.recovery.maxAttempts,
    recoveryKind: continuation || partial.progress !== "nothing" ? "continue" : "retry",
    streamId: turn.fold.contentSequence > 0 ? turn.turnId : "",
    createdAt: turn.admitted.at,
    partialText: parts.map((part) => (part.type === "text" ? part.text : "")).join(""),
    partialParts: parts.filter((part) => part.type !== "step-start"),
    recoveryData: turn.fold.stash,
    work: budget.work,
    ageMs: store.now() - budget.openedAt
  };
}

/** Calls whose attempt is over, without an outcome, and whose work goes on or is kept elsewhere. */
export function keptCalls(store: TurnStore, turn: Turn): readonly CallView[] {
  const { hooks } = store.init;
  const { calls, attempts } = turn.fold;
  if (!hooks.keepsOutcome || calls.size === 0 || attempts.at(-1)?.end === null) return [];
  const view = turn.view();
  return [...calls.values()].filter((call) => {
    const open = openCall(call);
    const isServers = call.executor === "server" && (open === "cut-off" || open === "allowed");
    return isServers && hooks.keepsOutcome?.(view, { toolCallId: call.callId, toolName: call.toolName });
  });
}

/**
 * Waits for what came of such calls, of all at the same time, and records each as soon as it is known. True: the turn is
 * to be looked at again, because there is something new, or because it was stopped meanwhile.
 */
export async function collectOutcomes(store: TurnStore, turn: Turn): Promise<boolean> {
  const kept = keptCalls(store, turn);
  if (kept.length === 0) return false;
  const { hooks } = store.init;
  const view = turn.view();
  const calls = callsOf(store, turn.fold);
  const collected = kept.map(async ({ callId, toolName }) => {
    const call = { toolCallId: callId, toolName, input: calls.get(callId)?.input ?? null };
    const outcome = await hooks.runIn(view, async () => hooks.lateOutcome?.(view, call));
    if (!outcome || turn.signal.aborted || !turn.isOpen) return false;
    const { turnId } = turn.admitted;
    store.init.journal.writer.append([
      { type: "call-settled", turnId, attempt: null, at: store.now(), callId, outcome }
    ]);
    return true;
  });
  const isNew = (await Promise.all(collected)).some(Boolean);
  return isNew || turn.signal.aborted || !turn.isOpen;
}

/** The user's policy, from the second interruption on. */
export async function mayGoOn(store: TurnStore, turn: Turn, found: Interrupted): Promise<boolean> {
  const incident = incidentFor(store, turn, found);
  if (!incident || found.isHandover || (found.budget?.detections ?? 0) < 2) return true;
  return store.init.hooks.keepsRecovering(turn.view(), incident);
}

/** What becomes of the partial answer, and of the turn. Throws what the hook throws. */
export async function askHook(store: TurnStore, turn: Turn, found: Interrupted): Promise<RecoveryChoice> {
  const incident = incidentFor(store, turn, found);
  if (!incident || found.isHandover) return { persist: true, continue: true };
  const { hooks, clock } = store.init;
  const view = turn.view();
  const answer = hooks.runIn(view, () => hooks.recover(view, incident));
  const late = () => turnErrors.RecoveryHookTimeoutError(RECOVERY_HOOK_MS);
  return beforeDeadline(answer, { clock, timeoutMs: RECOVERY_HOOK_MS, late });
}

/** The same for every cause: the event, the user's hook, the outcome with the configured text. */
export async function giveUp(
  store: TurnStore,
  turn: Turn,
  found: Interrupted & { readonly reason: ExhaustionReason }
): Promise<TurnOutcome> {
  const { hooks, emit } = store.init;
  const { reason } = found;
  const incident = incidentFor(store, turn, found);
  if (incident) {
    emit("chat:recovery:exhausted", { ...eventOfIncident(incident), reason });
    await hooks.exhausted(turn.view(), { ...incident, reason });
  }
  const outcome = { status: "error", reason, error: hooks.recovery.terminalMessage, givenUp: true } as const;
  try {
    return settleTurn(store, turn, { ...leftOf(turn, found), ...outcome });
  } catch (error) {
    // The only outcome that is announced before it is durable: a client must not wait for a disk that fails. The turn stays
    // open, and is given up again.
    announceEnding(store, turn, { ...outcome, streamed: true });
    throw error;
  }
}

/** What events tell of the incident of an open turn; undefined when there is none, or nothing is recovered. */
export function eventOf(store: TurnStore, turn: Turn): IncidentEvent | undefined {
  const { recovery } = store.init.hooks;
  const { fold } = turn;
  if (!recovery.enabled || !turn.isOpen || recoveringSince(fold) === undefined) return undefined;
  const { requestId, inputMessageIds, continuation } = turn.view();
  return {
    incidentId: incidentId(requestId, inputMessageIds),
    requestId,
    attempt: spentBy(store, turn).budget?.attempt ?? 1,
    maxAttempts: recovery.maxAttempts,
    recoveryKind: !continuation && isRetry(fold) ? "retry" : "continue"
  };
}

/** What the class allows; a number that is no limit is none. */
function answerLimit({ maxAnswerBytes }: Pick<TurnHooks, "maxAnswerBytes">): number {
  return maxAnswerBytes > 0 ? maxAnswerBytes : Infinity;
}

/** The newest attempt went on from nothing, or the only one left nothing. */
function isRetry({ attempts, contentSequence }: TurnFold): boolean {
  const kind = attempts.at(-1)?.kind;
  return kind === "retry" || (kind === "first" && contentSequence === 0);
}

/** What a turn that ends between attempts leaves in the conversation. */
export function leftOf({ fold }: Turn, { partial, isStored = false }: Interrupted): Pick<Ending, "left" | "streamed"> {
  const answer = storableAnswer(partial.fold.message);
  return { left: { answer, isStored, earlier: partial.changedEarlier }, streamed: fold.contentSequence > 0 };
}

/** What the provider counted for the last call of an answer that was complete when the process died. */
export function countedOf({ fold }: Turn): Pick<Ending, "lastUsage"> {
  const { inputTokens, outputTokens } = fold.steps.lastUsage;
  return { lastUsage: { inputTokens: inputTokens ?? undefined, outputTokens: outputTokens ?? undefined } };
}

export interface FailedAttempt {
  readonly error: unknown;
  readonly classification: FailureClass | undefined;
  readonly stream: Pick<TurnStream, "flush">;
  /** Of several models: one of them may answer in a moment, whatever the last failure was. */
  readonly next?: NextDecision | undefined;
}

/** How an attempt that failed ends when another one is due; undefined when the turn has failed. */
export function retryAfter(
  store: TurnStore,
  turn: Turn,
  { error, classification, stream, next }: FailedAttempt
): Pick<AttemptEnded, "error" | "retryAt" | "next"> | undefined {
  const { hooks } = store.init;
  if (next?.do === "fail") return undefined;
  const code = retryCode(error, classification) ?? (next?.do === "again" ? "transient" : undefined);
  if (!code || !hooks.recovery.enabled || turn.signal.aborted) return undefined;
  const retryAt = retryTime(store, turn, { stream, askedForMs: hooks.retryAfterMs(error) });
  return retryAt === undefined
    ? undefined
    : { error: { code, message: "The model could not answer; it is asked again." }, retryAt, ...nextOf(next) };
}

/** How an attempt ends whose model went silent. */
export function silenceEnd(
  store: TurnStore,
  turn: Turn,
  { error, stream, next }: { readonly error: StreamStalledError } & Pick<FailedAttempt, "stream" | "next">
): Pick<AttemptEnded, "reason" | "error" | "retryAt" | "next"> {
  const isLongSilence = error.timeoutMs >= LONG_SILENCE_MS;
  return {
    reason: "stalled",
    error: { code: isLongSilence ? LONG_SILENCE : error.code, message: error.message },
    // After one silence too many the turn is given up at once.
    retryAt: retryTime(store, turn, { stream, isLongSilence }) ?? null,
    ...nextOf(next)
  };
}

/** Tells the operator that the model is asked again, and when. */
export function logRetry({ init }: TurnStore, turn: Turn, error: unknown): void {
  const retry = turn.isOpen ? awaitedRetry(turn.fold) : undefined;
  const context = { requestId: turn.requestId, stage: "stream", messagesPersisted: true, turn: turn.view() } as const;
  if (retry) init.hooks.logRetry?.(error, context, retry);
}

/** When the provider is asked again; undefined: this failure or silence is one too many. */
function retryTime(
  store: TurnStore,
  turn: Turn,
  { stream, ...failure }: NewFailure & { readonly stream: Pick<TurnStream, "flush"> }
): number | undefined {
  // A step that it finished before it failed counts only once it is written.
  stream.flush();
  const pauseMs = failurePauseMs(turn.fold.attempts, failure);
  return pauseMs === undefined ? undefined : store.now() + pauseMs;
}

/** What is recorded of a failure that may pass; undefined for one that will not. */
function retryCode(error: unknown, classification: FailureClass | undefined): string | undefined {
  if (isOutOfMemory(error)) return OUT_OF_MEMORY;
  if (isPlatformTransient(error)) return "platform";
  return classification === "rate_limit" || classification === "transient" ? classification : undefined;
}

/**
 * Makes the history shorter, as often as allowed; false when that cannot help. What the turn's own tools brought into
 * the answer so far is cut by the next attempt.
 */
export async function shorten(store: TurnStore, turn: Turn, answer: UIMessage): Promise<boolean> {
  const { hooks } = store.init;
  if (hooks.overflowRetries === 0 || turn.signal.aborted) return false;
  const overflows = turn.fold.attempts.filter(({ end }) => end === "overflow").length;
  if (overflows >= hooks.overflowRetries) return false;
  const view = turn.view();
  const compacted = hooks.runIn(view, () => hooks.compact(view, overflows + 1));
  const isShorter = await unlessAborted(turn.signal, compacted);
  return !turn.signal.aborted && (isShorter || hasLongResults(answer));
}

/** A turn that is stopped does not wait for what is done for it. */
async function unlessAborted(signal: AbortSignal, work: Promise<boolean>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  // The signal is the turn's own and goes with it, so the listener may stay.
  signal.addEventListener("abort", () => resolve(false), { once: true });
  return Promise.race([work, promise]);
}

function hasLongResults({ parts }: UIMessage): boolean {
  return parts.some((part) => isToolPart(part) && (JSON.stringify(part.output) ?? "").length > SHRINKS_ABOVE_CHARS);
}

export interface RecoveryPolicy extends RecoveryLimits {
  /** False: an interrupted turn ends where it was. */
  readonly enabled: boolean;
  /** The text that clients are shown when a turn is given up. */
  readonly terminalMessage: string;
}

/**
 * The interruption of a turn as user code sees it: identity, budget and what is left of the answer. One incident per turn,
 * however often it is interrupted: retries and continuations share its budget.
 */
export interface RecoveryIncident {
  readonly incidentId: string;
  readonly requestId: string;
  readonly recoveryRootRequestId: string;
  /** Counts from 1; back to 1 after progress. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly recoveryKind: "retry" | "continue";
  /** Empty when nothing was streamed. */
  readonly streamId: string;
  /** When the turn was accepted. */
  readonly createdAt: number;
  readonly partialText: string;
  readonly partialParts: UIMessage["parts"];
  /** What `stash` was given last. */
  readonly recoveryData: Json;
  /** Units of progress since the first interruption, and the time since then. */
  readonly work: number;
  readonly ageMs: number;
}

/** What becomes of the partial answer, and of the turn. */
export interface RecoveryChoice {
  readonly persist: boolean;
  readonly continue: boolean;
}

/** The same over all attempts of a turn. */
function incidentId(requestId: string, inputMessageIds: readonly string[]): string {
  return `${requestId}:${inputMessageIds.at(-1) ?? ""}`;
}

/** What events tell of it. */
export type IncidentEvent = EventPayloads["chat:recovery:attempt"];

export function eventOfIncident(incident: RecoveryIncident): IncidentEvent {
  const { incidentId, requestId, attempt, maxAttempts, recoveryKind } = incident;
  return { incidentId, requestId, attempt, maxAttempts, recoveryKind };
}
