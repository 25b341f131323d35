// Answers from outside to calls that wait, and the continuations they start. An answer and the continuation it asks for
// are one state change. A call waits as long as it takes, also while later turns run: the continuation of the newest
// answer extends it, and one of an earlier answer goes on at the end of the conversation, where the model sees both.
import type { UIMessage } from "ai";
import type { ArmedContinuation } from "../journal/conversation.ts";
import type { ApprovalAnswered, CallOutcome, CallSettled, RecordedClientTool } from "../journal/records.ts";
import { toolNameOf, type ToolPart } from "../model/index.ts";
import { approvalId, callId } from "../util/ids.ts";
import type { Json } from "../util/json.ts";
import type { MaybePromise } from "../util/maybe-promise.ts";
import type { Admission } from "./admit.ts";
import { toolPartOf } from "./tool-calls.ts";
import type { TurnEngine } from "./engine.ts";
import { ToolAnswerError } from "./errors.ts";
import type { ChatDecision, TakenDecision } from "./hooks.ts";
import type { TurnStore } from "./store.ts";
import { isHalfAnswered, withApproval, withToolResult, type Answered } from "./tool-answer.ts";
import { viewWithoutAdmission, type TurnView } from "./turn.ts";

/** Between the last answer and the continuation, so that a client that asks right after its answer finds it waiting. */
export const CONTINUATION_PAUSE_MS = 50;

/** Answers that wait for their other calls. Beyond it the oldest is forgotten; its last answer asks for it again. */
export const MAX_ARMED = 100;

/** The result of a client's answer to a tool call. */
export type AnswerOutcome =
  | { readonly changed: true; readonly message: UIMessage }
  /** Without `refused`: a repetition, or a result of a call that is not known. `message`: what holds the call, as it is. */
  | { readonly changed: false; readonly refused?: ToolAnswerError; readonly message?: UIMessage };

export interface ToolResultAnswer {
  readonly toolCallId: string;
  readonly output: unknown;
  /** Set: the tool failed, or the user refused it with a text of their own. */
  readonly errorText?: string;
  readonly autoContinue: boolean;
  /** What the client runs from now on. Nothing is said by a list that comes with a refused answer. */
  readonly clientTools?: readonly RecordedClientTool[];
  readonly origin?: unknown;
}

/** `reason` is shown to the model; a name that the class knows takes the place of `by`. */
export interface ApprovalAnswer extends Omit<ChatDecision, "part" | "message"> {
  readonly toolCallId: string;
  readonly autoContinue: boolean;
  readonly origin?: unknown;
}

/** What is recorded of an answer; when and to which turn is known where it is applied. */
type AnswerRecord = Omit<CallSettled, "turnId" | "at"> | Omit<ApprovalAnswered, "turnId" | "at">;

/** One answer, as it is applied to whatever message holds the call. */
interface Applied extends Pick<ApprovalAnswer, "toolCallId" | "autoContinue" | "origin"> {
  readonly why: "tool-result" | "approval";
  readonly taken: TakenDecision;
  /** `isStored`: the message is not being streamed. */
  change(message: UIMessage, isStored: boolean): Answered;
  record(answered: UIMessage): AnswerRecord;
  /** Part of the same state change. */
  applied?(): void;
}

export class Answers {
  readonly #store: TurnStore;
  readonly #turns: TurnEngine;
  /** Who armed a continuation, by its request, while this process lives. */
  readonly #origins = new Map<string, unknown>();

  constructor(store: TurnStore, turns: TurnEngine) {
    this.#store = store;
    this.#turns = turns;
  }

  /** An error for a call that waits for approval is a rejection of it. */
  answerTool(answer: ToolResultAnswer): MaybePromise<AnswerOutcome> {
    const { toolCallId, errorText: reason } = answer;
    const asked = reason === undefined ? undefined : this.#asked(toolCallId);
    // Of any other call a client's error is no decision.
    if (asked?.part.state !== "approval-requested") return this.#takeResult(answer, {});
    return this.#decide({ ...asked, approved: false, reason }, (taken) => this.#takeResult(answer, taken));
  }

  answerApproval(answer: ApprovalAnswer): MaybePromise<AnswerOutcome> {
    const { toolCallId, ...given } = answer;
    const asked = this.#asked(toolCallId);
    if (!asked) return { changed: false, refused: new ToolAnswerError("not-open") };
    return this.#decide({ ...given, ...asked }, (taken) => this.#takeApproval(answer, taken));
  }

  #decide(decision: ChatDecision, take: (taken: TakenDecision) => AnswerOutcome): MaybePromise<AnswerOutcome> {
    const { decideCall } = this.#store.init.hooks;
    return decideCall ? decideCall(decision, take) : take({});
  }

  #takeResult(
    { toolCallId, output, errorText, clientTools, ...answer }: ToolResultAnswer,
    taken: TakenDecision
  ): AnswerOutcome {
    const result = { toolCallId, output, errorText };
    const outcome: CallOutcome =
      errorText === undefined ? { kind: "output", output: (output ?? null) as Json } : { kind: "error", errorText };
    const answered = this.#answer({
      toolCallId,
      ...answer,
      why: "tool-result",
      taken,
      change: (message, isStored) => withToolResult(message, result, (part) => this.#isClients(part, isStored)),
      record: () => ({ type: "call-settled", attempt: null, callId: callId(toolCallId), outcome }),
      // The continuation that this answer may start takes the tools along.
      applied: () => clientTools && this.#turns.rememberClient({ tools: clientTools })
    });
    if (!answered.changed) return answered;
    const part = toolPartOf(answered.message, toolCallId);
    this.#store.init.emit("tool:result", { toolCallId, toolName: part ? toolNameOf(part) : "" });
    this.continueIfReady();
    return answered;
  }

  #takeApproval(
    { toolCallId, approved, reason, autoContinue, origin }: ApprovalAnswer,
    taken: TakenDecision
  ): AnswerOutcome {
    const { by: decidedBy, input, givenInput } = taken;
    const changed = {
      ...(input !== undefined && { input }),
      ...(givenInput !== undefined && { givenInput })
    };
    const answered = this.#answer({
      ...{ toolCallId, autoContinue, origin },
      why: "approval",
      taken,
      change: (message) =>
        withApproval(message, toolCallId, { approved, ...(reason !== undefined && { reason }), ...changed }),
      record: (message) => ({
        type: "approval-answered",
        callId: callId(toolCallId),
        approvalId: approvalId(toolPartOf(message, toolCallId)?.approval?.id ?? toolCallId),
        approved,
        reason: reason ?? null,
        ...(decidedBy !== undefined && { decidedBy }),
        ...changed
      })
    });
    if (!answered.changed) return answered;
    this.#store.init.emit("tool:approval", { toolCallId, approved });
    this.continueIfReady();
    return answered;
  }

  /** The continuation that starts next; also one whose other calls still wait, while nothing came after its answer. */
  get armedView(): TurnView | undefined {
    const { leafId } = this.#store.init.transcript;
    const armed = this.#ready() ?? this.#armed.find(({ messageId }) => messageId === leafId);
    return armed && this.#view(armed);
  }

  /** The continuation of this answer that is not admitted yet. */
  armedOf(messageId: string): TurnView | undefined {
    const armed = this.#armed.find((one) => one.messageId === messageId);
    return armed && this.#view(armed);
  }

  #view({ requestId, messageId }: ArmedContinuation): TurnView {
    const { transcript, conversation } = this.#store.init;
    const isNewest = messageId === transcript.leafId;
    return viewWithoutAdmission({
      turnId: requestId,
      requestId,
      messageId,
      trigger: "auto-continuation",
      continuation: isNewest,
      generation: conversation.row.generation,
      resolvesMessageId: isNewest ? undefined : messageId,
      origin: this.#origins.get(requestId)
    });
  }

  /** No turn is open, and no sibling call still waits for its answer. */
  continueIfReady(): void {
    const { conversation, transcript } = this.#store.init;
    if (this.#armed.length === 0 || this.#store.openTurns.length > 0) return;
    const armed = this.#ready();
    if (!armed) return;
    conversation.transaction((row) => {
      row.armedContinuations = row.armedContinuations.filter((one) => one !== armed);
      if (transcript.has(armed.messageId)) this.#turns.admit(this.#continuation(armed));
    });
    this.#origins.delete(armed.requestId);
  }

  /** No turn goes on from these answers any more. */
  forgetOrigins(): void {
    this.#origins.clear();
  }

  get #armed(): readonly ArmedContinuation[] {
    return this.#store.init.conversation.row.armedContinuations;
  }

  /** The oldest that waits for no other answer, or whose message is gone. */
  #ready(): ArmedContinuation | undefined {
    const { transcript } = this.#store.init;
    return this.#armed.find(({ messageId }) => {
      const message = transcript.get(messageId);
      return !message || !isHalfAnswered(message);
    });
  }

  #continuation({ requestId, messageId }: ArmedContinuation): Admission {
    const { body, clientTools } = this.#turns;
    const isNewest = this.#store.init.transcript.leafId === messageId;
    return {
      requestId,
      trigger: "auto-continuation",
      input: [],
      continuation: true,
      extendsMessageId: isNewest ? messageId : undefined,
      resolvesMessageId: isNewest ? undefined : messageId,
      body,
      clientTools,
      notBeforeAt: this.#store.now() + CONTINUATION_PAUSE_MS,
      origin: this.#origins.get(requestId)
    };
  }

  /** Were the continuation armed later, a crash in between would leave an answer from which no turn goes on. */
  #answer(answer: Applied): AnswerOutcome {
    return this.#store.init.conversation.transaction(() => {
      const answered = this.#apply(answer);
      if (!answered.changed) return answered;
      answer.applied?.();
      answer.taken.record?.();
      if (answer.autoContinue) this.#arm(answered.message.id, answer.origin);
      return answered;
    });
  }

  /** The first answer wins. One that comes while its message streams is applied to the stream, and recorded. */
  #apply({ toolCallId, change, record, why, taken, origin }: Applied): AnswerOutcome {
    const { init } = this.#store;
    const { message, streamed } = this.#holder(toolCallId) ?? {};
    const answered = message && change(message, streamed === undefined);
    const by = origin === undefined ? "code" : "client";
    if (!message || !answered) return { changed: false };
    if ("refused" in answered) return { changed: false, refused: new ToolAnswerError(answered.refused), message };
    if (streamed) {
      const { turnId } = streamed.turn.admitted;
      init.journal.writer.append([{ ...record(answered), turnId, at: this.#store.now() }]);
      streamed.stream.replace(answered);
    } else {
      const { by: decidedBy } = taken;
      init.transcript.update(answered, { by, change: "answer-placed", why, callId: toolCallId, decidedBy });
    }
    init.conversation.afterCommit(() => this.#store.listeners.messageUpdated(answered));
    return { changed: true, message: answered };
  }

  /** The call, and the answer that holds it. */
  #asked(toolCallId: string): Pick<ChatDecision, "part" | "message"> | undefined {
    const message = this.#holder(toolCallId)?.message;
    const part = message && toolPartOf(message, toolCallId);
    return part && { part, message };
  }

  /** The message with the call; `streamed`: the turn that is writing it. */
  #holder(toolCallId: string) {
    const { running, init } = this.#store;
    const streamed = running && toolPartOf(running.stream.unfinished, toolCallId) ? running : undefined;
    const message = streamed ? streamed.stream.unfinished : init.transcript.messageOfCall(toolCallId);
    return message && { message, streamed };
  }

  /**
   * The call says who answers it. One in a stored message that no turn of ours wrote does not: a client may answer it
   * unless the server has a tool of that name that runs.
   */
  #isClients(part: ToolPart, isStored: boolean): boolean {
    if (part.clientExecuted === true) return true;
    if (!isStored || part.providerExecuted === true || part.state === "approval-responded") return false;
    const kind = this.#store.init.hooks.toolKind(toolNameOf(part));
    if (part.state === "input-available") return kind !== "server";
    return kind === "client";
  }

  /** A continuation that starts when nothing is in its way. */
  #arm(messageId: string, origin: unknown): void {
    const { conversation, ids } = this.#store.init;
    if (this.#armed.some((one) => one.messageId === messageId)) return;
    const armed: ArmedContinuation = { requestId: ids.next(), messageId };
    conversation.transaction((row) => {
      row.armedContinuations = [...row.armedContinuations, armed].slice(-MAX_ARMED);
    });
    const known = new Set(this.#armed.map(({ requestId }) => requestId));
    for (const requestId of this.#origins.keys()) if (!known.has(requestId)) this.#origins.delete(requestId);
    this.#origins.set(armed.requestId, origin);
  }
}
