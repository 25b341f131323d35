// The user's hooks, as the engine calls them: each with the turn's facts, in the agent's context, and with the documented
// consequence of a throw. Throws that must not reach the engine end here: those of `onChatError` and `classifyChatError`.
// Throws of tool, step and chunk hooks are passed on to the model room, which makes them a tool's error or logs them.
import type { UIMessage } from "ai";
import {
  ModelCallError,
  type ChunkEvent,
  type FinishedToolCall,
  type ModelCallHooks,
  type PendingToolCall,
  type StepEnd,
  type StepStart,
  type ToolDecision
} from "../model/index.ts";
import type { AssembledTurn, FailureStage, TurnHooks } from "../turn/hooks.ts";
import type { TurnContext as EngineTurn, TurnOutcome } from "../turn/turn.ts";
import { errorMessage } from "../util/errors.ts";
import type { Assembly } from "./assemble.ts";
import { ToolDecisionError } from "./errors.ts";
import type { ChatErrorClassification, ChatErrorContext } from "./hooks.ts";
import type { OptionalHook, ThinkOverrides } from "./overrides.ts";
import { factsOf, withFacts } from "./turn-facts.ts";

export interface TurnHooksInit {
  readonly overrides: ThinkOverrides;
  readonly assembly: Pick<Assembly, "assemble">;
  /** Whether the class has a hook of its own. */
  readonly isOverridden: (hook: OptionalHook) => boolean;
  /** Runs `work` in the agent's context, with the connection behind `origin`. */
  readonly runAs: <T>(origin: unknown, work: () => T) => T;
  /** The agent's context is current. */
  readonly isInside: () => boolean;
}

export interface FailureContext {
  readonly requestId?: string;
  readonly stage: FailureStage;
  readonly messagesPersisted: boolean;
  /** The turn that failed, if it had begun. */
  readonly turn?: EngineTurn;
}

export class UserTurnHooks implements TurnHooks {
  readonly #init: TurnHooksInit;

  constructor(init: TurnHooksInit) {
    this.#init = init;
  }

  get wantsResponse(): boolean {
    return this.#init.isOverridden("onChatResponse");
  }

  assemble(turn: EngineTurn, history: UIMessage[]): Promise<AssembledTurn> {
    return this.#in(turn, () => this.#init.assembly.assemble(turn, history, this.#modelHooks(turn)));
  }

  async beforeToolCall(turn: EngineTurn, call: PendingToolCall): Promise<ToolDecision | void> {
    const { overrides } = this.#init;
    // The call has the fields of the SDK's typed call; which of its members it is, the user's generic says.
    const context = { ...call, ...factsOf(turn) } as Parameters<ThinkOverrides["beforeToolCall"]>[0];
    const decision = await this.#in(turn, () => overrides.beforeToolCall(context));
    if (decision === undefined || decision === null) return undefined;
    if (!DECISIONS.has(decision.action)) throw new ToolDecisionError(call.toolName, decision.action);
    return decision;
  }

  async afterToolCall(turn: EngineTurn, { executedInput: _executed, ...call }: FinishedToolCall): Promise<void> {
    const { overrides } = this.#init;
    // As above.
    const context = { ...call, ...factsOf(turn) } as Parameters<ThinkOverrides["afterToolCall"]>[0];
    await this.#in(turn, () => overrides.afterToolCall(context));
  }

  describeFailure(error: unknown, context: FailureContext): string {
    const { turn, requestId, stage, messagesPersisted } = context;
    const known: ChatErrorContext = {
      ...(turn !== undefined && factsOf(turn)),
      ...(requestId !== undefined && { requestId }),
      stage
    };
    const classification = this.#classify(error, known);
    const told = { ...known, messagesPersisted, ...(classification !== undefined && { classification }) };
    return textOf(this.#askOnChatError(error, told), error);
  }

  async respond(turn: EngineTurn, outcome: TurnOutcome): Promise<void> {
    const { status, error } = outcome;
    if (status === "skipped" || !outcome.streamed || !this.wantsResponse) return;
    const { overrides } = this.#init;
    await this.#in(turn, () =>
      overrides.onChatResponse({
        ...factsOf(turn),
        message: outcome.message ?? { id: turn.messageId, role: "assistant", parts: [] },
        continuation: turn.continuation,
        status,
        ...(error !== undefined && { error })
      })
    );
  }

  runIn<T>(turn: EngineTurn, work: () => T): T {
    return this.#init.runAs(turn.origin, work);
  }

  /** Callbacks of streams may arrive outside the context the call was made in. */
  #in<T>(turn: EngineTurn, work: () => T): T {
    return this.#init.isInside() ? work() : this.runIn(turn, work);
  }

  #modelHooks(turn: EngineTurn): ModelCallHooks {
    const { overrides, isOverridden } = this.#init;
    return {
      ...(isOverridden("beforeStep") && {
        prepareStep: (event: StepStart) => this.#in(turn, () => overrides.beforeStep(withFacts(event, turn)))
      }),
      ...(isOverridden("onChunk") && {
        onChunk: (event: ChunkEvent) => this.#in(turn, () => overrides.onChunk({ ...event, ...factsOf(turn) }))
      }),
      ...(isOverridden("onStepFinish") && {
        onStepFinish: (event: StepEnd) => this.#in(turn, () => overrides.onStepFinish(withFacts(event, turn)))
      })
    };
  }

  /** Only an overflow is acted on; the other names are accepted and mean nothing yet. */
  #classify(error: unknown, context: ChatErrorContext): ChatErrorClassification | undefined {
    const { overrides } = this.#init;
    if (overrides.contextOverflow?.reactive !== true || context.stage !== "stream") return undefined;
    try {
      // The provider's own words, which is what classifiers match on.
      const raw = error instanceof ModelCallError && error.cause !== undefined ? error.cause : error;
      return overrides.classifyChatError(raw, context) === "context_overflow" ? "context_overflow" : undefined;
    } catch (thrown) {
      console.warn("classifyChatError failed; the error is not taken for an overflow.", thrown);
      return undefined;
    }
  }

  #askOnChatError(error: unknown, context: ChatErrorContext): unknown {
    try {
      const answer = this.#init.overrides.onChatError(error, context);
      if (!isThenable(answer)) return answer ?? error;
      console.warn("onChatError must answer at once; the promise it returned is ignored.");
      answer.then(undefined, (thrown: unknown) => console.error("onChatError failed:", thrown));
    } catch (thrown) {
      console.error("onChatError failed; the error it was given is used.", thrown);
    }
    return error;
  }
}

const DECISIONS: ReadonlySet<unknown> = new Set(["allow", "block", "substitute"]);
const NO_TEXT = "Something went wrong.";

function textOf(answer: unknown, error: unknown): string {
  return errorMessage(answer) || errorMessage(error) || NO_TEXT;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
