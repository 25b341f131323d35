// Sets up one attempt: charges it, puts what earlier attempts left in its place, and connects the stream. It decides
// nothing about the turn; what came of the attempt is returned to the runner.
import type { UIMessage, UIMessageChunk } from "ai";
import type { AttemptStarted, JournalRecord } from "../journal/records.ts";
import { asMessagePart, closeOpenParts, continueFold, foldChunk, resumeFold, startFold } from "../model/index.ts";
import { ALREADY_RECORDED, RUNNER } from "../session/change-log.ts";
import { turnId } from "../util/ids.ts";
import { Attempt, type AttemptResult } from "./attempt.ts";
import { turnErrors } from "./errors.ts";
import type { ModelChoice } from "./next-model.ts";
import type { RecoveredPartial } from "./partial.ts";
import type { Interrupted } from "./recovery.ts";
import { continuedMessages, placeInput, storeAnswer } from "./settle.ts";
import { endsHere } from "./steering.ts";
import type { TurnStore } from "./store.ts";
import { AnswerSize, extendingJoin, joinAfter, noJoin, storableAnswer, TurnStream, type Join } from "./stream.ts";
import { approvedCalls } from "./tool-answer.ts";
import type { Turn, TurnTrigger } from "./turn.ts";

/** What a cut-off call is recorded with. */
const CUT_OFF_REASON = "The process ended while the call was running.";

/** A stream opens with the start of the message and of its step. An attempt that says no more has made no progress. */
const OPENING_CHUNKS = 2;

/** The record that charges the first attempt of a turn, written before the attempt does anything. */
export function firstAttempt(id: string, now: number): AttemptStarted {
  return {
    type: "attempt-started",
    turnId: turnId(id),
    attempt: 1,
    at: now,
    kind: "first",
    firstChunk: 0,
    keeps: 0,
    repairs: OPENING_CHUNKS
  };
}

/** The first attempt is charged, and its messages join the conversation with it. */
export async function beginFirst(store: TurnStore, turn: Turn): Promise<void> {
  const { init } = store;
  const made = await deferredInput(store, turn);
  // It was taken back meanwhile.
  if (!turn.isOpen) return;
  init.conversation.transaction(() => {
    init.journal.writer.append([firstAttempt(turn.turnId, store.now())]);
    placeInput(store, turn);
    const origin = { by: "code", why: "turn-input", turnId: turn.turnId } as const;
    for (const message of made) init.transcript.append(message, origin);
  });
  // Listeners were notified of the others when they were accepted, except of submissions, which clients do not see before.
  const isUnseen = turn.admitted.trigger === "submission";
  if (made.length > 0 || isUnseen) store.listeners.transcriptChanged(turn.origin);
}

async function deferredInput(store: TurnStore, turn: Turn): Promise<readonly UIMessage[]> {
  if (!turn.admitted.isDeferred) return [];
  const make = turn.inputFunction;
  if (!make) throw turnErrors.LostInputError();
  return make(store.init.transcript.path());
}

/** A later attempt is charged. Calls that were cut off are settled with it: no attempt may run them again. */
export function beginNext(store: TurnStore, turn: Turn, found: Interrupted): void {
  const { init } = store;
  const { partial } = found;
  if (!turn.isOpen) return;
  const now = store.now();
  const { turnId: id } = turn.admitted;
  const { attempt: before, nextChunk: firstChunk, attempts } = turn.fold;
  const attempt = before + 1;
  // Listeners that followed the last attempt in this process have not seen its calls end. Others are replayed everything.
  const isFollowed = attempts.at(-1)?.end !== "interrupted";
  const isTakenBack = takesBack(turn, partial);
  const bodies = partial.repairs.map((chunk) => JSON.stringify(chunk));
  const repairs = bodies.length + openingOf(partial);
  // Its chunks are numbered after those that are stored.
  const started = { attempt, kind: kindOf(turn, partial), firstChunk, keeps: partial.keeps, repairs };
  const records: JournalRecord[] = [{ ...firstAttempt(id, now), ...started }];
  if (bodies.length > 0) {
    records.push({ type: "content-segment", turnId: id, attempt, at: now, firstChunk, chunks: bodies });
  }
  const unknown = { kind: "unknown", reason: CUT_OFF_REASON } as const;
  for (const callId of partial.unknownCalls) {
    records.push({ type: "call-settled", turnId: id, attempt, at: now, callId, outcome: unknown });
  }
  const changed = [partial.changedBase, partial.changedEarlier].filter((message) => message !== undefined);
  init.conversation.transaction(() => {
    init.journal.writer.append(records);
    for (const message of changed) init.transcript.update(message, { ...RUNNER, change: "calls-closed", turnId: id });
  });
  turn.partial = undefined;
  for (const message of changed) store.listeners.messageUpdated(message);
  if (isFollowed) {
    const view = turn.view();
    if (isTakenBack) store.listeners.takenBack(view, closeOpenParts(partial.fold.message));
    bodies.forEach((body, index) => store.listeners.chunk(view, { seq: firstChunk + index, body }));
  }
}

/** Listeners have been shown words of a model that the next one must not go on with. */
function takesBack({ fold }: Turn, { keeps }: RecoveredPartial): boolean {
  const last = fold.attempts.at(-1);
  return last?.next !== undefined && !last.next.keepsText && last.produced > 0 && keeps < fold.nextChunk;
}

function kindOf({ fold }: Turn, { progress }: RecoveredPartial): AttemptStarted["kind"] {
  if (fold.attempts.at(-1)?.end === "overflow") return "overflow-retry";
  return progress === "nothing" ? "retry" : "continue";
}

/** How many chunks come before the attempt says anything, as the join passes them. */
function openingOf({ progress, openTextId }: RecoveredPartial): number {
  if (progress === "nothing") return OPENING_CHUNKS;
  return openTextId === undefined ? 1 : 0;
}

/** What there is of the answer joins the conversation. An answer that is extended stays as it was until the end. */
export function storePartial(store: TurnStore, turn: Turn, { partial }: Interrupted): void {
  const answer = storableAnswer(partial.fold.message);
  if (!answer || turn.admitted.extendsAnswer) return;
  store.init.conversation.transaction(() => storeAnswer(store, turn, answer));
  // Listeners that followed the attempt in this process show it already.
  if (turn.fold.attempts.at(-2)?.end === "interrupted") store.listeners.transcriptChanged(undefined);
}

export interface Tried {
  readonly result: AttemptResult;
  /** Which model was asked, of several. */
  readonly choice: ModelChoice | undefined;
  readonly stream: TurnStream;
  readonly streamed: boolean;
}

/** Runs the attempt that is charged. Never throws. */
export async function runAttempt(store: TurnStore, turn: Turn, found: Interrupted | undefined): Promise<Tried> {
  const { init, listeners } = store;
  const { fold } = turn;
  const stop = new AbortController();
  const view = turn.view(AbortSignal.any([turn.signal, stop.signal]));
  const setting = { ...continuedMessages(store, turn), partial: found?.partial };
  const stream = openStream(store, turn, setting);
  const attempt = new Attempt(store, {
    turn: view,
    history: () => historyOf(store, turn, setting),
    stream,
    stop,
    stampsId: !view.continuation,
    continuesText: found?.partial.openTextId !== undefined,
    usage: fold.steps.usage,
    finishedSteps: fold.steps.finished,
    hasCallsToRun: stream.runs.size > 0,
    endsHere: (boundary) => (store.hasEntries || turn.fold.stops) && endsHere(store, turn, boundary),
    overflows: fold.attempts.filter(({ end }) => end === "overflow").length,
    answerChanged: ({ message, stored }) => {
      init.transcript.update(stored, ALREADY_RECORDED);
      listeners.messageUpdated(message);
    },
    earlierSettled: (outcome) => settleEarlier(store, setting.earlier?.id, outcome)
  });
  store.running = { turn, stream, attempt };
  const result = await attempt.run();
  const streamed = attempt.hasStreamed || (found?.partial.keeps ?? 0) > 0;
  return { result, choice: attempt.choice, stream, streamed };
}

/** Read anew: its other calls may have been answered meanwhile. */
function settleEarlier({ init, listeners }: TurnStore, messageId: string | undefined, outcome: UIMessageChunk): void {
  const stored = messageId === undefined ? undefined : init.transcript.get(messageId);
  if (!stored) return;
  const { message } = foldChunk(resumeFold(stored), outcome);
  const callId = "toolCallId" in outcome ? outcome.toolCallId : undefined;
  init.transcript.update(message, { ...RUNNER, change: "answer-placed", why: "tool-result", callId });
  listeners.messageUpdated(message);
}

/** What an attempt goes on from. */
interface Setting {
  readonly base: UIMessage | undefined;
  readonly earlier: UIMessage | undefined;
  readonly partial: RecoveredPartial | undefined;
}

function openStream({ init }: TurnStore, turn: Turn, { base, earlier, partial }: Setting): TurnStream {
  const { turnId: id, messageId } = turn.admitted;
  return new TurnStream({
    turnId: id,
    attempt: turn.fold.attempt,
    // After what was repaired when the attempt was charged.
    firstChunk: turn.fold.nextChunk,
    fold: partial?.fold ?? (base ? continueFold(base) : startFold(messageId)),
    extends: base,
    resolves: earlier,
    join: joinOf(base, partial),
    size: new AnswerSize(init.hooks.maxAnswerBytes, partial?.answerBytes),
    maxUnstoredTextMs: init.hooks.maxUnstoredTextMs,
    clock: init.clock,
    append: (records) => void init.journal.writer.append(records)
  });
}

function joinOf(base: UIMessage | undefined, partial: RecoveredPartial | undefined): Join {
  if (partial && partial.progress !== "nothing") return joinAfter(partial.openTextId);
  return base ? extendingJoin : noJoin;
}

/** Entries that a person uses: only they have gone past a question that is still open. Others leave it to them. */
const ASKED_BY_PERSON: ReadonlySet<string> = new Set<TurnTrigger>(["ws-chat", "rpc"]);

/** The path the answer hangs below, of the answer what there is, and the calls to run if they stand further up. */
function historyOf(store: TurnStore, turn: Turn, { base, earlier, partial }: Setting): UIMessage[] {
  const { transcript, hooks } = store.init;
  const { messageId, parentMessageId, clientTools, inputMessageIds, trigger } = turn.admitted;
  const answer = partial && storableAnswer(partial.fold.message);
  const isStored = base !== undefined || (partial !== undefined && transcript.has(messageId));
  const leaf = isStored ? messageId : (parentMessageId ?? undefined);
  // The SDK runs allowed calls of the last message only.
  const isLast = earlier === undefined || (!answer && earlier.id === transcript.leafId);
  const running = approvedCalls(base ?? earlier);
  const prompt = transcript.prompt(leaf, {
    isClientTool: (name) => {
      const kind = hooks.toolKind(name);
      return kind === "client" || (kind === undefined && clientTools.some((tool) => tool.name === name));
    },
    isUserTurn: inputMessageIds.length > 0 && ASKED_BY_PERSON.has(trigger),
    running: {
      callIds: new Set(running.map(({ toolCallId }) => toolCallId)),
      shown: isLast ? "in-place" : "elsewhere"
    }
  });
  transcript.repair(prompt, turn.turnId);
  const path = prompt.messages;
  const before = partial && path.at(-1)?.id === messageId ? path.slice(0, -1) : path;
  const shown = answer ? [...before, answer] : before;
  if (isLast || running.length === 0) return shown;
  const parts: UIMessage["parts"] = [{ type: "step-start" }, ...running.map(asMessagePart)];
  return [...shown, { id: `${messageId}:calls`, role: "assistant", parts }];
}
