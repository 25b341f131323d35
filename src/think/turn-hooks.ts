// The user's hooks, as the engine calls them: each with the turn's details, in the agent's context, and with the documented
// consequence of a throw. Throws that must not reach the engine end here: those of `onChatError` and `classifyChatError`.
// Throws of tool, step and chunk hooks are passed on to model/, which makes them a tool's error or logs them.
import type { AwaitedRetry } from "../turn/retry-policy.ts";
import { featureErrors } from "../feature/errors.ts";
import type { FailureClass } from "../model/failure-classifier.ts";
import type { UIMessage, UIMessageChunk } from "ai";
import { runDurably } from "../agent/context.ts";
import { DurableWork } from "../agent/durable-work.ts";
import {
  ModelCallError,
  ModelFailedError,
  StepHookError,
  streamedErrorText,
  type ChunkEvent,
  type FinishedToolCall,
  type ModelCallHooks,
  type ToolCallToRun,
  type StepEnd,
  type StepStart,
  type ToolDecision
} from "../model/index.ts";
import type { CallOutcome } from "../journal/records.ts";
import type { TurnEngine } from "../turn/engine.ts";
import type { AssembledTurn, CutOffCall, FailureContext, FileRefusal, FinalAnswer, TurnHooks } from "../turn/hooks.ts";
import type { RecoveryChoice, RecoveryIncident, RecoveryPolicy } from "../turn/recovery.ts";
import { isContinuation, type TurnOutcome, type TurnView } from "../turn/turn.ts";
import { cutErrorText, errorMessage } from "../util/errors.ts";
import { withHidden } from "../util/hidden-fields.ts";
import { WarnOnce } from "../util/warn-once.ts";
import { isThenable } from "../util/maybe-promise.ts";
import type { Assembly } from "./assemble.ts";
import { isDefaultClassifier, isFileRefusal, mayBeFileRefusal, retryAfterMs } from "../model/failure-classifier.ts";
import { FailureLog } from "./failure-log.ts";
import { isDevelopment } from "../util/development.ts";
import type { ContextOverflow } from "./context-overflow.ts";
import type { Session } from "../session/session.ts";
import type { AgentRuntime } from "../agent/runtime.ts";
import type { TurnFeatures } from "../feature/turn-features.ts";
import type { FailedAction } from "../feature/services.ts";
import type { ChatErrorContext, TurnDetails } from "../feature/hooks.ts";
import type { Overrides } from "./overrides.ts";
import type { RecoveryHooks } from "./chat-recovery.ts";
import { chunkContext, copyableOutput, stepEndContext, stepStartContext, withDetails } from "./turn-details.ts";

/** What the hooks use of their conversation and its agent. */
export interface HookHost {
  readonly agent: Pick<AgentRuntime, "clock" | "env" | "labelFor">;
  readonly overrides: Overrides;
  readonly turnFeatures: TurnFeatures;
  readonly assembly: Pick<Assembly, "assemble">;
  readonly parts: { readonly turns: Pick<TurnEngine, "usageOf"> };
  readonly recoveryHooks: RecoveryHooks;
  readonly session: Pick<Session, "hasThreshold" | "compactIfDue">;
  readonly overflow: Pick<ContextOverflow, "compact">;
  /** Whether the class has a hook of its own. */
  isOverridden(hook: string): boolean;
  /** Runs `work` in the agent's context, with the connection behind `origin`. */
  runAs<T>(origin: unknown, work: () => T): T;
  /** The agent's context is current. */
  isInside(): boolean;
}

export class UserTurnHooks implements TurnHooks {
  readonly #host: HookHost;
  readonly #log: FailureLog;
  readonly #warnings = new WarnOnce();
  /** While `onChatError` runs, which answers at once. */
  #partial: UIMessage | undefined;

  constructor(host: HookHost) {
    this.#host = host;
    this.#log = new FailureLog({
      agent: (error) => host.agent.labelFor(error),
      contextOverflow: () => host.overrides.contextOverflow
    });
  }

  get wantsResponse(): boolean {
    return this.#host.isOverridden("onChatResponse");
  }

  assemble(turn: TurnView, history: UIMessage[], overflows: number): Promise<AssembledTurn> {
    const input = { history, overflows, modelHooks: this.#modelHooks(turn) };
    return this.#in(turn, () => this.#host.assembly.assemble(turn, input));
  }

  finalAnswer(turn: TurnView, message: UIMessage | undefined): FinalAnswer | undefined {
    return this.#host.turnFeatures.finalAnswer(turn, message);
  }

  async beforeToolCall(turn: TurnView, call: ToolCallToRun): Promise<ToolDecision | void> {
    const { overrides, turnFeatures: features } = this.#host;
    if (features.isOwnTool(turn, call.toolName)) return undefined;
    // The call has the fields of the SDK's typed call; which of its members it is, the user's generic says.
    const context = callContext(call, turn) as Parameters<Overrides["beforeToolCall"]>[0];
    const decision = await this.#in(turn, () => overrides.beforeToolCall(context));
    const input = decision?.action === "allow" && decision.input !== undefined ? decision.input : call.input;
    await features.observer()?.beforeToolCall(turn, { ...call, input });
    if (decision === undefined || decision === null) return undefined;
    if (!DECISIONS.has(decision.action)) throw featureErrors.ToolDecisionError(call.toolName, decision.action);
    return decision;
  }

  async afterToolCall(turn: TurnView, finished: FinishedToolCall): Promise<void> {
    const { overrides, turnFeatures: features } = this.#host;
    const { executedInput: _executed, ...call } = finished;
    if (features.isOwnTool(turn, call.toolName)) return;
    // A call that was stopped has not failed.
    if (!call.success && !turn.signal.aborted) this.#log.toolFailed(call.error, { ...call, requestId: turn.requestId });
    // As above.
    const context = callContext(call, turn) as Parameters<Overrides["afterToolCall"]>[0];
    try {
      await this.#in(turn, () => overrides.afterToolCall(context));
    } finally {
      await features.observer()?.afterToolCall(turn, finished);
    }
  }

  describeFailure(error: unknown, context: FailureContext): string {
    const { messagesPersisted, classification } = context;
    this.#log.turnFailed(error, context);
    // Only what could not be helped is named.
    const isOverflow = classification === "context_overflow";
    const known = { messagesPersisted, ...(isOverflow && { classification }) };
    const shown = shownError(error);
    const text = textOf(this.#askOnChatError(shown, errorContext(context, known), context.partial), shown);
    // Elsewhere a provider's words are for the operator alone.
    if (!isDevelopment(this.#host.agent.env) || !(shown instanceof ModelCallError)) return text;
    return `${text} Shown in development only: ${this.#log.explain(shown)}`;
  }

  /** The transcript as `onChatError` sees it: the answer that failed is stored with what the hook returns. */
  withPartial(messages: readonly UIMessage[]): UIMessage[] {
    const partial = this.#partial;
    if (!partial) return [...messages];
    const isKnown = messages.some(({ id }) => id === partial.id);
    return isKnown ? messages.map((one) => (one.id === partial.id ? partial : one)) : [...messages, partial];
  }

  actionFailed(error: unknown, call: FailedAction): void {
    this.#log.actionFailed(error, call);
  }

  logFailure(error: unknown, context: FailureContext): void {
    this.#log.turnFailed(error, context);
  }

  logRetry(error: unknown, context: FailureContext, retry: AwaitedRetry): void {
    this.#log.retried(error, context, { ...retry, inMs: retry.at - this.#host.agent.clock.now() });
  }

  classifyFailure(error: unknown, context: FailureContext): FailureClass | undefined {
    // Only failures of the model are judged by their words: user code and our own may use the same ones.
    const isOfModel = error instanceof ModelCallError && !(error instanceof StepHookError);
    if (context.stage !== "stream" || !isOfModel) return undefined;
    try {
      // The provider's own words, which is what classifiers match on.
      const raw = error.cause ?? error;
      // The class's own is given what a stream brought as text; the default one judges by all that is known.
      const { overrides } = this.#host;
      const isOwn = this.#host.isOverridden("classifyChatError") && !isDefaultClassifier(overrides.classifyChatError);
      return (
        overrides.classifyChatError((isOwn ? streamedErrorText(raw) : undefined) ?? raw, errorContext(context)) ??
        undefined
      );
    } catch (thrown) {
      console.warn("classifyChatError failed; the error is taken as it is.", thrown);
      return undefined;
    }
  }

  fileRefusal(error: unknown): FileRefusal | undefined {
    if (!(error instanceof ModelCallError) || error instanceof StepHookError) return undefined;
    if (isFileRefusal(error)) return "certain";
    return mayBeFileRefusal(error) ? "possible" : undefined;
  }

  get nextModel(): TurnHooks["nextModel"] {
    return this.#host.turnFeatures.nextModel;
  }

  retryAfterMs(error: unknown): number | undefined {
    return retryAfterMs(error, this.#host.agent.clock.now());
  }

  prepare(): Promise<unknown> | undefined {
    const { session } = this.#host;
    return session.hasThreshold ? session.compactIfDue() : undefined;
  }

  get maxAnswerBytes(): number {
    return this.#host.overrides.maxAnswerBytes;
  }

  get maxUnstoredTextMs(): number {
    return this.#host.overrides.maxUnstoredTextMs;
  }

  get recovery(): RecoveryPolicy {
    return this.#host.recoveryHooks.policy;
  }

  recover(turn: TurnView, incident: RecoveryIncident): Promise<RecoveryChoice> {
    return this.#host.recoveryHooks.recover(turn, incident);
  }

  keepsRecovering(turn: TurnView, incident: RecoveryIncident): Promise<boolean> {
    return this.#in(turn, () => this.#host.recoveryHooks.keepsRecovering(incident));
  }

  exhausted(turn: TurnView, incident: Parameters<TurnHooks["exhausted"]>[1]): Promise<void> {
    return this.#in(turn, () => this.#host.recoveryHooks.exhausted(incident));
  }

  repairPart(part: UIMessage["parts"][number], requestId?: string): UIMessage["parts"][number] {
    return this.#host.recoveryHooks.repairPart(part, requestId);
  }

  keepsOutcome(turn: TurnView, call: Omit<CutOffCall, "input">): boolean {
    return this.#host.turnFeatures.keepsOutcome(turn, call);
  }

  lateOutcome(turn: TurnView, call: CutOffCall): Promise<CallOutcome | undefined> {
    return this.#host.turnFeatures.lateOutcome(turn, call);
  }

  get decideCall(): TurnHooks["decideCall"] {
    return this.#host.turnFeatures.decideCall;
  }

  toolKind(toolName: string): "server" | "client" | undefined {
    try {
      const tools = this.#host.overrides.getTools();
      const own = Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
      if (own) return own.execute === undefined ? "client" : "server";
      return this.#host.turnFeatures.runsTool(toolName) ? "server" : undefined;
    } catch (error) {
      // Who runs it is not known: then no client may say what came of it.
      console.error("getTools() failed while a tool was looked up.", error);
      return "server";
    }
  }

  annotateRepair(chunk: UIMessageChunk): UIMessageChunk {
    return this.#host.turnFeatures.annotateRecovered(chunk);
  }

  get overflowRetries(): number {
    const { contextOverflow } = this.#host.overrides;
    if (contextOverflow?.reactive !== true) return 0;
    return Math.max(0, Math.floor(contextOverflow.maxRetries ?? 1));
  }

  compact(turn: TurnView, attempt: number, reason = "reactive"): Promise<boolean> {
    const { requestId, parentMessageId } = turn;
    return this.#in(turn, () => this.#host.overflow.compact({ reason, requestId, attempt }, parentMessageId));
  }

  async respond(turn: TurnView, outcome: TurnOutcome): Promise<void> {
    const { status, error } = outcome;
    if (status === "skipped" || !outcome.streamed || !this.wantsResponse) return;
    // It has no answer to speak of: `onChatError` was given it.
    if (status === "error" && !outcome.message?.parts.length) return;
    const { overrides } = this.#host;
    const { turnFeatures, parts } = this.#host;
    const attachments = turnFeatures.attachmentsOf(turn.turnId);
    const usage = parts.turns.usageOf(turn.requestId);
    const cost = await turnFeatures.costOf(turn.turnId);
    const result = {
      ...(usage && usage.totalTokens !== null && { usage }),
      ...(cost && { cost }),
      message: outcome.message ?? { id: turn.messageId, role: "assistant" as const, parts: [] },
      continuation: isContinuation(turn),
      status,
      error,
      attachments
    };
    // Called again after a crash: what it starts is found then.
    const work = new DurableWork(`response:${turn.turnId}`);
    await this.#in(turn, () => runDurably({ work }, () => overrides.onChatResponse(withDetails(result, turn))));
  }

  runIn<T>(turn: TurnView, work: () => T): T {
    return this.#host.runAs(turn.origin, work);
  }

  /** Callbacks of streams may arrive outside the context the call was made in. */
  #in<T>(turn: TurnView, work: () => T): T {
    return this.#host.isInside() ? work() : this.runIn(turn, work);
  }

  #modelHooks(turn: TurnView): ModelCallHooks {
    const { overrides } = this.#host;
    const isOverridden = (hook: string) => this.#host.isOverridden(hook);
    if (isOverridden("onStepEnd") && isOverridden("onStepFinish")) this.#warnings.warn(BOTH_STEP_HOOKS);
    const observer = this.#host.turnFeatures.observer();
    return {
      ...(isOverridden("beforeStep") && {
        prepareStep: (event: StepStart) => this.#in(turn, () => overrides.beforeStep(stepStartContext(event, turn)))
      }),
      ...((isOverridden("onChunk") || observer) && {
        onChunk: async (event: ChunkEvent) => {
          try {
            if (isOverridden("onChunk")) await this.#in(turn, () => overrides.onChunk(chunkContext(event, turn)));
          } finally {
            observer?.onChunk(turn, event);
          }
        }
      }),
      ...((isOverridden("onStepFinish") || isOverridden("onStepEnd") || observer) && {
        onStepFinish: async (event: StepEnd) => {
          try {
            // Where the class has none of its own, it calls `onStepFinish`.
            await this.#in(turn, () => overrides.onStepEnd(stepEndContext(event, turn)));
          } finally {
            await observer?.onStepFinish(turn, event);
          }
        }
      })
    };
  }

  #askOnChatError(error: unknown, context: ChatErrorContext, partial: UIMessage | undefined): unknown {
    this.#partial = partial;
    try {
      const answer = this.#host.overrides.onChatError(error, context);
      if (!isThenable(answer)) return answer ?? error;
      console.warn("onChatError must answer at once; the promise it returned is ignored.");
      answer.then(undefined, (thrown: unknown) => console.error("onChatError failed:", thrown));
    } catch (thrown) {
      console.error("onChatError failed; the error it was given is used.", thrown);
    } finally {
      this.#partial = undefined;
    }
    return error;
  }
}

function errorContext(
  { turn, requestId, stage }: FailureContext,
  more: Partial<ChatErrorContext> = {}
): ChatErrorContext {
  const fields = { ...(requestId !== undefined && { requestId }), stage, ...more };
  return turn === undefined ? fields : withDetails(fields, turn);
}

function callContext<Call extends ToolCallToRun>(call: Call, turn: TurnView): Call & TurnDetails {
  const { abortSignal, ...fields } = call;
  const copyable = "output" in fields ? { ...fields, output: copyableOutput(fields.output) } : fields;
  // It has the fields of the call again.
  return withHidden(withDetails(copyable, turn), { abortSignal }) as object as Call & TurnDetails;
}

/**
 * The error that `onChatError` is given. What user code threw before a step is that error itself. What a provider's own
 * code threw, also where the model is made, has a safe message in front of it.
 */
function shownError(error: unknown): unknown {
  if (error instanceof StepHookError) return error.cause;
  return isSdkError(error) ? new ModelFailedError(error) : error;
}

/** Errors of the AI SDK and of its providers carry this name. */
function isSdkError(error: unknown): boolean {
  return error instanceof Error && error.name.startsWith("AI_");
}

const DECISIONS: ReadonlySet<unknown> = new Set(["allow", "block", "substitute"]);
const BOTH_STEP_HOOKS =
  "The class overrides onStepEnd and onStepFinish, which are one hook under two names: onStepEnd is called, and calls onStepFinish only through super.onStepEnd(context).";
const NO_TEXT = "Something went wrong.";

function textOf(answer: unknown, error: unknown): string {
  return cutErrorText(errorMessage(answer) || errorMessage(error) || NO_TEXT);
}
