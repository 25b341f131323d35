// The one place that ends a turn. Answer, outcome and what the conversation row knows of it become durable together;
// only then are readers told, and after them the user's hook.
import type { UIMessage } from "ai";
import type { OpenTurn } from "../journal/conversation.ts";
import { foldTurn } from "../journal/folds/turn-fold.ts";
import type { TurnAdmitted, TurnSettled } from "../journal/records.ts";
import { ALREADY_RECORDED, RUNNER } from "../session/change-log.ts";
import { failureDetails } from "../util/errors.ts";
import { turnId } from "../util/ids.ts";
import type { Json } from "../util/json.ts";
import { notesOf } from "./admitting.ts";
import { closeCalls, type ClosingCalls } from "./close-calls.ts";
import type { Desk } from "./desk.ts";
import { TurnUnreadableError } from "./errors.ts";
import type { LiveTurn } from "./live-turn.ts";
import { outlineTurn } from "./outline.ts";
import type { RefusedFiles } from "./refused-files.ts";
import type { StreamRecord, TurnStream } from "./stream.ts";
import { approvedCalls } from "./tool-answer.ts";
import type { CountedTokens } from "./transcript.ts";
import type { TurnOutcome, TurnStatus, TurnView } from "./turn.ts";

type MessagePart = UIMessage["parts"][number];

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
    readonly chunkCount: number;
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
  /** The messages of a turn that ends before it started still belong to the conversation. */
  readonly placesInput?: boolean;
}

const RECORDED = { completed: "completed", error: "failed", aborted: "aborted", skipped: "skipped" } as const;

/** Records the ending and tells the readers. */
export function settleTurn(desk: Desk, live: LiveTurn, ending: Ending): TurnOutcome {
  const outcome = recordEnding(desk, live, ending);
  if (!live.isAnnounced) announceEnding(desk, live, outcome);
  for (const { message, event } of ending.refused ?? []) {
    desk.readers.messageUpdated(message);
    desk.init.emit("chat:attachment:refused", event);
  }
  return outcome;
}

export function announceEnding(desk: Desk, live: LiveTurn, outcome: TurnOutcome): void {
  if (desk.running?.live === live) desk.running = undefined;
  desk.readers.settled(live.view, outcome);
}

/** For a caller with a larger transaction of its own, who announces after the commit. */
export function recordEnding(desk: Desk, live: LiveTurn, ending: Ending): TurnOutcome {
  const { conversation } = desk.init;
  const { admitted, view } = live;
  const message = conversation.transaction((row) => {
    const open = desk.openTurnOf(live);
    if (ending.placesInput) placeInput(desk, live);
    for (const { message: marked } of ending.refused ?? []) {
      desk.init.transcript.update(marked, { ...RUNNER, change: "files-refused", turnId: admitted.turnId });
    }
    const segments = ending.stream?.takeUnflushed() ?? [];
    const left = ending.stream ? ending.stream.finish() : ending.left?.answer;
    const answer = left && closeCalls(left, closingOf(desk, live, { ending, message: left }));
    if (answer) storeAnswer(desk, live, answer);
    closeContinued(desk, live, { ending, hasAnswer: answer !== undefined });
    if (answer && ending.lastUsage) desk.init.transcript.noteUsage?.(answer.id, ending.lastUsage);
    const messageStored = answer !== undefined || ending.left?.isStored === true;
    appendOutcome(desk, open, {
      segments,
      ownerId: messageStored ? admitted.messageId : ownerOf(desk, admitted),
      outcome: {
        type: "turn-settled",
        turnId: turnId(admitted.turnId),
        attempt: null,
        at: desk.now(),
        outcome: RECORDED[ending.status],
        reason: ending.reason ?? null,
        error: ending.error === undefined ? null : { code: "turn-failed", message: ending.error },
        output: (ending.output ?? null) as Json,
        messageStored,
        chunkCount: (ending.stream ?? ending.left)?.chunkCount ?? 0,
        responds: desk.init.hooks.wantsResponse && isAnswer(ending)
      }
    });
    keepOutcome(desk, live, { ...ending, answer });
    if (ending.status !== "skipped") {
      row.failedTurn =
        ending.error === undefined
          ? null
          : { requestId: view.requestId, text: ending.error, messageIds: view.inputMessageIds };
    }
    return answer;
  });
  return {
    status: ending.status,
    ...(ending.reason !== undefined && { reason: ending.reason }),
    ...(ending.error !== undefined && { error: ending.error }),
    ...(message && { message }),
    ...(ending.output !== undefined && { output: ending.output }),
    streamed: ending.streamed ?? false,
    ...(ending.givenUp && { givenUp: true })
  };
}

interface Outcome {
  readonly segments: readonly StreamRecord[];
  readonly outcome: TurnSettled;
  /** The message that the turn's history goes with. */
  readonly ownerId: string | null;
}

/** The outcome, and what stays known of the turn when its records are gone. */
function appendOutcome({ init }: Desk, open: OpenTurn | undefined, { segments, outcome, ownerId }: Outcome): void {
  const before = open && outlineTurn(init, open);
  const records = [...segments, outcome];
  const { first } = init.journal.writer.append(records);
  if (!before) return;
  const entries = records.map((record, index) => ({ sequence: first + index, record }));
  init.journal.history.settled(foldTurn(before, entries), ownerId);
}

/** Without an answer: the last message it was asked with, or the newest of the conversation. */
function ownerOf({ init: { transcript } }: Desk, { inputMessageIds }: TurnAdmitted): string | null {
  return inputMessageIds.findLast((id) => transcript.has(id)) ?? transcript.leafId;
}

/** For calls that are made again under the turn's key. */
function keepOutcome(desk: Desk, live: LiveTurn, ended: Ending & { readonly answer: UIMessage | undefined }): void {
  const { idempotencyId } = notesOf(live.admitted);
  const { status, reason, output, answer } = ended;
  if (idempotencyId === undefined || status === "error") return;
  const { turnId: id, requestId } = live.view;
  desk.init.idempotency.keepTurn(idempotencyId, {
    turnId: id,
    requestId,
    status,
    ...(reason !== undefined && { reason }),
    ...(answer && { messageId: answer.id }),
    ...(output !== undefined && { output })
  });
}

/**
 * Ends a turn whose admission cannot be read: nobody knows what was asked, and it must not hold up the queue. Clients are
 * told, now and when they join later, unless the conversation was cleared since: then nobody waits for it.
 */
export function settleUnreadable(desk: Desk, open: OpenTurn): void {
  const { conversation, hooks, emit } = desk.init;
  const { requestId } = open;
  const isCleared = open.generation !== conversation.row.generation;
  const unreadable = new TurnUnreadableError(open.turnId);
  const context = { requestId, stage: "recovery", messagesPersisted: false } as const;
  const text = isCleared ? unreadable.message : hooks.describeFailure(unreadable, context);
  conversation.transaction((row) => {
    appendOutcome(desk, open, {
      segments: [],
      ownerId: desk.init.transcript.leafId,
      outcome: {
        type: "turn-settled",
        turnId: turnId(open.turnId),
        attempt: null,
        at: desk.now(),
        outcome: "failed",
        reason: "unreadable",
        error: { code: unreadable.code, message: text },
        output: null,
        messageStored: false,
        chunkCount: 0,
        responds: false
      }
    });
    if (!isCleared) row.failedTurn = { requestId, text, messageIds: [] };
  });
  if (isCleared) return;
  emit("chat:request:failed", { ...context, error: text, ...failureDetails(unreadable) });
  const view: TurnView = { ...UNREAD, turnId: open.turnId, requestId };
  desk.readers.settled(view, { status: "error", reason: "unreadable", error: text, streamed: false, givenUp: true });
}

/** What nobody knows of a turn that cannot be read. */
const UNREAD = {
  messageId: "",
  trigger: "ws-chat",
  continuation: false,
  inputMessageIds: [],
  origin: undefined
} as const;
/** The stored answer that the turn extends, and the one whose decided calls it runs without extending it. */
export function continuedMessages(
  { init: { transcript } }: Desk,
  { admitted }: LiveTurn
): { base: UIMessage | undefined; earlier: UIMessage | undefined } {
  const { extends: isExtension, resolves } = notesOf(admitted);
  return {
    base: isExtension ? transcript.get(admitted.messageId) : undefined,
    earlier: resolves === undefined ? undefined : transcript.get(resolves)
  };
}

/** No turn goes on from the answers to this message any more: what was allowed there is not run. */
export function abandonCalls(desk: Desk, messageId: string): void {
  const { transcript, hooks } = desk.init;
  const stored = transcript.get(messageId);
  if (!stored) return;
  const runs = new Set(approvedCalls(stored).map(({ toolCallId }) => toolCallId));
  const closing = { runs, started: new Set<string>(), repairPart: (part: MessagePart) => hooks.repairPart(part) };
  putClosed(desk, stored, closeCalls(stored, closing));
}

/** A message that the turn continued and that is not its answer: what it was to run there will not be run any more. */
function closeContinued(
  desk: Desk,
  live: LiveTurn,
  { ending, hasAnswer }: { ending: Ending; hasAnswer: boolean }
): void {
  const { extends: isExtension, resolves } = notesOf(live.admitted);
  const messageId = resolves ?? (isExtension && !hasAnswer ? live.admitted.messageId : undefined);
  const stored = messageId === undefined ? undefined : desk.init.transcript.get(messageId);
  if (!stored) return;
  const message = ending.left?.earlier ?? stored;
  putClosed(desk, stored, closeCalls(message, closingOf(desk, live, { ending, message })));
}

function putClosed({ init, readers }: Desk, stored: UIMessage, closed: UIMessage): void {
  if (closed === stored) return;
  init.transcript.update(closed, { ...RUNNER, change: "calls-closed" });
  // A clear takes it away in the same transaction.
  init.conversation.afterCommit(() => init.transcript.has(closed.id) && readers.messageUpdated(closed));
}

function closingOf(
  { init: { hooks, conversation } }: Desk,
  live: LiveTurn,
  { ending: { stream }, message }: { ending: Ending; message: UIMessage }
): ClosingCalls {
  // Without a stream nothing was run. What was allowed since then is the next continuation's.
  const isArmed = conversation.row.armedContinuations.some(({ messageId }) => messageId === message.id);
  const approved = isArmed ? [] : approvedCalls(message).map(({ toolCallId }) => toolCallId);
  return {
    runs: stream?.runs ?? new Set(approved),
    started: stream?.started ?? new Set(),
    repairPart: (part) => hooks.repairPart(part, live.view.requestId)
  };
}

/** Hooks hear of turns that reached the model, whatever came of it. */
export function isAnswer(ending: Ending): boolean {
  const reachedModel = ending.stream !== undefined || ending.left !== undefined;
  return reachedModel && ending.reason !== "cleared" && ending.status !== "skipped";
}

/** The turn's time has come: its messages join the conversation. Those that are already there stay as they are. */
export function placeInput(desk: Desk, live: LiveTurn): void {
  // Stored by `admit` as the messages they are.
  for (const message of live.admitted.input as readonly unknown[] as readonly UIMessage[]) {
    desk.init.transcript.append(message, ALREADY_RECORDED);
  }
}

export function storeAnswer(desk: Desk, live: LiveTurn, answer: UIMessage): void {
  const { transcript } = desk.init;
  const isNew = transcript.append(answer, ALREADY_RECORDED, live.admitted.parentMessageId ?? undefined);
  // It extends an earlier answer, or an interruption stored what there was of it.
  if (!isNew) transcript.update(answer, ALREADY_RECORDED);
}
