// The one place that ends a turn, and the only writer of `turn-settled`. Answer, outcome and what the conversation's row
// says of it become durable together; only then are listeners notified, and after them the user's hook.
import type { UIMessage } from "ai";
import { beforeDeadline } from "../host/deadline.ts";
import type { OpenTurn } from "../journal/conversation.ts";
import type { TurnFold } from "../journal/folds/turn-fold.ts";
import type { TurnAdmitted, TurnSettled } from "../journal/records.ts";
import type { EventPayloads } from "../observe/events.ts";
import { ALREADY_RECORDED, RUNNER } from "../session/change-log.ts";
import { failureDetails } from "../util/errors.ts";
import { turnId } from "../util/ids.ts";
import type { Json } from "../util/json.ts";
import { triedFiles, withRefused } from "../util/refused-files.ts";
import { turnErrors } from "./errors.ts";
import type { FileRefusal, FinalAnswer } from "./hooks.ts";
import { announceReceipt, WITHDRAWN } from "./receipts.ts";
import type { TurnStore } from "./store.ts";
import type { StreamRecord, TurnStream } from "./stream.ts";
import { approvedCalls } from "./tool-answer.ts";
import { closeCalls, type ClosingCalls } from "./tool-calls.ts";
import type { CountedTokens, Transcript } from "../session/transcript.ts";
import {
  PASSED_ON,
  STEERED,
  Turn,
  viewWithoutAdmission,
  type TurnOutcome,
  type TurnStatus,
  type TurnView
} from "./turn.ts";

type MessagePart = UIMessage["parts"][number];

/** A response hook that has not returned by then counts as run: its turn's records must not be kept for ever. */
export const RESPONSE_LIMIT_MS = 15 * 60_000;

export interface Ending {
  readonly status: TurnStatus;
  readonly reason?: string;
  readonly error?: string;
  readonly output?: unknown;
  /** What the provider counted for the last call. */
  readonly lastUsage?: CountedTokens;
  /** What was streamed; nothing for a turn that never started. */
  readonly stream?: TurnStream;
  /** What earlier attempts left, for a turn that ends between two. */
  readonly left?: {
    readonly answer: UIMessage | undefined;
    /** There is an answer in the store, which is left as it is. */
    readonly isStored?: boolean;
    /** The earlier answer with what became of its calls. */
    readonly earlier?: UIMessage;
  };
  readonly streamed?: boolean;
  /** Messages whose files made the turn fail, marked. */
  readonly refused?: readonly RefusedFiles[];
  /** As `TurnOutcome.givenUp`. */
  readonly givenUp?: boolean;
  /** The turn that takes over. */
  readonly steeredBy?: Turn;
  /** The messages of a turn that ends before it started still belong to the conversation. */
  readonly placesInput?: boolean;
}

/** Records the ending and notifies the listeners. */
export function settleTurn(store: TurnStore, turn: Turn, ending: Ending): TurnOutcome {
  const outcome = recordEnding(store, turn, ending);
  if (!turn.isAnnounced) announceEnding(store, turn, outcome);
  for (const { message, event } of ending.refused ?? []) {
    store.listeners.messageUpdated(message);
    store.init.emit("chat:attachment:refused", event);
  }
  return outcome;
}

export function announceEnding(store: TurnStore, turn: Turn, outcome: TurnOutcome): void {
  if (store.running?.turn === turn) store.running = undefined;
  store.listeners.settled(turn.view(), outcome);
  const hadNoEffect = turn.admitted.entry !== null && turn.fold.attempt === 0 && turn.fold.steered === null;
  const isKnown = outcome.reason === WITHDRAWN || outcome.reason === PASSED_ON;
  if (hadNoEffect && !isKnown) announceReceipt(store, turn);
}

/** For a caller with a larger transaction of its own, who announces after the commit. */
export function recordEnding(store: TurnStore, turn: Turn, given: Ending): TurnOutcome {
  const { conversation, transcript, hooks } = store.init;
  const { turnId: id, requestId } = turn;
  const { message, ending } = conversation.transaction((row) => {
    let ending = given;
    if (ending.placesInput) placeInput(store, turn);
    for (const { message: marked } of ending.refused ?? []) {
      transcript.update(marked, { ...RUNNER, change: "files-refused", turnId: id });
    }
    const segments = ending.stream?.takeUnflushed() ?? [];
    const left = ending.stream ? ending.stream.finish() : ending.left?.answer;
    const closed = left && closeCalls(left, closingOf(store, turn, { ending, message: left }));
    const final = ending.status === "completed" ? hooks.finalAnswer?.(turn.view(), closed) : undefined;
    if (final) ending = endingOf(ending, final);
    // What an interruption has stored of it cannot be left as it is.
    const isStored = final !== undefined && closed !== undefined && transcript.has(closed.id);
    const answer = final ? (final.message ?? (isStored ? { ...closed, parts: [] } : undefined)) : closed;
    if (answer) storeAnswer(store, turn, answer);
    closeContinued(store, turn, { ending, hasAnswer: answer !== undefined });
    if (answer && ending.lastUsage) transcript.noteUsage?.(answer.id, ending.lastUsage);
    const messageStored = answer !== undefined || ending.left?.isStored === true;
    const outcome = settledRecord(store, id, {
      ...ending,
      messageStored,
      steeredBy: ending.steeredBy?.requestId,
      responds: hooks.wantsResponse && isAnswer(ending)
    });
    const ownerId = messageStored ? turn.admitted.messageId : ownerOf(store, turn.admitted);
    appendOutcome(store, { segments, outcome, ownerId, requestId });
    keepOutcome(store, turn, { ...ending, answer });
    if (ending.status !== "skipped") {
      row.failedTurn =
        ending.error === undefined
          ? null
          : { requestId, text: ending.error, messageIds: turn.admitted.inputMessageIds };
    }
    return { message: answer, ending };
  });
  return {
    status: ending.status,
    reason: ending.reason,
    error: ending.error,
    message,
    output: ending.output,
    streamed: ending.streamed ?? false,
    givenUp: ending.givenUp
  };
}

/** The end of a completed turn, with what its answer came to. */
function endingOf(ending: Ending, { output, error }: FinalAnswer): Ending {
  return error === undefined ? { ...ending, output } : { ...ending, status: "error", error };
}

const RECORDED = { completed: "completed", error: "failed", aborted: "aborted", skipped: "skipped" } as const;

function settledRecord(
  store: TurnStore,
  id: string,
  ending: Pick<Ending, "status" | "reason" | "error" | "output"> &
    Partial<Pick<TurnSettled, "messageStored" | "responds">> & { readonly steeredBy?: string | undefined } & {
      readonly code?: string;
    }
): TurnSettled {
  return {
    type: "turn-settled",
    turnId: turnId(id),
    attempt: null,
    at: store.now(),
    outcome: RECORDED[ending.status],
    reason: ending.reason ?? null,
    error: ending.error === undefined ? null : { code: ending.code ?? "turn-failed", message: ending.error },
    output: (ending.output ?? null) as Json,
    messageStored: ending.messageStored ?? false,
    responds: ending.responds ?? false,
    ...(ending.steeredBy !== undefined && { steeredBy: ending.steeredBy })
  };
}

interface Outcome {
  readonly segments: readonly StreamRecord[];
  readonly outcome: TurnSettled;
  /** The message that the turn's history goes with. */
  readonly ownerId: string | null;
  readonly requestId: string;
}

/** The outcome, and what stays known of the turn when its records are gone. */
function appendOutcome({ init: { journal } }: TurnStore, { segments, outcome, ...owner }: Outcome): void {
  const turn = journal.writer.append([...segments, outcome]).get(outcome.turnId);
  if (turn) journal.history.settled(turn, owner);
}

/** Without an answer: the last message it was asked with, or the newest of the conversation. */
function ownerOf({ init: { transcript } }: TurnStore, { inputMessageIds }: TurnAdmitted): string | null {
  return inputMessageIds.findLast((id) => transcript.has(id)) ?? transcript.leafId;
}

/**
 * For calls that are made again under the turn's key. That of a chain has the outcome of its last turn. A steer that took
 * over was given under a key of its own: that key says only that another turn's caller has the answer.
 */
function keepOutcome(store: TurnStore, turn: Turn, ended: Ending & { readonly answer: UIMessage | undefined }): void {
  const { idempotency } = store.init;
  const { steered, passedTo } = turn.fold;
  const { status, reason, output, answer, steeredBy } = ended;
  const { turnId: id, requestId } = turn;
  const own = turn.admitted.idempotencyId;
  if (own !== null && (steered || passedTo !== null))
    idempotency.keepTurn(own, { turnId: id, requestId, status: "skipped", reason: STEERED });
  const key = steered ? steered.idempotencyId : own;
  if (key === null || status === "error" || steeredBy || ((steered || passedTo !== null) && status === "skipped"))
    return;
  idempotency.keepTurn(key, { turnId: id, requestId, status, reason, messageId: answer?.id, output });
}

/**
 * The cancel is recorded and stops the turn. One that waits in the queue has its outcome with that record: its client is
 * notified at once, and its question keeps its place, because its end is written when the turns before it are over.
 */
export function cancelTurn(store: TurnStore, turn: Turn, reason: string): void {
  const { conversation, journal, emit } = store.init;
  const { turnId: id } = turn.admitted;
  journal.writer.append([{ type: "turn-cancel-requested", turnId: id, at: store.now(), reason }]);
  conversation.afterCommit(() => {
    emit("message:cancel", { requestId: turn.requestId });
    turn.abort(new DOMException(reason, "AbortError"));
    // What a sub-agent has is decided when that one is over: it may have read it.
    if (turn.fold.attempt > 0 || turn.isAnnounced || turn.fold.passedTo !== null) return;
    const outcome: TurnOutcome = { status: "aborted", reason, streamed: false };
    turn.isAnnounced = true;
    announceEnding(store, turn, outcome);
    turn.resolve(outcome);
  });
}

/**
 * Ends a turn whose admission cannot be read: what was asked is lost, and it must not hold up the queue. Clients are notified,
 * now and when they join later, unless the conversation was cleared since: then no client waits for it.
 */
export function settleUnreadable(store: TurnStore, open: OpenTurn): void {
  const { conversation, hooks, emit, transcript } = store.init;
  const { requestId, generation } = open;
  const isCleared = generation !== conversation.row.generation;
  const unreadable = turnErrors.TurnUnreadableError(open.turnId);
  const context = { requestId, stage: "recovery", messagesPersisted: false } as const;
  const error = isCleared ? unreadable.message : hooks.describeFailure(unreadable, context);
  const ending = { status: "error", reason: "unreadable", error } as const;
  conversation.transaction((row) => {
    appendOutcome(store, {
      segments: [],
      outcome: settledRecord(store, open.turnId, { ...ending, code: unreadable.code }),
      ownerId: transcript.leafId,
      requestId
    });
    if (!isCleared) row.failedTurn = { requestId, text: error, messageIds: [] };
  });
  if (isCleared) return;
  emit("chat:request:failed", { ...context, error, ...failureDetails(unreadable) });
  const view = viewWithoutAdmission({ turnId: open.turnId, requestId, generation, trigger: "ws-chat" });
  store.listeners.settled(view, { ...ending, streamed: false, givenUp: true });
}

/** The stored answer that the turn extends, and the one whose decided calls it runs without extending it. */
export function continuedMessages(
  { init: { transcript } }: TurnStore,
  { admitted }: Turn
): { base: UIMessage | undefined; earlier: UIMessage | undefined } {
  return {
    base: admitted.extendsAnswer ? transcript.get(admitted.messageId) : undefined,
    earlier: admitted.resolvesMessageId === null ? undefined : transcript.get(admitted.resolvesMessageId)
  };
}

/** No turn goes on from the answers to this message any more: what was allowed there is not run. */
export function abandonCalls(store: TurnStore, messageId: string): void {
  const { transcript, hooks } = store.init;
  const stored = transcript.get(messageId);
  if (!stored) return;
  const runs = new Set(approvedCalls(stored).map(({ toolCallId }) => toolCallId));
  const closing = { runs, started: new Set<string>(), repairPart: (part: MessagePart) => hooks.repairPart(part) };
  putClosed(store, stored, closeCalls(stored, closing));
}

/** A message that the turn continued and that is not its answer: what it was to run there will not be run any more. */
function closeContinued(
  store: TurnStore,
  turn: Turn,
  { ending, hasAnswer }: { ending: Ending; hasAnswer: boolean }
): void {
  const { extendsAnswer, resolvesMessageId, messageId: answerId } = turn.admitted;
  const messageId = resolvesMessageId ?? (extendsAnswer && !hasAnswer ? answerId : undefined);
  const stored = messageId === undefined ? undefined : store.init.transcript.get(messageId);
  if (!stored) return;
  const message = ending.left?.earlier ?? stored;
  putClosed(store, stored, closeCalls(message, closingOf(store, turn, { ending, message })));
}

function putClosed({ init, listeners }: TurnStore, stored: UIMessage, closed: UIMessage): void {
  if (closed === stored) return;
  init.transcript.update(closed, { ...RUNNER, change: "calls-closed" });
  // A clear takes it away in the same transaction.
  init.conversation.afterCommit(() => init.transcript.has(closed.id) && listeners.messageUpdated(closed));
}

function closingOf(
  { init: { hooks, conversation } }: TurnStore,
  turn: Turn,
  { ending: { stream }, message }: { ending: Ending; message: UIMessage }
): ClosingCalls {
  // Without a stream nothing was run. What was allowed since then is the next continuation's.
  const isArmed = conversation.row.armedContinuations.some(({ messageId }) => messageId === message.id);
  const approved = isArmed ? [] : approvedCalls(message).map(({ toolCallId }) => toolCallId);
  return {
    runs: stream?.runs ?? new Set(approved),
    started: stream?.started ?? new Set(),
    repairPart: (part) => hooks.repairPart(part, turn.requestId)
  };
}

/** Hooks are called for turns that reached the model, whatever came of it. */
export function isAnswer(ending: Ending): boolean {
  const reachedModel = ending.stream !== undefined || ending.left !== undefined;
  return reachedModel && ending.reason !== "cleared" && ending.status !== "skipped";
}

/** The turn's time has come: its messages join the conversation. Those that are already there stay as they are. */
export function placeInput(store: TurnStore, turn: Turn): void {
  // Stored by `admit` as the messages they are.
  for (const message of turn.admitted.input as readonly unknown[] as readonly UIMessage[]) {
    store.init.transcript.append(message, ALREADY_RECORDED);
  }
}

export function storeAnswer(store: TurnStore, turn: Turn, answer: UIMessage): void {
  const { transcript } = store.init;
  const isNew = transcript.append(answer, ALREADY_RECORDED, turn.admitted.parentMessageId ?? undefined);
  // It extends an earlier answer, or an interruption stored what there was of it.
  if (!isNew) transcript.update(answer, ALREADY_RECORDED);
}

/** The user's hook after a turn: in turn order, except for a turn that a hook itself started and may be waiting for. */
export async function respond(store: TurnStore, turn: Turn, outcome: TurnOutcome): Promise<void> {
  const before = turn.isNested ? Promise.resolve() : store.responded;
  const done = before.then(() => callIfOwed(store, turn, outcome));
  if (!turn.isNested) store.responded = done;
  await done;
  turn.resolve(outcome);
}

/** A crash kept the hook of a settled turn from running: it is called at least once per turn. */
export function respondAgain(store: TurnStore, id: string): void {
  const { background, journal } = store.init;
  const fold = store.readTurn(id);
  const { admission: admitted } = fold;
  const outcome = endedOutcome(store, fold);
  // Its records are gone: there is nothing to call the hook with.
  if (!admitted || !outcome) return appendResponded(store, id);
  background(respond(store, new Turn({ admitted, fold, folds: journal.folds }), outcome));
}

/** How a turn ended, from its records; undefined while it is open, and when they are gone. */
export function endedOutcome(
  { init: { transcript } }: TurnStore,
  { admission, outcome }: TurnFold
): TurnOutcome | undefined {
  if (!admission || !outcome) return undefined;
  const message = outcome.messageStored ? transcript.get(admission.messageId) : undefined;
  return {
    status: outcome.outcome === "failed" ? "error" : outcome.outcome,
    reason: outcome.reason ?? undefined,
    error: outcome.error?.message,
    message,
    output: outcome.output ?? undefined,
    streamed: true
  };
}

/** The object is not kept awake for a hook that was not promised: most agents have none. */
async function callIfOwed(store: TurnStore, turn: Turn, outcome: TurnOutcome): Promise<void> {
  const { conversation, keepAlive } = store.init;
  if (!conversation.row.respondingTurns.includes(turn.turnId)) return;
  await keepAlive(() => callHook(store, turn, outcome));
}

async function callHook(store: TurnStore, turn: Turn, outcome: TurnOutcome): Promise<void> {
  const { hooks, conversation, clock } = store.init;
  // The turn is over, and so is what could stop it.
  const view = turn.view(new AbortController().signal);
  try {
    const hook = store.nesting.inResponse(() => hooks.runIn(view, () => hooks.respond(view, outcome)));
    const late = () => new Error(`It has not returned for ${RESPONSE_LIMIT_MS} ms.`);
    await beforeDeadline(hook, { clock, timeoutMs: RESPONSE_LIMIT_MS, late });
  } catch (error) {
    console.error("The response hook failed:", error);
  }
  // A clear may have forgotten the turn meanwhile.
  if (conversation.row.respondingTurns.includes(turn.turnId)) appendResponded(store, turn.turnId);
}

function appendResponded({ init }: TurnStore, id: string): void {
  init.journal.writer.append([{ type: "turn-responded", turnId: turnId(id), at: init.clock.now() }]);
}

export interface RefusedFiles {
  /** As it is to be stored. */
  readonly message: UIMessage;
  readonly event: EventPayloads["chat:attachment:refused"];
}

/**
 * The messages whose files made a turn fail for good. Their files are marked and left out of later prompts, or every later
 * turn would fail too. They are those of the turn's own question; if it has none and the provider named a file, all of the
 * conversation's.
 */
export function findRefused(
  transcript: Pick<Transcript, "get" | "path">,
  { requestId, inputMessageIds }: Pick<TurnView, "requestId" | "inputMessageIds">,
  refusal: FileRefusal
): RefusedFiles[] {
  const own = marked(transcript, inputMessageIds, requestId);
  if (own.length > 0 || refusal === "possible") return own;
  const held = transcript.path().filter((message) => triedFiles(message).length > 0);
  return marked(
    transcript,
    held.map(({ id }) => id),
    requestId
  );
}

function marked(transcript: Pick<Transcript, "get">, ids: readonly string[], requestId: string): RefusedFiles[] {
  return ids.flatMap((messageId) => {
    const message = transcript.get(messageId);
    const files = message ? triedFiles(message) : [];
    if (!message || files.length === 0) return [];
    const named = files.map(({ mediaType, filename }) => ({ mediaType, filename }));
    return [{ message: withRefused(message, files), event: { requestId, messageId, files: named } }];
  });
}
