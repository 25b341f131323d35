// What the engine asks of the class it runs for. `think/` implements it: it knows the user's overrides, the prompt and
// the tools; the engine knows when to call.
import type { LanguageModel, ModelMessage, ToolSet, UIMessage } from "ai";
import type {
  FinishedToolCall,
  ModelCallHooks,
  ModelSettings,
  PendingToolCall,
  StopWhen,
  SystemPrompt,
  ToolDecision
} from "../model/index.ts";
import type { TurnContext, TurnOutcome } from "./turn.ts";

/** Where a turn failed. */
export type FailureStage = "parse" | "persist" | "turn" | "stream" | "recovery" | "transcript";

/** Everything the model call needs, after all user hooks that shape it have run. */
export interface AssembledTurn {
  readonly model: LanguageModel;
  readonly system: SystemPrompt | undefined;
  readonly messages: ModelMessage[];
  /** Not yet wrapped: the engine records each call before it runs and each outcome before the model sees it. */
  readonly tools: ToolSet;
  readonly settings: ModelSettings;
  readonly maxSteps: number;
  readonly stopWhen?: StopWhen;
  readonly sendReasoning: boolean;
  /** The user's step and chunk hooks. */
  readonly modelHooks: ModelCallHooks;
}

export interface TurnHooks {
  /**
   * `history` is the path the answer hangs below, already repaired. Runs the user's hooks up to and including
   * `beforeTurn`. A throw fails the turn with stage "turn".
   */
  assemble(turn: TurnContext, history: UIMessage[]): Promise<AssembledTurn>;
  beforeToolCall(turn: TurnContext, call: PendingToolCall): Promise<ToolDecision | void>;
  afterToolCall(turn: TurnContext, call: FinishedToolCall): Promise<void>;
  /** Turns any failure into the text that clients, callbacks and results carry. Never throws. */
  describeFailure(
    error: unknown,
    context: { requestId: string; stage: FailureStage; messagesPersisted: boolean; turn?: TurnContext }
  ): string;
  /** The user wants to hear of finished turns: their hook is then called at least once per turn, even over a crash. */
  readonly wantsResponse: boolean;
  /** Runs after the turn is over, outside it: turns may be started and awaited here. A throw is logged. */
  respond(turn: TurnContext, outcome: TurnOutcome): Promise<void>;
  /** Runs `work` in the agent's context, with the connection that started the turn. */
  runIn<T>(turn: TurnContext, work: () => T): T;
}
