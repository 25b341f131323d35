// Outcomes of calls that come after their turn: where a paused output is, what takes its place, and the turn that goes on
// from there. Each method is part of the caller's transaction, so that a decision, its place in the transcript and the
// continuation are one state change; listeners are notified after it.
import type { UIMessage } from "ai";
import type { CallOutcome } from "../journal/records.ts";
import { asMessagePart, isSettledToolPart, isToolPart, partsByCall, type ToolPart } from "../model/index.ts";
import { turnId } from "../util/ids.ts";
import { isObject, type Json } from "../util/json.ts";
import type { TurnEngine } from "./engine.ts";
import type { EngineInit } from "./store.ts";
import { RUNNER } from "../session/change-log.ts";
import type { StoredTranscript } from "../session/transcript.ts";

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

export type OutputState = "open" | "paused" | "resolved" | "gone";

/** The engine's stores, with all that a stored transcript can do. */
type OutcomeStores = Pick<EngineInit, "conversation" | "journal" | "ids"> & { readonly transcript: StoredTranscript };

export class LateOutcomes {
  readonly #turns: TurnEngine;
  readonly #init: OutcomeStores;

  constructor(turns: TurnEngine, init: OutcomeStores) {
    this.#turns = turns;
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
  outputState(call: ParkedCall): OutputState {
    return this.outputStates([call])(call);
  }

  /** The same for many calls: their messages and records are read once for all of them. */
  outputStates<Call extends ParkedCall>(calls: readonly Call[]): (call: Call) => OutputState {
    const recorded = new Map<string, ReadonlyMap<string, CallOutcome>>();
    const parts = new Map<UIMessage, ReadonlyMap<string, ToolPart>>();
    const own = new Map<string, UIMessage | undefined>();
    const { transcript } = this.#init;
    // A walk over the branch, which calls of an open turn do not need.
    let shown: ReadonlyMap<string, UIMessage> | undefined;
    return (call) => {
      const open = this.#openTurn(call);
      if (open) {
        const outcomes = once(recorded, call.turnId, () => this.#recordedOutcomes(call.turnId, open.firstSequence));
        const outcome = outcomes.get(call.toolCallId);
        if (!outcome) return "open";
        return outcome.kind === "output" && isPausedOf(outcome.output, call) ? "paused" : "resolved";
      }
      shown ??= transcript.messagesOfCalls(new Set(calls.map(({ toolCallId }) => toolCallId)));
      // On a branch that is not shown: a user who comes back to it finds the outcome.
      const message = shown.get(call.toolCallId) ?? once(own, call.messageId, () => transcript.get(call.messageId));
      const part = message && once(parts, message, () => partsByCall(message)).get(call.toolCallId);
      if (!part) return "gone";
      return isPausedOf(part.output, call) ? "paused" : isSettledToolPart(part) ? "resolved" : "open";
    };
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
    const { transcript, conversation } = this.#init;
    const { message, index, part } = stored;
    const resolved = asMessagePart({ ...part, ...fields, output: output ?? null });
    const changed: UIMessage = { ...message, parts: message.parts.with(index, resolved) };
    transcript.update(changed, {
      ...RUNNER,
      change: "answer-placed",
      why: "action",
      callId: call.toolCallId,
      decidedBy: call.decidedBy ?? undefined
    });
    conversation.afterCommit(() => this.#turns.announceMessage(changed));
    // Summarised, or on a branch that is not shown: neither the user nor the model sees the message.
    return transcript.path().some(({ id }) => id === message.id) ? "replaced" : "gone";
  }

  /** Admits a continuation that survives a restart. `origin` is the connection of the client that decided, if any. */
  continueTurn(call: ParkedCall, origin: unknown): void {
    const turns = this.#turns;
    turns.admit({
      requestId: this.#init.ids.next(),
      trigger: "approval",
      input: [],
      continuation: true,
      continuesMessageId: call.messageId,
      body: turns.body,
      clientTools: turns.clientTools,
      origin
    });
  }

  /** Appends a message with an outcome whose part is gone. */
  note(text: string): void {
    const { transcript, conversation, ids } = this.#init;
    const message: UIMessage = { id: ids.next(), role: "assistant", parts: [{ type: "text", text }] };
    transcript.append(message, { ...RUNNER, why: "action" });
    conversation.afterCommit(() => transcript.announce());
  }

  #openTurn(call: ParkedCall) {
    return this.#init.conversation.row.openTurns.find((open) => open.turnId === call.turnId);
  }

  /** By call: the first outcome that was recorded. */
  #recordedOutcomes(id: string, firstSequence: number): ReadonlyMap<string, CallOutcome> {
    const outcomes = new Map<string, CallOutcome>();
    const options = { after: firstSequence - 1, turnId: turnId(id), outline: true };
    for (const page of this.#init.journal.reader.pages(options)) {
      for (const { record } of page.entries) {
        if (record.type === "call-settled" && !outcomes.has(record.callId)) outcomes.set(record.callId, record.outcome);
      }
    }
    return outcomes;
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

function once<Key, Value>(known: Map<Key, Value>, key: Key, read: () => Value): Value {
  if (!known.has(key)) known.set(key, read());
  // Set above.
  return known.get(key) as Value;
}

function isPausedOf(output: unknown, call: ParkedCall): boolean {
  return isObject(output) && output["status"] === "paused" && output["executionId"] === call.executionId;
}
