// Outcomes of calls that come after their turn: where a paused output is, what takes its place, and the turn that goes on
// from there. Each method is part of the caller's transaction, so that a decision, its place in the transcript and the
// continuation are one state change; listeners are notified after it.
import type { UIMessage } from "ai";
import type { Conversation } from "../journal/conversation.ts";
import type { Journal } from "../journal/journal.ts";
import type { CallOutcome } from "../journal/records.ts";
import { asMessagePart, isSettledToolPart, isToolPart, type ToolPart } from "../model/index.ts";
import { callId, turnId } from "../util/ids.ts";
import { isObject, type Json } from "../util/json.ts";
import type { TurnEngine } from "../turn/engine.ts";
import { RUNNER } from "../session/change-log.ts";
import type { StoredTranscript } from "./stored-transcript.ts";

/** Where a call that waits beyond its turn belongs. */
export interface ParkedCall {
  readonly executionId: string;
  readonly toolCallId: string;
  readonly action: string;
  readonly turnId: string;
  readonly requestId: string;
  readonly messageId: string;
  /** The name of the person who decided, where it is known. */
  readonly decidedBy?: string | null;
}

export interface LateOutcomesInit {
  readonly conversation: Conversation;
  readonly journal: Journal;
  readonly transcript: StoredTranscript;
  readonly turns: TurnEngine;
  readonly newId: () => string;
}

export class LateOutcomes {
  readonly #init: LateOutcomesInit;

  constructor(init: LateOutcomesInit) {
    this.#init = init;
  }

  /** One transaction. */
  atomically<T>(work: () => T): T {
    return this.#init.conversation.transaction(work);
  }

  /**
   * What became of a call. "open": its outcome is not recorded yet. "paused": the recorded outcome is the paused output.
   * "resolved": it has another outcome, an interruption included. "gone": the call is not stored any more.
   */
  outputState(call: ParkedCall): "open" | "paused" | "resolved" | "gone" {
    const open = this.#openTurn(call);
    if (open) {
      const outcome = this.#recordedOutcome(call, open.firstSequence);
      if (!outcome) return "open";
      return outcome.kind === "output" && isPausedOf(outcome.output, call) ? "paused" : "resolved";
    }
    const part = this.#storedPart(call)?.part;
    if (!part) return "gone";
    return isPausedOf(part.output, call) ? "paused" : isSettledToolPart(part) ? "resolved" : "open";
  }

  /**
   * Puts `output` in the place of the paused output with this execution id. "not-yet": the message is still being
   * written; ask again when the turn is settled. "gone": that place is not shown any more. `fields` are put beside it.
   */
  replaceOutput(
    call: ParkedCall,
    output: Json | undefined,
    fields?: object
  ): "replaced" | "gone" | "already-resolved" | "not-yet" {
    if (this.#openTurn(call)) return "not-yet";
    const stored = this.#storedPart(call);
    if (!stored) return "gone";
    if (!isPausedOf(stored.part.output, call)) return "already-resolved";
    const { transcript, conversation, turns } = this.#init;
    const { message, index, part } = stored;
    const resolved = asMessagePart({ ...part, ...fields, output: output ?? null });
    const changed: UIMessage = { ...message, parts: message.parts.with(index, resolved) };
    transcript.update(changed, {
      ...RUNNER,
      change: "answer-placed",
      why: "action",
      callId: call.toolCallId,
      ...(typeof call.decidedBy === "string" && { decidedBy: call.decidedBy })
    });
    conversation.afterCommit(() => turns.announceMessage(changed));
    // Summarised, or on a branch that is not shown: neither the user nor the model sees the message.
    return transcript.path().some(({ id }) => id === message.id) ? "replaced" : "gone";
  }

  /** Admits a continuation that survives a restart. `origin` is the connection of the client that decided, if any. */
  continueTurn(call: ParkedCall, origin: unknown): void {
    const { turns, newId } = this.#init;
    turns.admit({
      requestId: newId(),
      trigger: "approval",
      input: [],
      continuation: true,
      continuesMessageId: call.messageId,
      ...(turns.body && { body: turns.body }),
      clientTools: turns.clientTools,
      origin
    });
  }

  /** Appends a message with an outcome whose part is gone. */
  note(text: string): void {
    const { transcript, conversation, newId } = this.#init;
    const message: UIMessage = { id: newId(), role: "assistant", parts: [{ type: "text", text }] };
    transcript.append(message, { ...RUNNER, why: "action" });
    conversation.afterCommit(() => transcript.announce());
  }

  #openTurn(call: ParkedCall) {
    return this.#init.conversation.row.openTurns.find((open) => open.turnId === call.turnId);
  }

  #recordedOutcome(call: ParkedCall, firstSequence: number): CallOutcome | undefined {
    const id = callId(call.toolCallId);
    const options = { after: firstSequence - 1, turnId: turnId(call.turnId), outline: true };
    for (const page of this.#init.journal.reader.pages(options)) {
      for (const { record } of page.entries) {
        if (record.type === "call-settled" && record.callId === id) return record.outcome;
      }
    }
    return undefined;
  }

  #storedPart(call: ParkedCall): { message: UIMessage; part: ToolPart; index: number } | undefined {
    const { transcript } = this.#init;
    // On a branch that is not shown: a user who comes back to it finds the outcome.
    const message = transcript.messageOfCall(call.toolCallId) ?? transcript.get(call.messageId);
    const index = message?.parts.findIndex((one) => isToolPart(one) && one.toolCallId === call.toolCallId) ?? -1;
    const part = message?.parts[index];
    return message && part && isToolPart(part) ? { message, part, index } : undefined;
  }
}

function isPausedOf(output: unknown, call: ParkedCall): boolean {
  return isObject(output) && output["status"] === "paused" && output["executionId"] === call.executionId;
}
