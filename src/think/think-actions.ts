// Actions in the life of a Think: their desk is opened with the first descriptor that `getActions()` returns, their tools
// join every attempt, the turn's grant is decided once and kept with the turn, and a parked call ends its turn. A class
// without actions pays one method call per turn.
import type { ModelMessage, UIMessage, UIMessageChunk } from "ai";
import type { AgentRuntime } from "../agent/runtime.ts";
import { Blobs } from "../host/blobs.ts";
import { asMessagePart, isToolPart, toolNameOf, type Sdk, type StepStart, type StopWhen } from "../model/index.ts";
import type { RecordedGrant, TurnContext as EngineTurn } from "../turn/turn.ts";
import { errorMessage } from "../util/errors.ts";
import { isObject } from "../util/json.ts";
import { grantOf, grantOfRecord, recordOfGrant } from "./action-grant.ts";
import {
  OPEN_ACTIONS,
  type ActionGrant,
  type ActionsDesk,
  type ActionSet,
  type ActionsHost,
  type CompiledActions,
  type ConversationSide
} from "./actions-port.ts";
import { ActionMapError } from "./errors.ts";
import type { TurnContext } from "./hooks.ts";
import type { ThinkOverrides } from "./overrides.ts";
import type { ResultReader } from "./read-result.ts";
import type { ToolSource } from "./tool-source.ts";
import { WarnOnce } from "./warn-once.ts";

type MessagePart = UIMessage["parts"][number];

export interface ThinkActionsInit {
  readonly overrides: ThinkOverrides;
  readonly isOverridden: (hook: "getActions" | "authorizeTurn" | "authorizeAction" | "authorizeApproval") => boolean;
  readonly runtime: AgentRuntime;
  readonly sdk: Sdk;
  /** The agent's environment, as actions see it. */
  readonly env: unknown;
  readonly conversation: ConversationSide;
}

export class ThinkActions {
  readonly #init: ThinkActionsInit;
  readonly #compiled = new WeakMap<AbortSignal, CompiledActions>();
  readonly #grants = new WeakMap<AbortSignal, ActionGrant>();
  readonly #warnings = new WarnOnce();
  #desk: ActionsDesk | undefined;

  constructor(init: ThinkActionsInit) {
    this.#init = init;
  }

  /** Undefined for a class without actions, and while `getActions()` fails: its turns fail with the reason. */
  get desk(): ActionsDesk | undefined {
    return (this.#desk ??= this.#open());
  }

  /** After the start: goes on with what people decided before a crash. */
  resume(): void {
    this.desk?.resume();
    if (this.desk) void this.#init.runtime.wakes.rearm();
  }

  nextWake(nowMs: number): number | null {
    return this.#desk?.nextWake(nowMs) ?? null;
  }

  async runDue(): Promise<void> {
    await this.#desk?.runDue();
  }

  get toolSources(): ToolSource[] {
    return [{ layer: "actions", tools: (turn) => this.#compile(turn)?.tools ?? {} }];
  }

  /** Of outputs that are too long for the model; undefined in a turn without actions. */
  resultReader(turn: EngineTurn): ResultReader | undefined {
    return this.#compile(turn)?.readResult;
  }

  /** What the turn may do. Asked once per turn; what an earlier attempt was told holds. */
  async grant(turn: EngineTurn, context: TurnContext): Promise<RecordedGrant | undefined> {
    this.desk?.beginTurn(turn);
    if (!this.#init.isOverridden("authorizeTurn")) return undefined;
    const recorded = turn.grant ?? recordOfGrant(grantOf(await this.#init.overrides.authorizeTurn(context)));
    this.#grants.set(turn.signal, grantOfRecord(recorded));
    return recorded;
  }

  /** A step that parked an action is followed by one without tools, in which the model may say so. */
  prepareStep({ steps, messages }: StepStart): { activeTools: never[]; toolChoice: "none" } | undefined {
    const hasParked = steps.length > 0 ? this.#hasParked(steps.at(-1)) : this.#endsInParked(messages);
    return hasParked ? { activeTools: [], toolChoice: "none" } : undefined;
  }

  /** And then the turn is over: somebody is asked, and may take days. */
  get stopWhen(): Exclude<StopWhen, readonly unknown[]> {
    return ({ steps }) => this.#hasParked(steps.at(-2));
  }

  /** A call that was cut off in a turn has its outcome if the ledger knows it. */
  settledPart(part: MessagePart, requestId: string): MessagePart | undefined {
    if (!isToolPart(part) || !this.desk) return undefined;
    const { toolCallId, input } = part;
    const known = this.desk.settledOutput({ requestId, toolCallId, action: toolNameOf(part), input });
    return known && asMessagePart({ ...part, state: "output-available", output: known[0] ?? null });
  }

  /** People are shown what they are asked for, without a second lookup. */
  annotate(turn: EngineTurn, chunk: UIMessageChunk): UIMessageChunk {
    const isQuestion = chunk.type === "tool-approval-request";
    if (!isQuestion && !(chunk.type === "tool-output-available" && this.#desk?.isPausedOutput(chunk.output)))
      return chunk;
    return withDescriptor(chunk, this.#compiled.get(turn.signal)?.descriptorOf(chunk.toolCallId));
  }

  annotateRepair(chunk: UIMessageChunk): UIMessageChunk {
    if (chunk.type !== "tool-output-available" || !this.desk?.isPausedOutput(chunk.output)) return chunk;
    return withDescriptor(chunk, this.desk.descriptorOf(chunk.output.executionId));
  }

  #compile(turn: EngineTurn): CompiledActions | undefined {
    const known = this.#compiled.get(turn.signal);
    if (known) return known;
    const actions = this.#actions();
    if (!isObject(actions)) throw new ActionMapError();
    if (Object.values(actions).every((one) => one === undefined)) return undefined;
    const desk = (this.#desk ??= this.#openWith(actions));
    if (!desk) throw new ActionMapError();
    const { turnId, requestId, messageId, signal } = turn;
    const grant = () => this.#grants.get(signal) ?? { allowed: true };
    const compiled = desk.compile({ turnId, requestId, messageId, signal, grant }, actions);
    this.#compiled.set(signal, compiled);
    return compiled;
  }

  #hasParked(step: { readonly toolResults: readonly { readonly output?: unknown }[] } | undefined): boolean {
    return step?.toolResults.some(({ output }) => this.#desk?.isPausedOutput(output) === true) ?? false;
  }

  /** The process died after the step: another attempt goes on from its results. */
  #endsInParked(messages: readonly ModelMessage[]): boolean {
    const last = messages.at(-1);
    if (last?.role !== "tool") return false;
    return last.content.some(
      (part) =>
        part.type === "tool-result" && part.output.type === "json" && this.#desk?.isPausedOutput(part.output.value)
    );
  }

  #open(): ActionsDesk | undefined {
    if (!this.#init.isOverridden("getActions")) return undefined;
    try {
      return this.#openWith(this.#actions());
    } catch (error) {
      // Whoever asks for the desk here may be a start, or a request that is not about actions.
      this.#warnings.warn(`getActions() failed: ${errorMessage(error)}`);
      return undefined;
    }
  }

  #openWith(actions: ActionSet): ActionsDesk | undefined {
    const first = Object.values(actions).find((one) => isObject(one) && OPEN_ACTIONS in one);
    return first?.[OPEN_ACTIONS](this.#host());
  }

  #actions(): ActionSet {
    return this.#init.overrides.getActions();
  }

  #host(): ActionsHost {
    const { overrides, runtime, sdk, env, conversation, isOverridden } = this.#init;
    return {
      sql: runtime.sql,
      blobs: new Blobs(runtime.sql),
      clock: runtime.clock,
      ids: runtime.ids,
      quarantine: runtime.quarantine,
      emit: (type, payload) => runtime.emit(type, payload),
      agent: runtime.agent,
      env,
      settings: overrides,
      getActions: () => this.#actions(),
      ...(isOverridden("authorizeAction") && { authorizeAction: (context) => overrides.authorizeAction(context) }),
      ...(isOverridden("authorizeApproval") && {
        authorizeApproval: (context) => overrides.authorizeApproval(context)
      }),
      validate: (schema, value) => sdk.validateInput(schema, value),
      conversation,
      inAgent: (work) => runtime.keepAlive.while(() => runtime.runAs({}, work)),
      background: (work) => runtime.background(work),
      rearm: () => void runtime.wakes.rearm()
    };
  }
}

function withDescriptor(chunk: UIMessageChunk, approvalDescriptor: object | undefined): UIMessageChunk {
  return approvalDescriptor ? { ...chunk, ...{ approvalDescriptor } } : chunk;
}
