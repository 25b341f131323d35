// The features of one agent: how they join, what they are asked and when. Each list of members is made when a feature
// joins, so a feature without a member costs nothing where that member would be called. A feature that fails is named
// in the log; it costs its own part and not the agent.
import type { UIMessage, UIMessageChunk } from "ai";
import { isGetMessagesRequest } from "../wire/get-messages.ts";
import { callable } from "../agent/connections/callable.ts";
import type { Connection } from "../agent/connections/connection.ts";
import type { AgentExtension } from "./agent-extension.ts";
import { parseChatFrame } from "../wire/index.ts";
import { asMessagePart, isToolPart, toolNameOf, type TruncateOptions } from "../model/index.ts";
import type { CallOutcome } from "../journal/records.ts";
import type { CutOffCall, FinalAnswer } from "../turn/hooks.ts";
import type { EngineTurn, TurnOutcome, TurnView } from "../turn/turn.ts";
import { errorMessage, type ThinkError } from "../util/errors.ts";
import { canonicalJson, isObject, parseJson } from "../util/json.ts";
import type { ActionsFeature, ApprovalSource, ReplyAttachment } from "../features/actions/contract.ts";
import type { MessengersFeature } from "../features/channels/channels.ts";
import { ActionMapError, FeatureClashError, MessengerMapError } from "../think/errors.ts";
import {
  carriedBy,
  type ChannelPolicy,
  type Feature,
  type FeatureFactory,
  type FeatureHost,
  type TurnObserver
} from "./feature.ts";
import type { OnStartDegradation } from "../think/overrides.ts";
import { TurnParts } from "./turn-parts.ts";
import { WarnOnce } from "../util/warn-once.ts";

type MessagePart = UIMessage["parts"][number];

/** Methods of the class whose values carry the feature that reads them, with that feature as the class uses it. */
export interface BroughtFeatures {
  getActions: ActionsFeature;
  getMessengers: MessengersFeature;
}

/** What is wrong with a value of such a method that carries no feature. */
const NOT_A_CARRIER: Readonly<Record<keyof BroughtFeatures, new () => ThinkError>> = {
  getActions: ActionMapError,
  getMessengers: MessengerMapError
};

/** What two features cannot share, by what it is called in the error. */
const NAMES_OF: Readonly<Record<string, (feature: Feature) => readonly string[]>> = {
  name: ({ name }) => [name],
  table: ({ tables = [] }) => tables.map(({ name }) => name),
  tool: ({ toolNames = [] }) => toolNames,
  route: ({ routes }) => keys(routes),
  frame: ({ frames }) => keys(frames),
  callable: ({ callables }) => keys(callables)
};

/** Taken by the package itself. */
const RESERVED_ROUTES: readonly string[] = ["chat", "get-messages", "sub", "v1"];
const RESERVED_FRAMES: readonly string[] = ["cf_agent_state", "rpc"];

export interface FeaturesInit {
  /** Made when the first feature joins. */
  readonly host: () => FeatureHost;
  /** Of the methods in `BroughtFeatures`, those the class overrides, and how to call them. */
  readonly bringers: ReadonlyMap<keyof BroughtFeatures, () => unknown>;
  /** A feature could not join, or failed while it started. */
  readonly degrade: (step: OnStartDegradation["step"], error: unknown) => void;
  /** What follows the agent's own address in a URL; undefined when the URL does not hold it. */
  readonly pathOf: (url: string) => string | undefined;
  readonly isReadonly: (connection: Connection) => boolean;
}

/** Of these members at least one is there. */
type With<Member extends keyof Feature> = Feature & Required<Pick<Feature, Member>>;

export class Features {
  readonly #init: FeaturesInit;
  readonly #brought = new Map<keyof BroughtFeatures, Feature>();
  /** Those that joined with a value which carries them. */
  readonly #joined = new Map<FeatureFactory, Feature>();
  readonly #adopted = new WeakSet<object>();
  readonly #warnings = new WarnOnce();
  readonly #byMember = new Map<keyof Feature, readonly Feature[]>();
  #list: readonly Feature[] = [];
  #host: FeatureHost | undefined;
  #isReady = false;

  constructor(init: FeaturesInit) {
    this.#init = init;
  }

  // ── Joining ──

  /** Before the user's `onStart`. */
  async start(factories: readonly FeatureFactory[]): Promise<void> {
    for (const factory of factories) this.#open(factory);
    for (const feature of this.#with("start")) {
      try {
        await feature.start();
      } catch (error) {
        this.#remove(feature, error);
      }
    }
  }

  /** After it. What `getActions()` and the like bring joins now: they may rely on `onStart`. */
  ready(): void {
    this.#isReady = true;
    for (const feature of this.#with("ready")) this.#guarded(feature, "ready", () => feature.ready());
    this.#bringAll();
    if (this.#with("nextWake").length > 0) this.#host?.rearm();
  }

  /** Throws FeatureClashError. */
  add(feature: Feature): void {
    this.#refuseClashes(feature);
    this.#setList([...this.#list, feature]);
  }

  /** Features that values of the class carry, such as tools of `getTools()`, join with the first of them. */
  adopt(carriers: Iterable<unknown>): void {
    for (const value of carriers) {
      const factory = carriedBy(value);
      if (!factory || !isObject(value) || this.#adopted.has(value)) continue;
      const feature = this.#joined.get(factory) ?? this.#open(factory);
      if (!feature) continue;
      this.#adopted.add(value);
      feature.adopt?.(value);
      if (this.#joined.has(factory)) continue;
      this.#joined.set(factory, feature);
      this.#startLate(feature);
    }
  }

  named(name: string): Feature | undefined {
    return this.#list.find((feature) => feature.name === name);
  }

  /** Of every feature that has any. */
  approvals(): readonly ApprovalSource[] {
    this.#bringAll();
    return this.#with("approvals").map(({ approvals }) => approvals);
  }

  /** The feature that a method of the class brings; undefined while its value is empty or cannot be had. */
  broughtBy<Method extends keyof BroughtFeatures>(method: Method): BroughtFeatures[Method] | undefined {
    try {
      // `#bring` keeps under a method what that method brought.
      return this.#bring(method) as BroughtFeatures[Method] | undefined;
    } catch (error) {
      // The caller may be a start, or a request that is not about this feature. Turns fail with the reason.
      this.#warnings.warn(`${method}() failed: ${errorMessage(error)}`);
      return undefined;
    }
  }

  #bringAll(): void {
    for (const method of this.#init.bringers.keys()) this.broughtBy(method);
  }

  /** Throws what the method throws, and for a value that is not a map of carriers. */
  #bring(method: keyof BroughtFeatures): Feature | undefined {
    const known = this.#brought.get(method);
    const read = this.#init.bringers.get(method);
    if (known || !read) return known;
    const value = read();
    if (!isObject(value)) throw new NOT_A_CARRIER[method]();
    const given = Object.values(value).filter((one) => one !== undefined);
    if (given.length === 0) return undefined;
    const factory = given.map(carriedBy).find((one) => one !== undefined);
    if (!factory) throw new NOT_A_CARRIER[method]();
    const feature = this.#open(factory);
    if (!feature) return undefined;
    this.#brought.set(method, feature);
    this.#startLate(feature);
    return feature;
  }

  #open(factory: FeatureFactory): Feature | undefined {
    let name = factory.name || "unnamed";
    try {
      this.#host ??= this.#init.host();
      const feature = factory(this.#host);
      name = feature.name;
      this.add(feature);
      this.#defineCallables(feature, this.#host.agent);
      return feature;
    } catch (error) {
      this.#init.degrade(`feature:${name}`, error);
      return undefined;
    }
  }

  /** The agent's start is over, or about to be. */
  #startLate(feature: Feature): void {
    try {
      const started = feature.start?.();
      if (started) this.#host?.background(started.catch((error: unknown) => this.#remove(feature, error)));
    } catch (error) {
      this.#remove(feature, error);
    }
    if (this.#isReady) this.#guarded(feature, "ready", () => feature.ready?.());
  }

  #remove(feature: Feature, error: unknown): void {
    for (const name of keys(feature.callables)) if (this.#host) Reflect.deleteProperty(this.#host.agent, name);
    this.#setList(this.#list.filter((other) => other !== feature));
    this.#init.degrade(`feature:${feature.name}`, error);
  }

  #setList(list: readonly Feature[]): void {
    this.#list = list;
    this.#byMember.clear();
  }

  #with<Member extends keyof Feature>(member: Member): readonly With<Member>[] {
    const known = this.#byMember.get(member) ?? this.#list.filter((feature) => feature[member] !== undefined);
    this.#byMember.set(member, known);
    return known as readonly With<Member>[];
  }

  #refuseClashes(feature: Feature): void {
    for (const [kind, names] of Object.entries(NAMES_OF)) {
      const taken = new Set(this.#list.flatMap(names));
      const clash = names(feature).find((name) => taken.has(name) || this.#isReserved(kind, name));
      if (clash !== undefined) throw new FeatureClashError(feature.name, { kind, name: clash });
    }
  }

  /** By the package itself, or by the class. */
  #isReserved(kind: string, name: string): boolean {
    if (kind === "route") return RESERVED_ROUTES.includes(name);
    if (kind === "frame") return RESERVED_FRAMES.includes(name) || parseChatFrame(`{"type":"${name}"}`) !== undefined;
    return kind === "callable" && this.#host !== undefined && name in this.#host.agent;
  }

  /** Found where the calls of clients look for methods. */
  #defineCallables({ callables = {} }: Feature, agent: object): void {
    for (const [name, call] of Object.entries(callables)) {
      const method = (...args: never[]): unknown => call(...args);
      callable()(method, name);
      Object.defineProperty(agent, name, { value: method, configurable: true });
    }
  }

  // ── Turns ──

  /** What they do in an attempt. Throws what a feature throws: the turn fails with it. */
  async inTurn(turn: EngineTurn): Promise<TurnParts> {
    for (const method of this.#init.bringers.keys()) this.#bring(method);
    const parts = [];
    for (const feature of this.#with("inTurn")) {
      const part = await feature.inTurn(turn);
      if (part) parts.push(part);
    }
    return new TurnParts(parts);
  }

  /** One that cannot be reached costs its tools, not the turn. */
  async untilConnected(timeoutMs: number): Promise<void> {
    const waits = this.#with("untilConnected").map(async (feature) => {
      try {
        await feature.untilConnected(timeoutMs);
      } catch (error) {
        console.warn(`Waiting for the feature "${feature.name}" failed:`, error);
      }
    });
    await Promise.all(waits);
  }

  /** Undefined: no feature has channels, and a turn's channel is only a name. Null: it is not the name of one. */
  channelPolicy(channel: string): ChannelPolicy | null | undefined {
    const features = this.#with("channelPolicy");
    if (features.length === 0) return undefined;
    for (const feature of features) {
      const policy = feature.channelPolicy(channel);
      if (policy) return policy;
    }
    return null;
  }

  /** The outputs that stay whole however old they are: those of tools the class names, and those of features. */
  keptOutputs(wholeOutputs: readonly string[] = []): NonNullable<TruncateOptions["keepOutput"]> {
    return (call) => {
      if (wholeOutputs.includes(call.toolName)) return `${call.toolName} ${canonicalJson(call.input)}`;
      for (const feature of this.#with("keepOutput")) {
        const key = feature.keepOutput(call);
        if (key !== undefined) return key;
      }
      return undefined;
    };
  }

  /** The first that has something to say about it. */
  finalAnswer(turn: TurnView, message: UIMessage | undefined): FinalAnswer | undefined {
    for (const feature of this.#with("finalAnswer")) {
      const final = feature.finalAnswer(turn, message);
      if (final) return final;
    }
    return undefined;
  }

  isOwnTool(turn: EngineTurn, toolName: string): boolean {
    return this.#with("isOwnTool").some((feature) => feature.isOwnTool(turn, toolName));
  }

  /** Of tools that no extension may take the place of. */
  toolNames(): string[] {
    return this.#with("toolNames").flatMap(({ toolNames }) => toolNames);
  }

  observers(): readonly TurnObserver[] {
    return this.#with("observer").map(({ observer }) => observer);
  }

  settled(turn: TurnView, outcome: TurnOutcome): void {
    for (const feature of this.#with("settled"))
      this.#guarded(feature, "settled", () => feature.settled(turn, outcome));
  }

  cleared(): void {
    this.#bringAll();
    for (const feature of this.#with("cleared")) feature.cleared();
  }

  runsTool(toolName: string): boolean {
    this.#bringAll();
    return this.#with("runsTool").some((feature) => feature.runsTool(toolName));
  }

  /** A call that was cut off, with its outcome where a feature has it. */
  settledPart(part: MessagePart, requestId: string): MessagePart | undefined {
    if (!isToolPart(part)) return undefined;
    this.#bringAll();
    const { toolCallId, input } = part;
    for (const feature of this.#with("lostOutcome")) {
      const known = feature.lostOutcome({ requestId, toolCallId, toolName: toolNameOf(part), input });
      if (known) return asMessagePart({ ...part, state: "output-available", output: known[0] ?? null });
    }
    return undefined;
  }

  keepsOutcome(turn: EngineTurn, call: Omit<CutOffCall, "input">): boolean {
    return this.#with("keepsOutcome").some(
      (feature) => this.#guarded(feature, "keepsOutcome", () => feature.keepsOutcome(turn, call)) ?? false
    );
  }

  /** One that fails knows nothing of the call. */
  async lateOutcome(turn: EngineTurn, call: CutOffCall): Promise<CallOutcome | undefined> {
    for (const feature of this.#with("lateOutcome")) {
      try {
        const outcome = await feature.lateOutcome(turn, call);
        if (outcome) return outcome;
      } catch (error) {
        logFailure(feature, "lateOutcome", error);
      }
    }
    return undefined;
  }

  annotateRecovered(chunk: UIMessageChunk): UIMessageChunk {
    this.#bringAll();
    return this.#with("annotateRecovered").reduce((shown, feature) => feature.annotateRecovered(shown), chunk);
  }

  attachmentsOf(turnId: string): ReplyAttachment[] {
    this.#bringAll();
    return this.#with("attachmentsOf").flatMap((feature) => feature.attachmentsOf(turnId));
  }

  // ── Wakes, requests, frames ──

  /** The earliest; null when none needs one. */
  nextWake(nowMs: number): number | null {
    const wakes = this.#with("nextWake").map(
      (feature) => this.#guarded(feature, "nextWake", () => feature.nextWake(nowMs)) ?? null
    );
    return wakes.reduce((first, at) => (first === null || (at !== null && at < first) ? at : first), null);
  }

  /** The features' place in the life of the agent. */
  extension(): AgentExtension {
    return {
      ready: () => this.ready(),
      connected: (connection) => {
        for (const feature of this.#with("connected"))
          this.#guarded(feature, "connected", () => feature.connected(connection));
      },
      receive: (connection, text) => this.#receive(connection, text),
      respond: (request) => this.#respond(request),
      runDue: () => this.#runDue(),
      stop: () => {
        for (const feature of this.#with("stop")) this.#guarded(feature, "stop", () => feature.stop());
      }
    };
  }

  /** All of them run; then a failure of any is the wake's, which comes again. */
  async #runDue(): Promise<void> {
    const features = this.#with("runDue");
    const results = await Promise.allSettled(features.map(async (feature) => feature.runDue()));
    const failed = results.flatMap((result, index) => {
      if (result.status === "fulfilled") return [];
      logFailure(features[index], "runDue", result.reason);
      return [result.reason];
    });
    if (failed.length > 0) throw failed[0];
  }

  #respond(request: Request): Promise<Response | undefined> | undefined {
    const isComplete = this.#init.bringers.size === this.#brought.size;
    if (isComplete && this.#with("routes").length === 0 && this.#with("respond").length === 0) return undefined;
    return this.#respondBy(request, this.#init.pathOf(request.url));
  }

  async #respondBy(request: Request, below: string | undefined): Promise<Response | undefined> {
    const path = /^\/([^/]+)(.*)$/s.exec(below ?? "");
    const [, name = "", rest = ""] = path ?? [];
    const response = path ? await this.#route(request, { name, rest }) : undefined;
    return response ?? this.#offer(request, below ?? new URL(request.url).pathname);
  }

  /** For features whose addresses the class chooses: the transcript's own address comes first. */
  async #offer(request: Request, path: string): Promise<Response | undefined> {
    if (isGetMessagesRequest(request)) return undefined;
    this.#bringAll();
    for (const feature of this.#with("respond")) {
      try {
        const response = await feature.respond(request, path);
        if (response) return response;
      } catch (error) {
        logFailure(feature, "respond", error);
        return new Response("Internal Server Error", { status: 500 });
      }
    }
    return undefined;
  }

  async #route(request: Request, { name, rest }: { name: string; rest: string }): Promise<Response | undefined> {
    const find = () => this.#with("routes").find(({ routes }) => Object.hasOwn(routes, name));
    if (!find()) this.#bringAll();
    const feature = find();
    try {
      return await feature?.routes[name]?.(request, rest);
    } catch (error) {
      logFailure(feature, "routes", error);
      return new Response("Internal Server Error", { status: 500 });
    }
  }

  #receive(connection: Connection, text: string): boolean | Promise<boolean> {
    const features = this.#with("frames");
    if (features.length === 0) return false;
    const parsed = parseJson(text);
    const frame = parsed.ok && isObject(parsed.value) ? parsed.value : {};
    const type = String(frame["type"]);
    const feature = features.find(({ frames }) => Object.hasOwn(frames, type));
    if (!feature) return false;
    if (!this.#init.isReadonly(connection)) return this.#handle(feature, { type, frame, connection });
    this.#warnings.warn(`Refused "${type}": its connection is readonly.`);
    return true;
  }

  async #handle(
    feature: With<"frames">,
    { type, frame, connection }: { type: string; frame: Record<string, unknown>; connection: Connection }
  ): Promise<true> {
    try {
      await feature.frames[type]?.(frame, connection);
    } catch (error) {
      logFailure(feature, "frames", error);
    }
    return true;
  }

  #guarded<T>(feature: Feature, member: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      logFailure(feature, member, error);
      return undefined;
    }
  }
}

function logFailure(feature: Feature | undefined, member: string, error: unknown): void {
  console.error(`The feature "${feature?.name}" failed in ${member}:`, error);
}

function keys(record: object | undefined): string[] {
  return Object.keys(record ?? {});
}
