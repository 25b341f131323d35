// Plain AI SDK clients: each request is answered by one stream of chunks. The same commands and the same listeners as the
// `cf_agent_*` protocol, without its frames: what is asked goes through `Submit`, what is answered through the engine, and
// what is sent is what the engine reports. A client that leaves stops nothing; one that comes back is sent all of it.
import type { UIMessage, UIMessageChunk } from "ai";
import type { StepUsage } from "../../../journal/records.ts";
import { isToolPart, messageChunks, openingChunks, partsAfter } from "../../../model/index.ts";
import type { AnswerOutcome } from "../../../turn/answers.ts";
import type { TurnEngine } from "../../../turn/engine.ts";
import type { TurnListener } from "../../../turn/listener.ts";
import { isHalfAnswered } from "../../../turn/tool-answer.ts";
import type { TurnOutcome, TurnView } from "../../../turn/turn.ts";
import { isThenable, whenDone, type MaybePromise } from "../../../util/maybe-promise.ts";
import { RequestDroppedError } from "../../../wire/errors.ts";
import type { Submit } from "../../../wire/submit.ts";
import type { PlainRequest, PostedAnswer } from "./commands.ts";
import { PlainReader, type PlainReaderInit } from "./reader.ts";

/** Clients that are sent an answer at one time. */
export const READER_LIMIT = 1_000;

export interface PlainChatInit {
  readonly turns: TurnEngine;
  readonly submit: Submit;
  readonly newId: () => string;
}

type PlainRefusal = "failed" | "dropped" | "not-allowed";

/** Over HTTP. */
export const REFUSAL_STATUS: Readonly<Record<PlainRefusal, number>> = { failed: 422, dropped: 409, "not-allowed": 403 };

/** What became of a request: its reader is served, or was refused with this. */
export type PlainResult =
  { readonly kind: "following" } | { readonly kind: "refused"; readonly errorText: string; readonly why: PlainRefusal };

const FOLLOWING: PlainResult = { kind: "following" };

export class PlainChat implements TurnListener {
  readonly #init: PlainChatInit;
  readonly #readers = new Set<PlainReader>();

  constructor(init: PlainChatInit) {
    this.#init = init;
    init.turns.listen(this);
  }

  reader(init: Omit<PlainReaderInit, "onCut">): PlainReader {
    return new PlainReader({ ...init, onCut: (reader) => void this.#readers.delete(reader) });
  }

  // ── What clients ask ──

  /** Asks, answers tool calls, or both; the reader is sent what comes of it. */
  send(request: PlainRequest, reader: PlainReader): MaybePromise<PlainResult> {
    const { continues, answers, messages } = request;
    return whenDone(this.#answer(answers, reader, continues !== undefined), (refusal) => {
      if (refusal) return refusal;
      const shown = messages.find(({ id }) => id === continues);
      return shown ? this.#continue(shown, reader) : this.#ask(request, reader);
    });
  }

  /** No further reader is taken. */
  get isFull(): boolean {
    return this.#readers.size >= READER_LIMIT;
  }

  /** False: there is nothing that the client could be missing. */
  resume(reader: PlainReader): boolean {
    const { turns } = this.#init;
    const open = turns.streaming() ?? this.#waiting();
    if (open) {
      this.#replay(reader, open);
      return true;
    }
    return this.#replayFailed(reader) || this.#replayEnded(reader);
  }

  /** Stops the turn that the reader is sent. */
  abort(reader: PlainReader): void {
    const { requestId } = reader;
    reader.end();
    this.#readers.delete(reader);
    if (requestId !== undefined) this.#init.turns.cancel(requestId);
  }

  /** Stops what runs and what waits. */
  stop(): void {
    this.#init.turns.cancelAll("cancelled");
  }

  /** What the turn that the reader is sent has used. */
  usageOf({ requestId }: PlainReader): StepUsage | undefined {
    return requestId === undefined ? undefined : this.#init.turns.usageOf(requestId);
  }

  // ── What the engine reports ──

  accepted(turn: TurnView): void {
    const { origin, requestId, messageId } = turn;
    if (!(origin instanceof PlainReader) || origin.requestId !== requestId) return;
    origin.follow(requestId, messageId);
    this.#readers.add(origin);
  }

  chunk(turn: TurnView, { body }: { readonly body: string }): void {
    for (const reader of this.#of(turn)) reader.chunk(body);
  }

  messageUpdated(message: UIMessage): void {
    for (const reader of this.#readers) if (reader.messageId === message.id) reader.catchUp(message);
  }

  settled(turn: TurnView, outcome: TurnOutcome): void {
    for (const reader of this.#of(turn)) finish(reader, outcome);
    // Theirs, too: the turn is not open any more.
    this.#releaseForgotten();
  }

  transcriptChanged(): void {
    this.#releaseForgotten();
  }

  cleared(): void {
    this.#releaseForgotten();
  }

  reset(): void {
    this.#releaseForgotten();
  }

  // ── Requests ──

  /** Only calls that wait: a client posts outcomes that it was given, too. The result: of a decision not its to make. */
  #answer(
    answers: readonly PostedAnswer[],
    origin: PlainReader,
    autoContinue: boolean
  ): MaybePromise<PlainResult | undefined> {
    if (answers.length === 0) return undefined;
    const { turns } = this.#init;
    const waiting = waitingCalls(turns.transcript());
    const outcomes = answers
      .filter(({ toolCallId }) => waiting.has(toolCallId))
      .map((answer) => {
        const { toolCallId } = answer;
        if (answer.kind === "approval") {
          return turns.answerApproval({ toolCallId, approved: answer.approved, autoContinue, origin });
        }
        const { output, errorText } = answer;
        const failure = errorText !== undefined && { errorText };
        return turns.answerTool({ toolCallId, output, ...failure, autoContinue, origin });
      });
    const isAtOnce = (outcome: MaybePromise<AnswerOutcome>): outcome is AnswerOutcome => !isThenable(outcome);
    return outcomes.every(isAtOnce) ? refusalIn(outcomes) : Promise.all(outcomes).then(refusalIn);
  }

  /** The reader's client shows this much of an answer, and waits for the rest of it. */
  #continue(shown: UIMessage, reader: PlainReader): PlainResult {
    const { turns } = this.#init;
    const stored = turns.transcript().find(({ id }) => id === shown.id);
    const next = turns.continuationOf(shown.id);
    reader.shows(shown);
    if (stored) reader.catchUp(stored);
    // Nothing goes on before the other calls are answered.
    if (next && stored && !isHalfAnswered(stored)) this.#join(reader, { ...next, messageId: shown.id });
    else {
      if (!next) {
        // Another client's answer came first, and the conversation has gone on from it.
        if (stored) reader.chunks(partsAfter(stored, shown.parts.length));
        reader.chunks(stepOver(shown.id));
      }
      reader.end();
    }
    return FOLLOWING;
  }

  /**
   * Asks what is new. A question that is stored as it was posted is asked once, however often it is delivered. Other words
   * under a stored id are another question, unless the client names the id: terminals count their messages from 1.
   */
  #ask(request: PlainRequest, reader: PlainReader): PlainResult {
    const { turns, submit, newId } = this.#init;
    const { messages, trigger, asksAgain } = request;
    const question = messages.at(-1);
    if (trigger !== "submit-message" || question?.role !== "user" || asksAgain) return this.#submit(request, reader);
    const shown = turns.transcript();
    const place = shown.findIndex(({ id }) => id === question.id);
    if (place === -1) return this.#submit(request, reader);
    const isNewest = !shown.slice(place + 1).some(({ role }) => role === "user");
    const isRepeated = isNewest && !submit.isNews(messages);
    if (!isRepeated)
      return this.#submit({ ...request, messages: messages.with(-1, { ...question, id: newId() }) }, reader);
    const open = turns.answering(question.id);
    const answer = shown[place + 1];
    if (open) this.#join(reader, open);
    else if (!answer || turns.failed()?.messageIds.includes(question.id)) return this.#submit(request, reader);
    else {
      reader.chunks(messageChunks(answer));
      reader.end();
    }
    return FOLLOWING;
  }

  #submit(request: PlainRequest, reader: PlainReader): PlainResult {
    const { turns, submit, newId } = this.#init;
    const requestId = newId();
    const { messages, trigger, clientTools, custom } = request;
    // Before it is accepted: from then on the engine reports.
    reader.expect(requestId);
    const submitted = submit.receive({ type: "request", requestId, messages, trigger, clientTools, custom }, reader);
    switch (submitted.kind) {
      case "accepted": {
        const { plan } = submitted;
        // Admission announces the messages that join, not those that changed.
        if (plan.changesStored && plan.input.length === 0) turns.announceTranscript();
        return FOLLOWING;
      }
      case "dropped":
        return { kind: "refused", errorText: new RequestDroppedError().message, why: "dropped" };
      case "failed":
        return { kind: "refused", errorText: submitted.errorText, why: "failed" };
      case "repeated":
      case "ended-before":
        // The id was made for it.
        throw new TypeError(`The request ${requestId} is known already.`);
    }
  }

  // ── Streams ──

  /** The reader's client has asked for this turn, or shows what it extends. */
  #join(reader: PlainReader, turn: TurnView): void {
    reader.follow(turn.requestId, turn.messageId);
    const replay = this.#init.turns.replay(turn.requestId);
    for (const { body } of replay?.chunks ?? []) reader.chunk(body);
    if (reader.isOpen) this.#readers.add(reader);
  }

  /** The reader's client starts anew: it is sent the whole answer, also what the turn extends. */
  #replay(reader: PlainReader, turn: TurnView): void {
    const extended = turn.continuation
      ? this.#init.turns.transcript().find(({ id }) => id === turn.messageId)
      : undefined;
    if (extended) reader.chunks(openingChunks(extended));
    this.#join(reader, turn);
  }

  /** The accepted turn that comes next. One that waits for a person may never come. */
  #waiting(): TurnView | undefined {
    const { turns } = this.#init;
    const next = turns.waiting();
    if (!next || turns.isOpen(next.requestId)) return next;
    const answer = turns.transcript().find(({ id }) => id === next.messageId);
    return answer && !isHalfAnswered(answer) ? next : undefined;
  }

  /** What is stored of its answer, and why it ended. */
  #replayFailed(reader: PlainReader): boolean {
    const { turns } = this.#init;
    const failed = turns.failed();
    if (!failed) return false;
    const messageId = turns.replay(failed.requestId)?.turn.messageId;
    const stored = turns.transcript().find(({ id }) => id === messageId);
    if (stored) reader.chunks(openingChunks(stored));
    reader.fail(failed.text);
    return true;
  }

  /**
   * The newest answer, while its records are kept. What the client shows is not known: it may have lost the stream, or been
   * rendered before the end. One that has all of it shows the same afterwards.
   */
  #replayEnded(reader: PlainReader): boolean {
    const { turns } = this.#init;
    const answer = turns.transcript().at(-1);
    if (!answer || turns.lastAnswerId() !== answer.id) return false;
    reader.chunks(messageChunks(answer));
    reader.end();
    return true;
  }

  #of({ requestId }: TurnView): PlainReader[] {
    return [...this.#readers].filter((reader) => reader.requestId === requestId);
  }

  /** Readers of a turn that will not come: its conversation was cleared, or another branch was chosen. */
  #releaseForgotten(): void {
    const { turns } = this.#init;
    for (const reader of this.#readers) {
      const { requestId, messageId } = reader;
      if (requestId === undefined || turns.isOpen(requestId)) continue;
      if (messageId !== undefined && turns.continuationOf(messageId)?.requestId === requestId) continue;
      this.#readers.delete(reader);
      reader.end();
    }
  }
}

function finish(reader: PlainReader, outcome: TurnOutcome): void {
  if (outcome.message) reader.catchUp(outcome.message);
  if (outcome.status === "error") return reader.fail(outcome.error ?? "The turn failed.");
  if (outcome.status === "aborted") reader.chunks([{ type: "abort" }]);
  reader.end();
}

/**
 * A client that posts as soon as all calls of the last step have outcomes would post the same answer for ever: the step is
 * over. It takes note of a new step with the next chunk that changes the message.
 */
function stepOver(messageId: string): UIMessageChunk[] {
  return [{ type: "start-step" }, { type: "finish-step" }, { type: "start", messageId }];
}

function refusalIn(outcomes: readonly AnswerOutcome[]): PlainResult | undefined {
  for (const outcome of outcomes) {
    if (outcome.changed || outcome.refused?.reason !== "not-allowed") continue;
    return { kind: "refused", errorText: outcome.refused.message, why: "not-allowed" };
  }
  return undefined;
}

/** Calls of the conversation that wait for an answer from outside. */
function waitingCalls(messages: readonly UIMessage[]): Set<string> {
  const waiting = new Set<string>();
  for (const part of messages.flatMap(({ parts }) => parts)) {
    if (!isToolPart(part)) continue;
    if (part.state === "input-available" || part.state === "approval-requested") waiting.add(part.toolCallId);
  }
  return waiting;
}
