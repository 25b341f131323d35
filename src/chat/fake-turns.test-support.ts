// A turn engine that does what a test tells it, with the engine's own order of announcements: accepted, then the
// transcript, then the stream, then the outcome. Chunks are folded as the real one does, so transcripts are real.
import type { UIMessage, UIMessageChunk } from "ai";
import type { FailedTurn } from "../journal/conversation.ts";
import type { ClientTool } from "../journal/records.ts";
import { closeOpenParts, continueFold, foldChunk, foldedMessage, startFold } from "../model/message-fold.ts";
import type { MessageFold } from "../model/message-fold.ts";
import type { Admission, TurnTicket } from "../turn/admit.ts";
import { trailingUserIds } from "../turn/admit.ts";
import { TurnListeners } from "../turn/listener.ts";
import type { ToolPart } from "../model/tool-part.ts";
import { ToolAnswerError } from "../turn/errors.ts";
import { isHalfAnswered, withApproval, withToolResult } from "../turn/tool-answer.ts";
import type { TurnOutcome, TurnView } from "../turn/turn.ts";
import type { AnswerOutcome, ApprovalAnswer, RecoveringTurn, Replay, ToolResultAnswer, Turns } from "../turn/turns.ts";

interface FakeTurn {
  readonly view: TurnView;
  readonly admission: Admission;
  readonly chunks: { seq: number; body: string }[];
  fold: MessageFold;
  isPlaced: boolean;
  isStreaming: boolean;
  outcome: TurnOutcome | undefined;
}

export class FakeTurns implements Turns {
  readonly readers = new TurnListeners();
  readonly admissions: Admission[] = [];
  readonly cancelled: string[] = [];
  path: UIMessage[] = [];
  failedTurn: FailedTurn | null = null;
  recoveringTurn: RecoveringTurn | undefined;
  clientTools: readonly ClientTool[] = [];
  body: Record<string, unknown> | undefined;
  generation = 0;
  /** Times the whole transcript was read. */
  transcriptReads = 0;
  /** Thrown by the next admission. */
  admissionFailure: Error | undefined;
  /** Hears of every message written, before any reader is told, as the store's own observers do. */
  onWrite: (messageId: string, kind: "appended" | "updated") => void = () => undefined;
  readonly #turns: FakeTurn[] = [];
  #armed: { view: TurnView } | undefined;
  #count = 0;

  refuseNested(): void {}

  recovering(): RecoveringTurn | undefined {
    return this.recoveringTurn;
  }

  /** The turn is interrupted, or its recovery is over. */
  recover(requestId: string | undefined, since = 0): void {
    this.recoveringTurn = requestId === undefined ? undefined : { requestId, since };
    this.readers.interrupted({
      turnId: "interrupted",
      requestId: requestId ?? "",
      messageId: "answer",
      trigger: "ws-chat",
      continuation: false,
      inputMessageIds: [],
      origin: undefined
    });
  }

  stash(): void {}

  admit(admission: Admission): TurnTicket {
    if (this.admissionFailure) throw this.admissionFailure;
    this.admissions.push(admission);
    if (admission.trigger === "ws-chat") this.failedTurn = null;
    const turn = this.#newTurn(admission);
    const input = inputOf(admission);
    if (this.#open().length === 0) this.#place(turn);
    this.#turns.push(turn);
    this.readers.accepted(turn.view);
    if (input.length > 0) this.readers.transcriptChanged(turn.view.origin);
    const { turnId, requestId } = turn.view;
    return { turnId, requestId, settled: new Promise(() => undefined) };
  }

  cancel(requestId: string): void {
    this.cancelled.push(requestId);
    const turn = this.#open().find(({ view }) => view.requestId === requestId);
    if (turn) this.settle(requestId, { status: "aborted", reason: "cancelled" });
  }

  cancelAll(): void {
    for (const { view } of this.#open()) this.cancel(view.requestId);
  }

  fail(requestId: string): void {
    this.cancel(requestId);
  }

  clear(origin?: unknown): void {
    this.recoveringTurn = undefined;
    this.generation += 1;
    this.path = [];
    this.clientTools = [];
    this.body = undefined;
    this.failedTurn = null;
    this.#armed = undefined;
    const ended = this.#open().map((turn): [FakeTurn, TurnOutcome] => {
      const status = turn.isStreaming ? "aborted" : "skipped";
      turn.outcome = { status, reason: "cleared", streamed: turn.isStreaming };
      return [turn, turn.outcome];
    });
    for (const [turn, outcome] of ended) this.readers.settled(turn.view, outcome);
    for (const turn of this.#turns) turn.chunks.length = 0;
    this.readers.cleared(origin);
  }

  answerTool({ autoContinue, origin, clientTools, ...result }: ToolResultAnswer): AnswerOutcome {
    const { toolCallId } = result;
    const isClients = ({ clientExecuted }: ToolPart) => clientExecuted === true;
    const answered = this.#answer(toolCallId, (message) => withToolResult(message, result, isClients));
    if (!answered.changed) return answered;
    if (clientTools) this.clientTools = clientTools;
    if (autoContinue) this.#arm(answered.message.id, origin);
    this.#continueIfReady();
    return answered;
  }

  answerApproval({ toolCallId, approved, autoContinue, origin }: ApprovalAnswer): AnswerOutcome {
    const answered = this.#answer(toolCallId, (message) => withApproval(message, toolCallId, approved));
    if (answered.changed && autoContinue) this.#arm(answered.message.id, origin);
    if (answered.changed) this.#continueIfReady();
    else if (!answered.refused) return { changed: false, refused: new ToolAnswerError("not-open") };
    return answered;
  }

  listen: Turns["listen"] = (listener) => this.readers.add(listener);

  streaming(): TurnView | undefined {
    return this.#open().find((turn) => turn.isStreaming)?.view;
  }

  waiting(): TurnView | undefined {
    return this.#open().findLast((turn) => !turn.isStreaming)?.view ?? this.#armed?.view;
  }

  isBusy(): boolean {
    return this.#open().length > 0;
  }

  failed(): FailedTurn | null {
    return this.failedTurn;
  }

  replay(requestId: string): Replay | undefined {
    const turn = this.#turns.findLast(({ view }) => view.requestId === requestId);
    return turn && { turn: turn.view, chunks: [...turn.chunks], state: turn.outcome?.status ?? "live" };
  }

  transcript(): UIMessage[] {
    this.transcriptReads += 1;
    return this.shown();
  }

  /** The same, for the test itself. */
  shown(): UIMessage[] {
    const unplaced = this.#open().filter((turn) => !turn.isPlaced);
    return [...this.path, ...unplaced.flatMap(({ admission }) => inputOf(admission))];
  }

  rememberClient(client: { tools?: readonly ClientTool[]; body?: Record<string, unknown> | null }): void {
    if (client.tools) this.clientTools = client.tools;
    if (client.body !== undefined) this.body = client.body ?? undefined;
  }

  /** Opens the stream of the oldest turn, with its `start`. */
  start(): TurnView {
    const turn = this.#oldest();
    if (!turn.isPlaced) {
      this.#place(turn);
      if (inputOf(turn.admission).length > 0) this.readers.transcriptChanged(turn.view.origin);
    }
    turn.isStreaming = true;
    this.readers.streaming(turn.view);
    const { continuation, messageId } = turn.view;
    this.chunk(continuation ? { type: "start" } : { type: "start", messageId });
    return turn.view;
  }

  chunk(chunk: UIMessageChunk): void {
    const turn = this.#oldest();
    turn.fold = foldChunk(turn.fold, chunk);
    const stored = { seq: turn.chunks.length, body: JSON.stringify(chunk) };
    turn.chunks.push(stored);
    this.readers.chunk(turn.view, stored);
  }

  text(...deltas: string[]): void {
    this.chunk({ type: "text-start", id: "t" });
    for (const delta of deltas) this.chunk({ type: "text-delta", id: "t", delta });
    this.chunk({ type: "text-end", id: "t" });
  }

  /** A call that only a client can answer, or one that waits for approval. */
  call(toolCallId: string, waitsFor: "client" | "approval" = "client"): void {
    const clientExecuted = waitsFor === "client";
    this.chunk({
      type: "tool-input-available",
      toolCallId,
      toolName: "t",
      input: {},
      ...(clientExecuted && { clientExecuted })
    });
    if (!clientExecuted)
      this.chunk({ type: "tool-approval-request", toolCallId, approvalId: `approval-${toolCallId}` });
  }

  /** Ends the oldest turn, or the named one. */
  settle(requestId?: string, ending: Partial<TurnOutcome> = {}): void {
    const turn = this.#open().find(({ view }) => requestId === undefined || view.requestId === requestId);
    if (!turn) throw new Error("No such turn.");
    if (!turn.isPlaced) this.#place(turn);
    const message = closeOpenParts(foldedMessage(turn.fold));
    const isStored = turn.isStreaming && message.parts.length > 0;
    if (isStored) this.#store(turn, message);
    const status = ending.status ?? "completed";
    turn.outcome = { status, ...ending, ...(isStored && { message }), streamed: turn.isStreaming };
    const { view } = turn;
    if (status === "error") {
      this.failedTurn = { requestId: view.requestId, text: ending.error ?? "", messageIds: view.inputMessageIds };
    } else if (status !== "skipped") this.failedTurn = null;
    this.readers.settled(view, turn.outcome);
    this.#continueIfReady();
  }

  /** A whole turn with a one-word answer. */
  answer(word = "hello"): void {
    this.start();
    this.text(word);
    this.settle();
  }

  #newTurn(admission: Admission): FakeTurn {
    this.#count += 1;
    const messageId = admission.extendsMessageId ?? `a${this.#count}`;
    const extended = this.path.find(({ id }) => id === admission.extendsMessageId);
    return {
      view: {
        turnId: `turn${this.#count}`,
        requestId: admission.requestId,
        messageId,
        trigger: admission.trigger,
        continuation: admission.continuation ?? false,
        inputMessageIds: trailingUserIds(inputOf(admission)),
        origin: admission.origin
      },
      admission,
      chunks: [],
      fold: extended ? continueFold(extended) : startFold(messageId),
      isPlaced: false,
      isStreaming: false,
      outcome: undefined
    };
  }

  #place(turn: FakeTurn): void {
    turn.isPlaced = true;
    for (const message of inputOf(turn.admission)) this.append(message);
  }

  append(message: UIMessage): void {
    this.path = [...this.path, message];
    this.onWrite(message.id, "appended");
  }

  #store(turn: FakeTurn, message: UIMessage): void {
    const known = this.path.findIndex(({ id }) => id === message.id);
    const parent = this.path.findIndex(({ id }) => id === turn.admission.parentMessageId);
    if (known >= 0) this.path = this.path.with(known, message);
    else if (parent >= 0) this.path = [...this.path.slice(0, parent + 1), message];
    else this.path = [...this.path, message];
    this.onWrite(message.id, known >= 0 ? "updated" : "appended");
  }

  #answer(toolCallId: string, change: (message: UIMessage) => ReturnType<typeof withApproval>): AnswerOutcome {
    const index = this.path.findIndex((message) => message.parts.some((part) => isCall(part, toolCallId)));
    const stored = this.path[index];
    const message = stored && change(stored);
    if (!stored || !message) return { changed: false };
    if ("refused" in message) {
      return { changed: false, refused: new ToolAnswerError(message.refused), message: stored };
    }
    this.path = this.path.with(index, message);
    this.onWrite(message.id, "updated");
    this.readers.messageUpdated(message);
    return { changed: true, message };
  }

  #arm(messageId: string, origin: unknown): void {
    if (this.#armed) return;
    this.#count += 1;
    const requestId = `continuation${this.#count}`;
    const identity = { turnId: requestId, requestId, messageId, inputMessageIds: [] };
    this.#armed = { view: { ...identity, trigger: "auto-continuation", continuation: true, origin } };
  }

  #continueIfReady(): void {
    const view = this.#armed?.view;
    const message = this.path.find(({ id }) => id === view?.messageId);
    if (!view || !message || this.isBusy() || isHalfAnswered(message)) return;
    this.#armed = undefined;
    const { requestId, messageId, trigger, origin } = view;
    this.admit({ requestId, trigger, input: [], continuation: true, extendsMessageId: messageId, origin });
  }

  #open(): FakeTurn[] {
    return this.#turns.filter((turn) => turn.outcome === undefined);
  }

  #oldest(): FakeTurn {
    const turn = this.#open()[0];
    if (!turn) throw new Error("No turn is open.");
    return turn;
  }
}

function inputOf({ input }: Admission): readonly UIMessage[] {
  return typeof input === "function" ? [] : input;
}

function isCall(part: object, toolCallId: string): boolean {
  return "toolCallId" in part && part.toolCallId === toolCallId;
}
