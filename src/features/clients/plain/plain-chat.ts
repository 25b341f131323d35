// Plain AI SDK clients: each request is answered by one stream of chunks. They use the same commands and listeners as the
// `cf_agent_*` protocol, without its frames: a question goes through `Submit`, an answer to a call through the engine, and
// clients are sent what the engine reports. A client that leaves stops nothing; one that comes back is sent all of it.
import type { UIMessage, UIMessageChunk } from "ai";
import { addStepUsage } from "../../../journal/folds/turn-fold.ts";
import type { StepUsage } from "../../../journal/records.ts";
import { isToolPart, messageChunks, openingChunks, partsAfter } from "../../../model/index.ts";
import type { AnswerOutcome } from "../../../turn/answers.ts";
import { runtimeOf } from "../../../agent/runtime.ts";
import type { ChatServices } from "../../../feature/services.ts";
import type { TurnListener } from "../../../turn/listener.ts";
import { isHalfAnswered } from "../../../turn/tool-answer.ts";
import type { TurnOutcome, TurnView } from "../../../turn/turn.ts";
import { isThenable, whenDone, type MaybePromise } from "../../../util/maybe-promise.ts";
import { wireErrors } from "../../../wire/errors.ts";
import type { PlainRequest, PostedAnswer } from "./commands.ts";
import { PlainReader, type PlainSink } from "./reader.ts";

/** Clients that are sent an answer at one time. */
export const READER_LIMIT = 1_000;

type PlainRefusal = "failed" | "dropped" | "not-allowed";

/** The status of a refusal over HTTP. */
export const REFUSAL_STATUS: Readonly<Record<PlainRefusal, number>> = { failed: 422, dropped: 409, "not-allowed": 403 };

/** The result of a request: its reader is served, or was refused with this text. */
export type PlainResult =
  { readonly kind: "following" } | { readonly kind: "refused"; readonly errorText: string; readonly why: PlainRefusal };

/** The services of the agent that plain clients use. */
export type PlainServices = Pick<ChatServices, "agent" | "turns" | "submitCommand" | "ids" | "clock">;

const FOLLOWING: PlainResult = { kind: "following" };

export class PlainChat implements TurnListener {
  readonly services: PlainServices;
  readonly #readers = new Set<PlainReader>();

  constructor(services: PlainServices) {
    this.services = services;
    services.turns.listen(this);
  }

  /** Makes the reader of one request; `connection` is its client's, if it has one. */
  newReader(sink: PlainSink, connection?: object): PlainReader {
    return new PlainReader(sink, (reader) => void this.#readers.delete(reader), connection);
  }

  /** Whether the sender of a request may only watch. */
  isReadonly(request: Request): Promise<boolean> {
    return runtimeOf(this.services.agent).connections.isReadonlyRequest(request);
  }

  // ── What clients ask ──

  /** Asks a question, answers tool calls, or both; the reader is sent what comes of it. */
  send(request: PlainRequest, reader: PlainReader): MaybePromise<PlainResult> {
    const { continues, answers, messages } = request;
    return whenDone(this.#answer(answers, reader, continues !== undefined), (refusal) => {
      if (refusal) return refusal;
      const shown = messages.find(({ id }) => id === continues);
      return shown ? this.#continue(shown, reader, this.#ownerOf(answers) ?? shown.id) : this.#ask(request, reader);
    });
  }

  /** Whether no further reader is taken. */
  get isFull(): boolean {
    return this.#readers.size >= READER_LIMIT;
  }

  /** Sends what the client could be missing. False: there is nothing. */
  resume(reader: PlainReader): boolean {
    const open = this.services.turns.streaming() ?? this.#findWaiting();
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
    if (requestId !== undefined) this.services.turns.cancel(requestId);
  }

  /** The tokens that the reader's turn has used. */
  usageOf({ requestIds }: PlainReader): StepUsage | undefined {
    return requestIds.reduce<StepUsage | undefined>((sum, id) => {
      const used = this.services.turns.usageOf(id);
      return used && sum ? addStepUsage(sum, used) : (used ?? sum);
    }, undefined);
  }

  // ── What the engine reports ──

  accepted(turn: TurnView): void {
    const { origin, requestId, messageId } = turn;
    if (!(origin instanceof PlainReader) || origin.requestId !== requestId) return;
    origin.follow(requestId, messageId);
    this.#readers.add(origin);
  }

  chunk(turn: TurnView, { body }: { readonly body: string }): void {
    for (const reader of this.#readersOf(turn)) reader.chunk(body);
  }

  /** Nothing can be taken back from a stream of chunks. The turn goes on; the client loads or resumes its answer. */
  takenBack(turn: TurnView): void {
    for (const reader of this.#readersOf(turn)) {
      reader.fail("The answer was begun anew. Load the conversation again to see it.");
      this.#readers.delete(reader);
    }
  }

  silent(turn: TurnView, sinceMs: number): void {
    for (const reader of this.#readersOf(turn)) reader.silent(sinceMs);
  }

  messageUpdated(message: UIMessage): void {
    for (const reader of this.#readers) if (reader.messageId === message.id) reader.catchUp(message);
  }

  settled(turn: TurnView, outcome: TurnOutcome): void {
    const answerer = this.services.turns.steering.answererOf(turn, outcome);
    for (const reader of this.#readersOf(turn)) {
      // The client waits for the answer of the chain, and is sent it as more of the same message.
      if (answerer) reader.goOn(answerer.requestId, answerer.messageId, outcome.message);
      else finish(reader, outcome);
    }
    // These readers, too: their turn is not open any more.
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

  /**
   * Answers only calls that wait: a client also posts outcomes that it was given. Returns the refusal of a decision that the
   * client may not make.
   */
  #answer(
    answers: readonly PostedAnswer[],
    origin: PlainReader,
    autoContinue: boolean
  ): MaybePromise<PlainResult | undefined> {
    if (answers.length === 0) return undefined;
    const { turns } = this.services;
    const waiting = findWaitingCalls(turns.transcript());
    const outcomes = answers
      .filter(({ toolCallId }) => waiting.has(toolCallId))
      .map((answer) => {
        const { toolCallId } = answer;
        if (answer.kind === "approval") {
          const { kind: _kind, ...decision } = answer;
          return turns.answerApproval({ ...decision, autoContinue, origin });
        }
        const { output, errorText } = answer;
        return turns.answerTool({ toolCallId, output, errorText, autoContinue, origin });
      });
    const isAtOnce = (outcome: MaybePromise<AnswerOutcome>): outcome is AnswerOutcome => !isThenable(outcome);
    return outcomes.every(isAtOnce) ? findRefusal(outcomes) : Promise.all(outcomes).then(findRefusal);
  }

  /** Finds the answer that has the call. A client shows the answers of a chain as one message, under the id of the first. */
  #ownerOf(answers: readonly PostedAnswer[]): string | undefined {
    const ids = new Set(answers.map(({ toolCallId }) => toolCallId));
    const has = (part: UIMessage["parts"][number]) => isToolPart(part) && ids.has(part.toolCallId);
    return this.services.turns.transcript().findLast(({ parts }) => parts.some(has))?.id;
  }

  /** Sends the rest of an answer, stored under `id`, of which the reader's client shows this much. */
  #continue(shown: UIMessage, reader: PlainReader, id: string): PlainResult {
    const { turns } = this.services;
    const stored = this.#find(id);
    const next = turns.continuationOf(id);
    reader.shows(shown);
    if (stored) reader.catchUp(stored);
    // Nothing goes on before the other calls are answered.
    if (next && stored && !isHalfAnswered(stored)) this.#join(reader, { ...next, messageId: id });
    else {
      if (!next) {
        // Another client's answer came first, and the conversation has gone on from it.
        if (stored && id === shown.id) reader.chunks(partsAfter(stored, shown.parts.length));
        reader.chunks(endStep(shown.id));
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
    const { turns, submitCommand, ids } = this.services;
    const { messages, trigger, asksAgain } = request;
    const question = messages.at(-1);
    if (trigger !== "submit-message" || question?.role !== "user" || asksAgain) return this.#submit(request, reader);
    const shown = turns.transcript();
    const place = shown.findIndex(({ id }) => id === question.id);
    if (place === -1) return this.#submit(request, reader);
    const isNewest = !shown.slice(place + 1).some(({ role }) => role === "user");
    const isRepeated = isNewest && !submitCommand.isNews(messages);
    if (!isRepeated)
      return this.#submit({ ...request, messages: messages.with(-1, { ...question, id: ids.next() }) }, reader);
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
    const { turns, submitCommand, ids } = this.services;
    const requestId = ids.next();
    const { messages, trigger, clientTools, custom } = request;
    // Before it is accepted: from then on the engine reports.
    reader.expect(requestId);
    const command = { type: "request" as const, requestId, messages, trigger, clientTools, custom };
    const submitted = submitCommand.receive(command, reader);
    switch (submitted.kind) {
      case "accepted": {
        const { plan } = submitted;
        // Admission announces the messages that join, not those that changed.
        if (plan.changesStored && plan.input.length === 0) turns.announceTranscript();
        return FOLLOWING;
      }
      case "dropped":
        return { kind: "refused", errorText: wireErrors.RequestDroppedError().message, why: "dropped" };
      case "failed":
        return { kind: "refused", errorText: submitted.errorText, why: "failed" };
      case "repeated":
      case "ended-before":
        // The id was made for it.
        throw new TypeError(`The request ${requestId} is known already.`);
    }
  }

  // ── Streams ──

  /** Lets the reader follow a turn that its client has asked for, or whose earlier part the client shows. */
  #join(reader: PlainReader, turn: TurnView): void {
    reader.follow(turn.requestId, turn.messageId);
    const replay = this.services.turns.replay(turn.requestId);
    for (const { body } of replay?.chunks ?? []) reader.chunk(body);
    const silence = this.services.turns.silent();
    if (silence?.turn.requestId === turn.requestId) reader.silent(silence.sinceMs);
    if (reader.isOpen) this.#readers.add(reader);
  }

  /** Sends a client that starts anew the whole answer, also what the turn extends. */
  #replay(reader: PlainReader, turn: TurnView): void {
    const extended = turn.continuation ? this.#find(turn.messageId) : undefined;
    if (extended) reader.chunks(openingChunks(extended));
    this.#join(reader, turn);
  }

  #find(messageId: string | undefined): UIMessage | undefined {
    return this.services.turns.transcript().find(({ id }) => id === messageId);
  }

  /** Finds the accepted turn that comes next. One that waits for a person may never come. */
  #findWaiting(): TurnView | undefined {
    const { turns } = this.services;
    const next = turns.waiting();
    if (!next || turns.isOpen(next.requestId)) return next;
    const answer = this.#find(next.messageId);
    return answer && !isHalfAnswered(answer) ? next : undefined;
  }

  /** Sends what is stored of a failed turn's answer, and why the turn ended. */
  #replayFailed(reader: PlainReader): boolean {
    const { turns } = this.services;
    const failed = turns.failed();
    if (!failed) return false;
    const stored = this.#find(turns.replay(failed.requestId)?.turn.messageId);
    if (stored) reader.chunks(openingChunks(stored));
    reader.fail(failed.text);
    return true;
  }

  /**
   * Sends the newest answer, while its records are kept. What the client shows is not known: it may have lost the stream, or
   * been rendered before the end. One that has all of it shows the same afterwards.
   */
  #replayEnded(reader: PlainReader): boolean {
    const { turns } = this.services;
    const answer = turns.transcript().at(-1);
    if (!answer || turns.lastAnswerId() !== answer.id) return false;
    reader.chunks(messageChunks(answer));
    reader.end();
    return true;
  }

  #readersOf({ requestId }: TurnView): PlainReader[] {
    return [...this.#readers].filter((reader) => reader.requestId === requestId);
  }

  /** Ends readers of a turn that will not come: its conversation was cleared, or another branch was chosen. */
  #releaseForgotten(): void {
    const { turns } = this.services;
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
 * Makes chunks that end a step. A client that posts as soon as all calls of the last step have outcomes would post the same
 * answer for ever. It takes note of a new step with the next chunk that changes the message.
 */
function endStep(messageId: string): UIMessageChunk[] {
  return [{ type: "start-step" }, { type: "finish-step" }, { type: "start", messageId }];
}

function findRefusal(outcomes: readonly AnswerOutcome[]): PlainResult | undefined {
  for (const outcome of outcomes) {
    if (outcome.changed || outcome.refused?.reason !== "not-allowed") continue;
    return { kind: "refused", errorText: outcome.refused.message, why: "not-allowed" };
  }
  return undefined;
}

/** Finds the calls of the conversation that wait for an answer from outside. */
function findWaitingCalls(messages: readonly UIMessage[]): Set<string> {
  const waiting = new Set<string>();
  for (const part of messages.flatMap(({ parts }) => parts)) {
    if (!isToolPart(part)) continue;
    if (part.state === "input-available" || part.state === "approval-requested") waiting.add(part.toolCallId);
  }
  return waiting;
}
