// A capability of an agent is one object with this interface. Everything but its name is optional, and what it leaves
// out is never called. The runtime holds a list and knows no feature by name; features know each other neither.
//
// A class brings a feature in one of two ways: `getFeatures()` returns its factory, or a method such as `getActions()`
// returns values that carry the factory under `FEATURE`. Either way only a class that uses a feature imports its code.
// Features of every class (files, MCP servers, agents as tools, submissions) are named by the runtime, and cost a class that
// does not use them next to nothing.
import type { ToolSet, UIMessage, UIMessageChunk } from "ai";
import type { Connection } from "../agent/connections/connection.ts";
import type { Blobs } from "../host/blobs.ts";
import type { Clock, Ids, Sql } from "../host/ports.ts";
import type { Quarantine } from "../host/quarantine.ts";
import type {
  ChunkEvent,
  FinishedToolCall,
  StepEnd,
  StepSettings,
  StepStart,
  StopWhen,
  ToolCallToRun,
  TruncateOptions
} from "../model/index.ts";
import type { EventPayloads, EventType } from "../observe/events.ts";
import type { CallOutcome } from "../journal/records.ts";
import type { TurnEngine } from "../turn/engine.ts";
import type { AssembledTurn, CutOffCall, FinalAnswer } from "../turn/hooks.ts";
import type { RecordedGrant, EngineTurn, TurnOutcome, TurnView } from "../turn/turn.ts";
import { isObject, type Json } from "../util/json.ts";
import type { Result } from "../util/result.ts";
import type { ApprovalSource, ReplyAttachment } from "../features/actions/contract.ts";
import type { MessengerSet } from "../features/channels/channels.ts";
import type { FailedAction } from "../think/failure-log.ts";
import type { TurnConfig, TurnContext } from "./hooks.ts";
import type { LateOutcomes } from "../think/late-outcomes.ts";
import type { OptionalHook, ThinkOverrides } from "../think/overrides.ts";
import type { ResultReader } from "./read-result.ts";
import type { ToolLayerName } from "./tool-layers.ts";
import type { MaybePromise } from "../util/maybe-promise.ts";

/** Under which a value carries its feature. Registered, so that two copies of the package agree on it. */
export const FEATURE: unique symbol = Symbol.for("everthink.feature") as typeof FEATURE;

export interface CarriesFeature<Brought extends Feature = Feature> {
  readonly [FEATURE]: FeatureFactory<Brought>;
}

/** Called once per activation. A throw leaves the feature out; see `getOnStartDegradations`. */
export type FeatureFactory<Brought extends Feature = Feature> = (host: FeatureHost) => Brought;

export interface Feature {
  /** In logs and in `getOnStartDegradations`. One feature of a name per agent. */
  readonly name: string;

  // ── Storage ──

  /** The tables it owns. It makes each on its first write, and answers as for an empty one before that. */
  readonly tables?: readonly { readonly name: string }[];

  // ── Life of the agent ──

  /** Before the user's `onStart`, in the order of the list. A throw or rejection leaves the feature out. */
  start?(): MaybePromise<void>;
  /** After `onStart`: goes on with durable work. A throw is logged. */
  ready?(): void;
  /** The agent is being destroyed: nothing may be started or written any more. */
  stop?(): void;
  /** When it must run next; reads its own tables. Sub-agents are woken through their root. A throw is logged. */
  nextWake?(nowMs: number): number | null;
  /** A wake came, perhaps for another owner: does what is due. A rejection is logged, and the wake is repeated. */
  runDue?(): Promise<void>;

  // ── Turns ──

  /** Names of tools that it brings into every turn. Two features cannot have the same. */
  readonly toolNames?: readonly string[];
  /** Called for each attempt of a turn, and to explain a prompt. A throw fails the turn. */
  inTurn?(turn: EngineTurn): MaybePromise<TurnPart | undefined>;
  /** Waits until its tools are known, at most this long; only for classes with `waitForMcpConnections`. */
  untilConnected?(timeoutMs: number): Promise<void>;
  /** What the channel a turn came through changes about it; undefined: not a channel of this feature. */
  channelPolicy?(channel: string): ChannelPolicy | undefined;
  /** Outputs of its tools that the model must still read in full when they are old; see TruncateOptions. */
  readonly keepOutput?: TruncateOptions["keepOutput"];
  /** What of a completed answer is stored, and what the turn's output is. Part of the transaction that ends the turn. */
  finalAnswer?(turn: TurnView, message: UIMessage | undefined): FinalAnswer | undefined;
  /** A tool that only the package itself has a use for: the class's tool hooks are not called for it. */
  isOwnTool?(turn: EngineTurn, toolName: string): boolean;
  /** What it sees of running turns, each time after the class's hook of that name. */
  readonly observer?: TurnObserver;
  /** The outcome and the answer are stored. Also for turns of an earlier process. A throw is logged. */
  settled?(turn: TurnView, outcome: TurnOutcome): void;
  /** The conversation is emptied. Part of the transaction: a throw undoes the clear. */
  cleared?(): void;

  /** What waits for humans. */
  readonly approvals?: ApprovalSource;
  /** A value of the class that carries this feature, such as a tool. Each is given once per start. */
  adopt?(carrier: object): void;

  // ── Calls and chunks outside a running attempt ──

  /** Whether it runs a tool of this name on the server now. */
  runsTool?(toolName: string): boolean;
  /** The result of a call that its turn lost in a crash, in a list of one; undefined: not known. */
  lostOutcome?(call: LostCall): [Json | undefined] | undefined;
  /** Whether the work behind a call that was cut off goes on, or is kept, outside the turn: `lateOutcome` waits for it. */
  keepsOutcome?(turn: EngineTurn, call: Omit<CutOffCall, "input">): boolean;
  /** What came of such a call; undefined: not known. Waits no longer than the turn's signal. */
  lateOutcome?(turn: EngineTurn, call: CutOffCall): Promise<CallOutcome | undefined>;
  /** As `TurnPart.annotate`, for outcomes that an earlier attempt did not get to stream. */
  annotateRecovered?(chunk: UIMessageChunk): UIMessageChunk;
  /** What `onChatResponse` is given with the turn's answer. */
  attachmentsOf?(turnId: string): ReplyAttachment[];

  // ── Clients. Everything they send is untrusted. ──

  /** Requests directly below the agent's address, by first path segment. */
  readonly routes?: Readonly<Record<string, RouteHandler>>;
  /**
   * Any other request, before the class's `onRequest`: `path` is what follows the agent's address, or the whole path of a
   * URL that does not contain it. Undefined leaves the request to the class.
   */
  respond?(request: Request, path: string): MaybePromise<Response | undefined>;
  /** Frames of clients by `type`. Those of readonly connections are refused. */
  readonly frames?: Readonly<Record<string, FrameHandler>>;
  /** A client that follows the protocol has connected. */
  connected?(connection: Connection): void;
  /** What clients may call by name, beside the class's own callables. */
  readonly callables?: Readonly<Record<string, (...args: never[]) => unknown>>;
}

/** The layers a feature may bring tools in. The class's own, the client's and the turn's are not a feature's to give. */
export type FeatureLayer = Exclude<ToolLayerName, "tools" | "client" | "turn">;

/** Its methods never throw: a turn goes on whatever becomes of them. Awaited, but for `onChunk`. */
export interface TurnObserver {
  /** With the input that the class decided on. */
  beforeToolCall(turn: EngineTurn, call: ToolCallToRun): Promise<void>;
  afterToolCall(turn: EngineTurn, call: FinishedToolCall): Promise<void>;
  onStepFinish(turn: EngineTurn, event: StepEnd): Promise<void>;
  onChunk(turn: EngineTurn, event: ChunkEvent): void;
}

/** What a feature does in one attempt of a turn. */
export interface TurnPart {
  readonly tools?: Readonly<Partial<Record<FeatureLayer, ToolSet>>>;
  /** Behind the context blocks, in the order of the features. */
  readonly prompt?: readonly { readonly label: string; readonly text: string }[];
  /** Pages through outputs of its tools that were too long for the model. */
  readonly readResult?: ResultReader;
  /**
   * After the class's `beforeTurn`: what the turn is configured with, perhaps changed. `maxSteps` is what it has without a
   * change. Never throws.
   */
  configure?(context: TurnContext, config: TurnConfig, maxSteps: number): Promise<TurnConfig>;
  /** Steps that were asked for with the turn. `beforeTurn` may say otherwise; a channel and the class may not. */
  readonly maxSteps?: number;
  /** The model that was asked for with the turn, by a name that `beforeTurn` knows. */
  readonly modelHint?: string;
  /** The turn is assembled, `beforeTurn` included. A grant is recorded and holds for later attempts. */
  begin?(context: TurnContext, assembled: AssembledParts): MaybePromise<{ readonly grant?: RecordedGrant } | void>;
  /** Before each step, after the class's `beforeStep`: its settings win, those of later features over earlier ones. */
  beforeStep?(event: StepStart): MaybePromise<StepSettings | undefined>;
  /** A further condition to end the turn after a step. */
  readonly stopWhen?: Exclude<StopWhen, readonly unknown[]>;
  /** What works for the turn outside its model calls: tokens it has used, and a further limit for the whole turn. */
  readonly tokens?: { readonly used: () => number; readonly limit?: number };
  /** A last look at each chunk, before it is stored and sent. */
  annotate?(chunk: UIMessageChunk): UIMessageChunk;
}

/** What the turn was assembled from, `beforeTurn` included. */
export type AssembledParts = Pick<AssembledTurn, "settings" | "tools" | "maxSteps">;

/** `rest` is what follows the route's name: "" or a path that begins with "/". Undefined leaves the request to the class. */
export type RouteHandler = (request: Request, rest: string) => MaybePromise<Response | undefined>;

export type FrameHandler = (frame: Readonly<Record<string, unknown>>, connection: Connection) => MaybePromise<void>;

/** A call whose turn died before it recorded the outcome. */
export interface LostCall {
  readonly requestId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

/** What the channel a turn came through changes about it. */
export interface ChannelPolicy {
  /** Put in front of the system prompt. */
  readonly instructions?: string | (() => string | Promise<string>);
  /** Narrows the turn's tools. */
  readonly tools?: (all: ToolSet) => ToolSet | Promise<ToolSet>;
  /** Steps a turn of this channel may take. */
  readonly maxTurns?: number;
}

/** What a feature may use of its agent. */
export interface FeatureHost {
  readonly agent: object;
  readonly env: unknown;
  /** The class's settings and methods. They may change: read them when they are needed. */
  readonly overrides: ThinkOverrides;
  /** Whether the class has a method of its own. */
  readonly isOverridden: (hook: OptionalHook) => boolean;
  readonly sql: Sql;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly quarantine: Quarantine;
  readonly emit: <Type extends EventType>(type: Type, payload: EventPayloads[Type]) => void;
  /** Admits, cancels, replays and follows turns. */
  readonly turns: TurnEngine;
  readonly conversation: LateOutcomes;
  /** Those of `getMessengers()` and `configureChannels()`. */
  readonly messengers: () => MessengerSet;
  /** `Sdk.validateInput`: what a schema makes of a value. */
  readonly validate: (schema: unknown, value: unknown) => Promise<Result<unknown, unknown>>;
  /** Runs work in the agent's context, kept alive until it ends. */
  readonly inAgent: <T>(work: () => Promise<T>) => Promise<T>;
  /** Work that no caller waits for. A rejection is logged. */
  readonly background: (work: Promise<unknown>) => void;
  /** `nextWake` may answer otherwise now. Never called inside a transaction. */
  readonly rearm: () => void;
  /** Logs what an action threw: its caller is given an output in its place. */
  readonly actionFailed: (error: unknown, call: FailedAction) => void;
  /** Sends a frame to every client that follows the protocol. */
  readonly broadcast: (frame: object) => void;
}

/** The factory of the feature that a value carries. */
export function carriedBy(value: unknown): FeatureFactory | undefined {
  if (!isObject(value) || !(FEATURE in value)) return undefined;
  const factory: unknown = value[FEATURE];
  // Only descriptors of this package have a member of this name.
  return typeof factory === "function" ? (factory as FeatureFactory) : undefined;
}
