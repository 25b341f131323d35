// Sets up one attempt: charges it, puts what earlier attempts left in its place, and connects the stream. It decides
// nothing about the turn; what came of the attempt is told to the runner.
import type { UIMessage, UIMessageChunk } from "ai";
import type { OpenTurn } from "../journal/conversation.ts";
import type { AttemptStarted, JournalRecord } from "../journal/records.ts";
import { asMessagePart, continueFold, foldChunk, resumeFold, startFold } from "../model/index.ts";
import { ALREADY_RECORDED, RUNNER } from "../session/change-log.ts";
import { turnId } from "../util/ids.ts";
import { notesOf } from "./admitting.ts";
import { AnswerSize } from "./answer-size.ts";
import { Attempt, type AttemptResult } from "./attempt.ts";
import { firstAttempt, nextAttempt, OPENING_CHUNKS } from "./attempt-record.ts";
import type { Desk } from "./desk.ts";
import { LostInputError } from "./errors.ts";
import type { LiveTurn } from "./live-turn.ts";
import type { Examined } from "./recovery.ts";
import type { Salvage } from "./salvage.ts";
import { extendingSeam, noSeam, seamAfter, type Seam } from "./seam.ts";
import { continuedMessages, placeInput, storeAnswer } from "./settle.ts";
import { storableAnswer, TurnStream } from "./stream.ts";
import { approvedCalls } from "./tool-answer.ts";
import type { TurnTrigger } from "./turn.ts";

/** What a cut-off call is recorded with. */
const CUT_OFF_REASON = "The process ended while the call was running.";

export interface Tried {
  readonly result: AttemptResult;
  readonly stream: TurnStream;
  readonly streamed: boolean;
}

/** The first attempt is charged, and its messages join the conversation with it. */
export async function beginFirst(desk: Desk, open: OpenTurn, live: LiveTurn): Promise<void> {
  const { init, epoch } = desk;
  const made = await deferredInput(desk, live);
  init.conversation.transaction(() => {
    init.journal.writer.append([firstAttempt(open.turnId, { epoch, now: desk.now() })]);
    placeInput(desk, live);
    const origin = { by: "code", why: "turn-input", turnId: open.turnId } as const;
    for (const message of made) init.transcript.append(message, origin);
  });
  // The others were told when they were accepted.
  if (made.length > 0) desk.readers.transcriptChanged(live.view.origin);
}

async function deferredInput(desk: Desk, live: LiveTurn): Promise<readonly UIMessage[]> {
  if (!notesOf(live.admitted).deferred) return [];
  const make = live.inputFunction;
  if (!make) throw new LostInputError();
  return make(desk.init.transcript.path());
}

/** A later attempt is charged. Calls that were cut off are settled with it: nobody may run them again. */
export function beginNext(desk: Desk, live: LiveTurn, examined: Examined): void {
  const { init, epoch } = desk;
  const { salvage } = examined;
  const open = desk.openTurnOf(live);
  if (!open) return;
  const now = desk.now();
  const id = turnId(open.turnId);
  const attempt = open.attempt + 1;
  const firstChunk = init.journal.writer.nextChunk(open);
  const bodies = salvage.repairs.map((chunk) => JSON.stringify(chunk));
  const repairs = bodies.length + openingOf(salvage);
  const started = { attempt, kind: kindOf(examined), firstChunk, keeps: salvage.keeps, repairs };
  const records: JournalRecord[] = [nextAttempt(open.turnId, started, { epoch, now })];
  if (bodies.length > 0) {
    records.push({ type: "content-segment", turnId: id, attempt, at: now, firstChunk, chunks: bodies });
  }
  const unknown = { kind: "unknown", reason: CUT_OFF_REASON } as const;
  for (const callId of salvage.unknownCalls) {
    records.push({ type: "call-settled", turnId: id, attempt, at: now, callId, outcome: unknown, autoContinue: false });
  }
  const changed = [salvage.changedBase, salvage.changedEarlier].filter((message) => message !== undefined);
  init.conversation.transaction(() => {
    init.journal.writer.append(records);
    for (const message of changed) init.transcript.update(message, { ...RUNNER, change: "calls-closed", turnId: id });
  });
  for (const message of changed) desk.readers.messageUpdated(message);
  // Who followed the last attempt in this process has not seen its calls end. Others are replayed everything.
  if (examined.turn.attempts.at(-1)?.end === "interrupted") return;
  bodies.forEach((body, index) => desk.readers.chunk(live.view, { seq: firstChunk + index, body }));
}

function kindOf({ turn, salvage }: Examined): AttemptStarted["kind"] {
  if (turn.attempts.at(-1)?.end === "overflow") return "overflow-retry";
  return salvage.progress === "nothing" ? "retry" : "continue";
}

/** How many chunks come before the attempt says anything, as the seam passes them. */
function openingOf({ progress, openTextId }: Salvage): number {
  if (progress === "nothing") return OPENING_CHUNKS;
  return openTextId === undefined ? 1 : 0;
}

/** What there is of the answer joins the conversation. An answer that is extended stays as it was until the end. */
export function storePartial(desk: Desk, live: LiveTurn, { turn, salvage }: Examined): void {
  const partial = storableAnswer(salvage.fold.message);
  if (!partial || notesOf(live.admitted).extends) return;
  desk.init.conversation.transaction(() => storeAnswer(desk, live, partial));
  // Who followed the attempt in this process shows it already.
  if (turn.attempts.at(-1)?.end === "interrupted") desk.readers.transcriptChanged(undefined);
}

/** Runs the attempt that is charged. Never throws. */
export async function runAttempt(desk: Desk, live: LiveTurn, examined: Examined | undefined): Promise<Tried> {
  const { init } = desk;
  const fence = desk.openTurnOf(live);
  const stop = new AbortController();
  const turn = {
    ...live.context(live.attempt, AbortSignal.any([live.signal, stop.signal])),
    ...(examined?.turn.grants && { grant: examined.turn.grants })
  };
  const { base, earlier } = continuedMessages(desk, live);
  const setting = { base, earlier, examined };
  const stream = openStream(desk, live, { ...setting, fence });
  const attempt = new Attempt({
    turn,
    view: live.view,
    history: () => historyOf(desk, live, setting),
    stream,
    stop,
    stampsId: !live.view.continuation,
    continuesText: examined?.salvage.openTextId !== undefined,
    usedTokens: examined?.turn.steps.usage.totalTokens ?? 0,
    overflows: examined?.turn.attempts.filter(({ end }) => end === "overflow").length ?? 0,
    sdk: init.sdk,
    hooks: init.hooks,
    journal: init.journal,
    readers: desk.readers,
    clock: init.clock,
    answerChanged: ({ message, stored }) => {
      init.transcript.update(stored, ALREADY_RECORDED);
      desk.readers.messageUpdated(message);
    },
    earlierSettled: (outcome) => settleEarlier(desk, earlier?.id, outcome)
  });
  desk.running = { live, stream, attempt };
  return { result: await attempt.run(), stream, streamed: attempt.hasStreamed || (examined?.salvage.keeps ?? 0) > 0 };
}

/** Read anew: its other calls may have been answered meanwhile. */
function settleEarlier({ init, readers }: Desk, messageId: string | undefined, outcome: UIMessageChunk): void {
  const stored = messageId === undefined ? undefined : init.transcript.get(messageId);
  if (!stored) return;
  const { message } = foldChunk(resumeFold(stored), outcome);
  const callId = "toolCallId" in outcome ? { callId: outcome.toolCallId } : {};
  init.transcript.update(message, { ...RUNNER, change: "answer-placed", why: "tool-result", ...callId });
  readers.messageUpdated(message);
}

interface Setting {
  readonly fence?: OpenTurn | undefined;
  readonly base: UIMessage | undefined;
  readonly earlier: UIMessage | undefined;
  readonly examined: Examined | undefined;
}

function openStream(desk: Desk, live: LiveTurn, { fence, base, earlier, examined }: Setting): TurnStream {
  const { init } = desk;
  const repairs = examined?.salvage.repairs.length ?? 0;
  return new TurnStream({
    turnId: turnId(live.admitted.turnId),
    attempt: live.attempt,
    firstChunk: (fence?.firstChunk ?? 0) + repairs,
    fold: examined?.salvage.fold ?? (base ? continueFold(base) : startFold(live.admitted.messageId)),
    extends: base,
    resolves: earlier,
    seam: seamOf(base, examined),
    size: new AnswerSize(init.hooks.maxAnswerBytes, examined?.salvage.answerBytes),
    clock: init.clock,
    append: (records) => void init.journal.writer.append(records)
  });
}

function seamOf(base: UIMessage | undefined, examined: Examined | undefined): Seam {
  const { progress, openTextId } = examined?.salvage ?? { progress: "nothing", openTextId: undefined };
  if (progress !== "nothing") return seamAfter(openTextId);
  return base ? extendingSeam : noSeam;
}

/** Doors a person speaks through: only they have gone past a question that is still open. Others leave it to them. */
const ASKED_BY_PERSON: ReadonlySet<TurnTrigger> = new Set<TurnTrigger>(["ws-chat", "rpc"]);

/** The path the answer hangs below, of the answer what there is, and the calls to run if they stand further up. */
function historyOf(desk: Desk, live: LiveTurn, { base, earlier, examined }: Setting): UIMessage[] {
  const { transcript } = desk.init;
  const { messageId, parentMessageId, clientTools, inputMessageIds } = live.admitted;
  const partial = examined && storableAnswer(examined.salvage.fold.message);
  const isStored = base !== undefined || (examined !== undefined && transcript.has(messageId));
  const leaf = isStored ? messageId : (parentMessageId ?? undefined);
  // The SDK runs allowed calls of the last message only.
  const isLast = earlier === undefined || (!partial && earlier.id === transcript.leafId);
  const running = approvedCalls(base ?? earlier);
  const prompt = transcript.prompt(leaf, {
    isClientTool: (name) => {
      const kind = desk.init.hooks.toolKind(name);
      return kind === "client" || (kind === undefined && clientTools.some((tool) => tool.name === name));
    },
    isUserTurn: inputMessageIds.length > 0 && ASKED_BY_PERSON.has(live.view.trigger),
    running: {
      callIds: new Set(running.map(({ toolCallId }) => toolCallId)),
      shown: isLast ? "in-place" : "elsewhere"
    }
  });
  transcript.repair(prompt, live.admitted.turnId);
  const path = prompt.messages;
  const before = examined && path.at(-1)?.id === messageId ? path.slice(0, -1) : path;
  const shown = partial ? [...before, partial] : before;
  if (isLast || running.length === 0) return shown;
  const parts: UIMessage["parts"] = [{ type: "step-start" }, ...running.map(asMessagePart)];
  return [...shown, { id: `${messageId}:calls`, role: "assistant", parts }];
}
