// One attempt at a turn: assemble, call the model, stream, run tools. It writes records and feeds readers, and ends in a
// plain result; what that result means for the turn is decided by whoever started it. Each tool call is a record before
// it runs, and its outcome a record before the model sees it.
import type { UIMessage } from "ai";
import { createHash } from "node:crypto";
import type { Clock } from "../host/ports.ts";
import type { Journal } from "../journal/journal.ts";
import type { CallOutcome } from "../journal/records.ts";
import {
  callModel,
  NoMessagesError,
  toolErrorText,
  wrapTools,
  type FinishedToolCall,
  type ModelCall,
  type ModelCallOutcome,
  type PendingToolCall,
  type Sdk,
  type ToolDecision,
  type ToolWatch
} from "../model/index.ts";
import { callId, turnId as asTurnId } from "../util/ids.ts";
import { canonicalJson, type Json } from "../util/json.ts";
import type { AssembledTurn, TurnHooks } from "./hooks.ts";
import type { TurnListener } from "./listener.ts";
import type { TurnStream } from "./stream.ts";
import type { TurnContext, TurnView } from "./turn.ts";

export interface AttemptInit {
  readonly turn: TurnContext;
  readonly view: TurnView;
  readonly history: UIMessage[];
  readonly stream: TurnStream;
  readonly sdk: Sdk;
  readonly hooks: TurnHooks;
  readonly journal: Journal;
  readonly readers: Required<Pick<TurnListener, "streaming" | "chunk">>;
  readonly clock: Clock;
  /** Stores a message that an outcome changed, and tells the readers. */
  readonly storeAnswer: (message: UIMessage) => void;
}

export type AttemptResult =
  | { readonly kind: "answered"; readonly output: unknown; readonly finishReason: string }
  | { readonly kind: "aborted"; readonly reason: unknown }
  | { readonly kind: "failed"; readonly error: unknown; readonly stage: "turn" | "stream" };

export class Attempt {
  readonly #init: AttemptInit;
  #call: ModelCall | undefined;
  #hasStreamed = false;

  constructor(init: AttemptInit) {
    this.#init = init;
  }

  get hasStreamed(): boolean {
    return this.#hasStreamed;
  }

  /** Never throws. */
  run(): Promise<AttemptResult> {
    return this.#init.hooks.runIn(this.#init.turn, () => this.#run());
  }

  async #run(): Promise<AttemptResult> {
    const { turn } = this.#init;
    let assembled: AssembledTurn;
    try {
      if (turn.signal.aborted) return { kind: "aborted", reason: turn.signal.reason };
      assembled = await this.#init.hooks.assemble(turn, this.#init.history);
      if (assembled.messages.length === 0) throw new NoMessagesError();
    } catch (error) {
      if (turn.signal.aborted) return { kind: "aborted", reason: turn.signal.reason };
      return { kind: "failed", error, stage: "turn" };
    }
    try {
      return toResult(await this.#stream(assembled));
    } catch (error) {
      return { kind: "failed", error, stage: "stream" };
    }
  }

  async #stream(assembled: AssembledTurn): Promise<ModelCallOutcome> {
    const { turn, view, readers, stream, sdk } = this.#init;
    const { model, system, messages, settings, maxSteps, stopWhen, sendReasoning, modelHooks } = assembled;
    const call = callModel(sdk, {
      model,
      ...(system !== undefined && { system }),
      messages,
      tools: wrapTools(assembled.tools, this.#watch()),
      settings,
      maxSteps,
      ...(stopWhen !== undefined && { stopWhen }),
      sendReasoning,
      ...(!turn.continuation && { messageId: turn.messageId }),
      signal: turn.signal,
      hooks: modelHooks,
      log: (message, error) => console.error(message, error)
    });
    this.#call = call;
    for await (const chunk of call.chunks) {
      if (!this.#hasStreamed) {
        this.#hasStreamed = true;
        readers.streaming(view);
      }
      const streamed = stream.push(chunk);
      if (streamed.kind === "chunk") readers.chunk(view, streamed);
      else this.#init.storeAnswer(streamed.message);
    }
    return call.outcome;
  }

  #watch(): ToolWatch {
    const { hooks, turn, sdk, clock } = this.#init;
    return {
      before: async (call) => {
        const decision = await hooks.beforeToolCall(turn, call);
        if (!decision || decision.action === "allow") this.#recordCall(call, decision);
        return decision;
      },
      after: async (call) => {
        this.#recordOutcome(call);
        await hooks.afterToolCall(turn, call);
      },
      stepNumber: () => this.#call?.stepNumber ?? 0,
      validateInput: (schema, value) => sdk.validateInput(schema, value),
      now: () => clock.now(),
      log: (message, error) => console.error(message, error)
    };
  }

  /** Should the process die in the tool, this row says that it may have run. */
  #recordCall(call: PendingToolCall, decision: ToolDecision | void): void {
    const { journal, stream, turn, clock } = this.#init;
    const executed = decision?.action === "allow" && decision.input !== undefined ? decision.input : call.input;
    const input = jsonOf(executed);
    journal.writer.append([
      ...stream.takeUnflushed(),
      {
        type: "call-started",
        turnId: asTurnId(turn.turnId),
        attempt: turn.attempt,
        at: clock.now(),
        callId: callId(call.toolCallId),
        step: call.stepNumber,
        toolName: call.toolName,
        executor: "server",
        dynamic: call.dynamic ?? false,
        input,
        inputHash: createHash("sha256").update(canonicalJson(input)).digest("base64url")
      }
    ]);
  }

  /** The outcome must be durable before the model reads it: a restart in between would run the side effect again. */
  #recordOutcome(call: FinishedToolCall): void {
    const { journal, stream, turn, clock } = this.#init;
    const outcome: CallOutcome = call.success
      ? { kind: "output", output: jsonOf(call.output) }
      : { kind: "error", errorText: toolErrorText(call.error) };
    journal.writer.append([
      ...stream.takeUnflushed(),
      {
        type: "call-settled",
        turnId: asTurnId(turn.turnId),
        attempt: turn.attempt,
        at: clock.now(),
        callId: callId(call.toolCallId),
        outcome,
        autoContinue: false
      }
    ]);
  }
}

function toResult(outcome: ModelCallOutcome): AttemptResult {
  switch (outcome.status) {
    case "completed":
      return { kind: "answered", output: outcome.output, finishReason: outcome.finishReason };
    case "aborted":
      return { kind: "aborted", reason: outcome.reason };
    case "failed":
      return { kind: "failed", error: outcome.error, stage: "stream" };
  }
}

/** What a record can hold of a value: undefined and what JSON cannot say become null. */
function jsonOf(value: unknown): Json {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? null : (JSON.parse(text) as Json);
  } catch {
    // Circular values and big integers: that the call ended is what the record is for.
    return null;
  }
}
