// What a capability does in the life of an agent, as one object. Everything but its name is optional, and what it leaves out
// is never called. The runtime holds a list and knows no feature by name; features know each other neither. A member of
// `Feature` is for any number of features; what only one can do for an agent is a role.
//
// A feature joins in one of two ways: its capability stands in the list of the class, or a value of the class, such as an
// action of `getActions()`, carries the factory under `FEATURE`. Only a class that has such values imports that code.
import type { LanguageModel, ToolSet, UIMessage, UIMessageChunk } from "ai";
import type { ModelOrList } from "./settings.ts";
import type {
  CallMeter,
  ChunkEvent,
  FinishedToolCall,
  StepEnd,
  StepSettings,
  StepStart,
  StopWhen,
  ToolCallToRun,
  TruncateOptions
} from "../model/index.ts";
import type { CallOutcome } from "../journal/records.ts";
import type { AssembledTurn, CutOffCall, FinalAnswer, TurnHooks } from "../turn/hooks.ts";
import type { TurnView, TurnOutcome } from "../turn/turn.ts";
import { isObject, type Json } from "../util/json.ts";
import type {
  ActionLedgerEntry,
  ApprovalSource,
  ListLedgerOptions,
  PendingApproval,
  ReplyAttachment
} from "./approval-contract.ts";
import type { BudgetRole } from "./budget-contract.ts";
import type { TurnConfig, TurnContext } from "./hooks.ts";
import type { Connection } from "../host/connection.ts";
import type { AgentPathStep } from "../host/path.ts";
import type { TurnArchive } from "../journal/history.ts";
import type { Preserve } from "../session/media-evictor.ts";
import type { SubmitMessagesOptions, SubmitMessagesResult } from "./submission-types.ts";
import type { SubmissionInput } from "./turn-input.ts";
import type { Receipt } from "../turn/receipts.ts";
import type { ChatServices } from "./services.ts";
import type { ResultReader } from "./read-result.ts";
import type { SkillTools, ToolDiscoveryRole } from "./tool-discovery.ts";
import type { ToolLayerName } from "./tool-layers.ts";
import type { MaybePromise } from "../util/maybe-promise.ts";

/** Under which a value carries its feature. Registered, so that two copies of the package agree on it. */
export const FEATURE: unique symbol = Symbol.for("everthink.feature") as typeof FEATURE;

export interface CarriesFeature<Brought extends Feature = Feature> {
  readonly [FEATURE]: FeatureFactory<Brought>;
}

/** Called once per activation. A throw leaves the feature out; see `getOnStartDegradations`. */
export type FeatureFactory<Brought extends Feature = Feature> = (services: ChatServices) => Brought;

export interface Feature {
  /** In logs and in `getOnStartDegradations`. One feature of a name per agent. */
  readonly name: string;
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
  inTurn?(turn: TurnView): MaybePromise<TurnPart | undefined>;
  /** The outcome and the answer are stored. Also for turns of an earlier process. A throw is logged. */
  settled?(turn: TurnView, outcome: TurnOutcome): void;
  /** The conversation is emptied. Part of the transaction: a throw undoes the clear. */
  cleared?(): void;
  /** What it knows of calls of its tools outside a running attempt. */
  readonly calls?: CallOwner;
  /** What waits for humans. */
  readonly approvals?: ApprovalSource;
  /** While what waited before a restart is made known again; undefined: there is nothing to wait for. */
  approvalsRestored?(): Promise<void> | undefined;
  /**
   * A value of the class that carries this feature, such as a tool. Each is given once per start. Only tools that execute code
   * have something of their own to give. It is no role: the value names the feature that it is for, and a role is looked up
   * among all features.
   */
  adopt?(carrier: object): void;

  // ── Clients. Everything they send is untrusted. ──

  /** Requests directly below the agent's address, by first path segment. */
  readonly routes?: Readonly<Record<string, RouteHandler>>;
  /**
   * Any other request, before the class's `onRequest`: `path` is what follows the agent's address, or the whole path of a
   * URL that does not contain it. Undefined leaves the request to the class.
   */
  respond?(request: Request, path: string): MaybePromise<Response | undefined>;
  /** A client that follows the protocol has connected; its first frames are the features'. */
  connected?(connection: Connection): void;
  disconnected?(connection: Connection): void;
  /** A text frame, before the agent looks at it; true when it was taken. */
  receive?(connection: Connection, text: string): MaybePromise<boolean>;

  /** What this feature alone does for the agent. */
  readonly roles?: Partial<Roles>;
}

/** Of calls whose attempt is over, or that no attempt has begun. Without a member: it knows nothing of that kind. */
export interface CallOwner {
  /** Whether it runs a tool of this name on the server now. */
  runsTool?(toolName: string): boolean;
  /** The result of a call that its turn lost in a crash, in a list of one; undefined: not known. */
  lostOutcome?(call: LostCall): [Json | undefined] | undefined;
  /** Whether the work behind a call that was cut off goes on, or is kept, outside the turn: `lateOutcome` waits for it. */
  keepsOutcome?(turn: TurnView, call: Omit<CutOffCall, "input">): boolean;
  /** What came of such a call; undefined: not known. Waits no longer than the turn's signal. */
  lateOutcome?(turn: TurnView, call: CutOffCall): Promise<CallOutcome | undefined>;
  /** As `TurnPart.annotate`, for outcomes that an earlier attempt did not get to stream. */
  annotateRecovered?(chunk: UIMessageChunk): UIMessageChunk;
  /** Outputs that the model must still read in full when they are old; see TruncateOptions. */
  readonly keepOutput?: TruncateOptions["keepOutput"];
}

/**
 * What at most one feature of an agent does for it. The agent looks a role up by its name and does without one that no
 * feature has.
 */
export interface Roles {
  // ── Clients ──

  /** Who may reach the agent and its sub-agents, beside what the class says. */
  readonly access: AccessRole;
  /**
   * Requests that carry a credential of the feature's own making, such as the end of a login: answered also where only the
   * class may answer. `path` as for `respond`.
   */
  readonly callbacks: (request: Request, path: string) => MaybePromise<Response | undefined>;
  /** Inspectors: requests that have a credential of their own. */
  readonly inspector: InspectorRole;
  /**
   * Whether a socket that connects at this path below the agent's address carries a protocol of the feature's own: then it
   * is sent nothing else, and every frame of it goes to `receive`.
   */
  readonly dedicates: (path: string, request: Request) => boolean;

  // ── Turns ──

  /** Before features are asked for their part in a turn: waits for what it connects to, as long as the class says. */
  readonly untilConnected: () => Promise<void> | undefined;
  /** What the channel a turn came through changes about it; undefined: there is no channel of this name. */
  readonly channelPolicy: (channel: string) => ChannelPolicy | undefined;
  /** Which tools of a turn the model is offered, and how it finds the others. */
  readonly toolDiscovery: ToolDiscoveryRole;
  /** The skills of a turn that name tools. Asked after the features' parts of the turn. */
  readonly skillTools: () => readonly SkillTools[];
  /** Turns whose answer has a shape of its own. */
  readonly finalAnswers: FinalAnswerRole;
  /** What it sees of running turns, each time after the class's hook of that name. */
  readonly observer: TurnObserver;
  /** What `onChatResponse` is given with the turn's answer. */
  readonly attachmentsOf: (turnId: string) => ReplyAttachment[];
  /** What stays known of actions, newest first. */
  readonly actionLedger: (options: ListLedgerOptions) => readonly ActionLedgerEntry[];
  /** Which model of several is asked after one has failed. */
  readonly nextModel: NonNullable<TurnHooks["nextModel"]>;
  /** Decides over calls that wait for approval in the chat. */
  readonly decideCall: NonNullable<TurnHooks["decideCall"]>;
  /** Keeps what turns, sub-agents and tools may spend. */
  readonly budgets: BudgetRole;
  /** The runs for parents that turns of this agent are: told of turns that waited for a person to grant more budget. */
  readonly ownRuns: OwnRunsRole;
  /** Accepts turns that run later, and keeps what stays known of them. */
  readonly submissions: SubmissionsRole;
  /** A question was not decided in time: says so where it was asked. Once, however often it is called. */
  readonly escalated: (question: PendingApproval) => Promise<void>;
  /** Takes a client's command about messages that wait. `sender` is its connection. */
  readonly steering: (sender: object, fields: Record<string, unknown>) => MaybePromise<void>;
  /** Accepts messages for the running turn, for the features that they come in by. */
  readonly steers: SteersRole;
  /** Keeps large media of old messages; asked anew for each. Undefined: they stay with their message. */
  readonly preserve: () => Preserve | undefined;

  // ── Other processes and objects of the application ──

  /**
   * After all features have started, before the user's `onStart`: gives work that an earlier process left to user code.
   * Undefined: there is none. The start waits for it for a moment only. Must not reject.
   */
  readonly recovery: () => Promise<void> | undefined;
  /** A report of a workflow that the agent has started. */
  readonly workflowReport: (report: object) => Promise<unknown>;
  /** The agent's schedules, for the root of its tree: it says what is cancelled with a sub-agent. */
  readonly schedules: () => readonly { readonly callback: string; readonly id: string }[];
  /** Schedules of an earlier layout, which the root of the tree hands over. */
  readonly carriedSchedules: (schedules: readonly object[]) => Promise<unknown>;
  /** The agent is to be destroyed: what is kept outside of its storage is deleted first. A throw ends the attempt. */
  readonly deleteOutside: () => Promise<void>;
}

export interface AccessRole {
  /** A client's request or socket for this agent. A Response refuses it; "class": only the class itself may answer it. */
  admitHere(request: Request): MaybePromise<Response | "class" | undefined>;
  /** A client's request or socket for a sub-agent, before that is woken, and again when it is awake. A Response refuses it. */
  admitChild(request: Request, child: AddressedChild): MaybePromise<Response | undefined>;
  /** Messengers whose users' names it alone may give, such as `telegram` for `telegram:7`. */
  identities(): readonly string[];
  /** A sub-agent was deleted. */
  removed(child: AgentPathStep): void;
}

/** `path` is what follows the agent's address. */
export interface InspectorRole {
  /** Whether requests at this path are an inspector's. They are checked where they are answered. */
  answers(path: string): boolean;
  /** Whether a request at such a path has the credential. */
  admits(request: Request, path: string): Promise<boolean>;
}

export interface FinalAnswerRole {
  /** What of a completed answer is stored, and what the turn's output is. Part of the transaction that ends the turn. */
  finalAnswer(turn: TurnView, message: UIMessage | undefined): FinalAnswer | undefined;
  /** A tool that only the package itself has a use for: the class's tool hooks are not called for it. */
  isOwnTool(turn: TurnView, toolName: string): boolean;
}

export interface OwnRunsRole {
  /** Another turn goes on with what this one began. Part of the transaction that admits it. */
  goesOn(turnId: string, next: { readonly turnId: string; readonly requestId: string }): void;
  /** What the turn waited for was not granted. */
  notGranted(turnId: string): void;
}

export interface SubmissionsRole {
  /** Keeps what stays known of its turns in place of the journal. */
  readonly archive: TurnArchive;
  /** All turns were given up. Part of that transaction. */
  gaveUp(): void;
  /** For `runTurn({ mode: "submit" })`. */
  submit(input: SubmissionInput, options: SubmitMessagesOptions): Promise<SubmitMessagesResult>;
}

export interface SteersRole {
  /** Durable when it resolves. Rejects with the reason for which it was not taken. */
  accept(message: GivenSteer): Promise<Receipt>;
}

/** A message for the running turn. */
export interface GivenSteer {
  /** The same id again is not accepted twice. */
  readonly id: string;
  readonly kind: Receipt["kind"];
  readonly input: SubmissionInput;
  /** What a client sends carries nothing but its parts. */
  readonly isFromClient: boolean;
  readonly body?: Record<string, unknown> | undefined;
  readonly channel?: string | undefined;
  /** As that of a turn. */
  readonly idempotencyId?: string | undefined;
  /** Part of the transaction that accepts it. A throw undoes it. */
  readonly commit?: () => void;
}

/** The sub-agent that a client's URL names. */
export interface AddressedChild extends AgentPathStep {
  /** What follows the last sub-agent of the URL, starting with "/": for this one, or for one further below. */
  readonly innermostPath: string;
}

/** The layers a feature may bring tools in. The class's own, the client's and the turn's are not a feature's to give. */
export type FeatureLayer = Exclude<ToolLayerName, "tools" | "client" | "turn">;

/** Its methods never throw: a turn goes on whatever becomes of them. Awaited, but for `onChunk`. */
export interface TurnObserver {
  /** With the input that the class decided on. */
  beforeToolCall(turn: TurnView, call: ToolCallToRun): Promise<void>;
  afterToolCall(turn: TurnView, call: FinishedToolCall): Promise<void>;
  onStepFinish(turn: TurnView, event: StepEnd): Promise<void>;
  onChunk(turn: TurnView, event: ChunkEvent): void;
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
  /** The model that it is to ask, given what `getModel()` returns. `beforeTurn` may say otherwise. */
  chooseModel?(own: () => ModelOrList): ModelOrList;
  /** Steps that were asked for with the turn. `beforeTurn` may say otherwise; a channel and the class may not. */
  readonly maxSteps?: number;
  /** The model that was asked for with the turn, by a name that `beforeTurn` knows. */
  readonly modelHint?: string;
  /** The turn is assembled, `beforeTurn` included. A grant is recorded and holds for later attempts. */
  begin?(context: TurnContext, assembled: AssembledParts): MaybePromise<BegunTurn | void>;
  /** The model of a step for which the class's `beforeStep` returned one: that, or what is asked in its place. */
  stepModel?(model: LanguageModel): LanguageModel;
  /** Before each step, after the class's `beforeStep`: its settings win, those of later features over earlier ones. */
  beforeStep?(event: StepStart): MaybePromise<StepSettings | undefined>;
  /** A further condition to end the turn after a step. */
  readonly stopWhen?: Exclude<StopWhen, readonly unknown[]>;
  /** The answer is one value: a steer waits for the end of the turn. */
  readonly isWhole?: boolean;
  /** What works for the turn outside its model calls: tokens it has used, and a further limit for the whole turn. */
  readonly tokens?: { readonly used: () => number; readonly limit?: number };
  /** A last look at each chunk, before it is stored and sent. */
  annotate?(chunk: UIMessageChunk): UIMessageChunk;
  /** Is asked before each call of a provider, and learns what it used. A throw of TurnEndError ends the turn there. */
  readonly meter?: CallMeter;
}

/** What is recorded of a turn that begins. */
export type BegunTurn = Pick<AssembledTurn, "grant" | "choice">;

/** What the turn was assembled from, `beforeTurn` included. */
export type AssembledParts = Pick<AssembledTurn, "settings" | "tools" | "maxSteps">;

/** `rest` is what follows the route's name: "" or a path that begins with "/". Undefined leaves the request to the class. */
export type RouteHandler = (request: Request, rest: string) => MaybePromise<Response | undefined>;

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

/** The factory of the feature that a value carries. */
export function carriedBy(value: unknown): FeatureFactory | undefined {
  if (!isObject(value) || !(FEATURE in value)) return undefined;
  const factory: unknown = value[FEATURE];
  // Only descriptors of this package have a member of this name.
  return typeof factory === "function" ? (factory as FeatureFactory) : undefined;
}
