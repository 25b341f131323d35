// What every agent has: public names and override points. What they do lives in the modules beside this file. Capabilities
// add theirs to the classes above: see `agent.ts`.
import { DurableObject } from "#platform";
import { readTakeoverReport, type TakeoverReport } from "../host/takeover.ts";
import { diagnosticsObservability, type Observability } from "../observe/emit.ts";
import { listCallables, type CallableMetadata } from "../feature/callable.ts";
import { socketOf, type Connection, type ConnectionContext } from "../host/connection.ts";
import { currentContext } from "./context.ts";
import { SqlError } from "./errors.ts";
import { sessionAffinityOf } from "./identity.ts";
import type { InternalEnvelope } from "./tree/internal.ts";
import type { AgentStaticOptions } from "./options.ts";
import type { AgentPath, AgentPathStep } from "../host/path.ts";
import { retry, type RetryCallOptions } from "./retry.ts";
import { openRuntime, runtimeOf } from "./runtime.ts";
import type { StateSource } from "./state.ts";
import type { SubAgentInfo } from "./tree/children.ts";
import { parentStub } from "./tree/parent.ts";
import type { SubAgentClass, SubAgentStub } from "./tree/sub-agent-stub.ts";
import { passOn } from "./tree/agent-call.ts";
import { wrapUserMethods } from "./wrap.ts";
import { giveFields, markAsOwn } from "../feature/members.ts";
import type { BASE } from "../util/base-type.ts";
import { isThenable, type MaybePromise } from "../util/maybe-promise.ts";

type SqlInput = string | number | boolean | null;
export abstract class AgentBase<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends DurableObject<Env> {
  /** For the compiler only: the names that are not of a user's class. */
  declare readonly [BASE]?: AgentBase;

  static {
    markAsOwn(this, ["setState"]);
  }

  /**
   * Settings of the class; name only what differs from the defaults.
   * @example
   * static options = { allowedOrigins: ["https://app.example.com"] };
   */
  static options?: AgentStaticOptions;

  /**
   * Stored at the first read of `state` when nothing is stored yet.
   * @example
   * initialState = { votes: {} as Record<string, number> };
   */
  declare initialState: State;

  /**
   * Where events go; `undefined` turns them off.
   * @example
   * observability = { emit: (event: AgentEvent) => console.log(JSON.stringify(event)) };
   */
  observability: Observability | undefined = diagnosticsObservability;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const options = (this.constructor as typeof AgentBase).options;
    const runtime = openRuntime({ agent: this, ctx, env, className: this.constructor.name, options });
    // A subclass constructor may call its own methods; only after it has returned can a call come from outside.
    queueMicrotask(() => {
      runtime.isConstructed = true;
    });
    wrapUserMethods(this, AgentBase.prototype, enterInstance);
    runtime.features.openWithAgent();
    giveFields(this);
  }

  // ── Identity ──

  /** The name this agent is addressed by. */
  get name(): string {
    return runtimeOf(this).identity.name;
  }

  /** Ancestors, root first; empty at top level. */
  get parentPath(): AgentPath {
    return structuredClone(runtimeOf(this).identity.parentPath);
  }

  get selfPath(): AgentPath {
    return structuredClone(runtimeOf(this).identity.selfPath);
  }

  /** Stable per agent; lets a model provider keep its prompt cache warm. */
  get sessionAffinity(): string {
    const { identity, ctx } = runtimeOf(this);
    return sessionAffinityOf(identity, ctx.id.toString());
  }

  /** How this object came over from the packages that everthink replaces; undefined: it was never theirs. */
  getTakeoverReport(): TakeoverReport | undefined {
    return readTakeoverReport(runtimeOf(this).sql);
  }

  // ── Override points ──

  /**
   * Runs once per activation, before any event. `props` come from the caller that caused it, if it gave any.
   * @example
   * async onStart() {
   *   await this.scheduleEvery(300, "poll");
   * }
   */
  onStart(_props?: Props): MaybePromise<void> {}

  /**
   * Answers the requests to the agent's address that no part of the package answers. Default: 404.
   * @example
   * onRequest(request: Request) {
   *   if (!hasBearerToken(request, this.env.OWNER_TOKEN)) return new Response("Unauthorized", { status: 401 });
   *   return Response.json(this.state);
   * }
   */
  onRequest(_request: Request): MaybePromise<Response> {
    return new Response("Not implemented", { status: 404 });
  }

  /**
   * Called when a client has connected. Closing the connection with code 1008 or 4000 to 4999 turns it away for good.
   * @example
   * onConnect(connection: Connection, { request }: ConnectionContext) {
   *   connection.setState({ user: userOf(request) }); // behind createLogin()
   * }
   */
  onConnect(_connection: Connection, _context: ConnectionContext): MaybePromise<void> {}

  /**
   * Frames that are not part of the protocol. Binary ones arrive as ArrayBuffer.
   * @example
   * onMessage(connection: Connection, message: string | ArrayBuffer) {
   *   if (message === "ping") connection.send("pong");
   * }
   */
  onMessage(_connection: Connection, _message: string | ArrayBuffer): MaybePromise<void> {}

  /**
   * Called when a client's connection has ended.
   * @example
   * onClose(connection: Connection) {
   *   this.broadcast(JSON.stringify({ type: "left", id: connection.id }));
   * }
   */
  onClose(_connection: Connection, _code: number, _reason: string, _wasClean: boolean): MaybePromise<void> {}

  /**
   * Every error of user code passes here. Returning normally means it is handled; the default logs and rethrows.
   * @example
   * onError(...args: unknown[]) {
   *   report(args.at(-1)); // your error tracking
   *   throw args.at(-1);
   * }
   */
  onError(error: unknown): MaybePromise<void>;
  onError(connection: Connection, error: unknown): MaybePromise<void>;
  onError(...args: [error: unknown] | [connection: Connection, error: unknown]): MaybePromise<void> {
    const error = args.length === 2 ? args[1] : args[0];
    console.error(`Error in ${runtimeOf(this).labelFor(error)}:`, error);
    throw error;
  }

  /**
   * Up to 9 tags for `getConnections(tag)`.
   * @example
   * getConnectionTags(_connection: Connection, { request }: ConnectionContext) {
   *   return [userOf(request) ? "member" : "guest"];
   * }
   */
  getConnectionTags(_connection: Connection, _context: ConnectionContext): MaybePromise<string[]> {
    return [];
  }

  /**
   * A readonly client may watch. It can change neither the state nor the conversation, also not through a callable.
   * @example
   * shouldConnectionBeReadonly(_connection: Connection, { request }: ConnectionContext) {
   *   return userOf(request) !== this.name; // behind createLogin()
   * }
   */
  shouldConnectionBeReadonly(_connection: Connection, _context: ConnectionContext): MaybePromise<boolean> {
    return false;
  }

  /**
   * Whether a client gets identity, state and MCP frames.
   * @example
   * shouldSendProtocolMessages(_connection: Connection, { request }: ConnectionContext) {
   *   return !new URL(request.url).searchParams.has("sensor");
   * }
   */
  shouldSendProtocolMessages(_connection: Connection, _context: ConnectionContext): MaybePromise<boolean> {
    return true;
  }

  /**
   * Throw to refuse a change of state; nothing is changed then.
   * @example
   * validateStateChange(next: { votes: Record<string, number> }) {
   *   if (Object.keys(next.votes).length > 100) throw new Error("At most 100 options");
   * }
   */
  validateStateChange(_next: State, _source: StateSource): void {}

  /**
   * Called after each change of the state, by the server or by a client.
   * @example
   * onStateChanged(next: { votes: Record<string, number> }, source: StateSource) {
   *   if (source !== "server") console.log(source.id, "voted:", next.votes);
   * }
   */
  onStateChanged(_next: State, _source: StateSource): MaybePromise<void> {}

  /**
   * Decides over a client's access to a sub-agent: a Response refuses, a Request replaces, nothing lets it through.
   * @example
   * onBeforeSubAgent(_request: Request, child: AgentPathStep) {
   *   if (!this.hasAgentToolRun(child.className, child.name)) return new Response("Not found", { status: 404 });
   * }
   */
  onBeforeSubAgent(_request: Request, _child: AgentPathStep): MaybePromise<Response | Request | void> {}

  // ── Storage and state ──

  /**
   * Runs one statement; each interpolation is a bound value. Tables of this package (`cf_*`, `assistant_*`,
   * `think_config`) are its own business: each is made by the first write to it, and does not exist before.
   */
  sql<Row = Record<string, string | number | boolean | null>>(
    strings: TemplateStringsArray,
    ...values: SqlInput[]
  ): Row[] {
    const query = strings.join("?");
    try {
      return runtimeOf(this).sql.all(
        query,
        ...values.map((value) => (typeof value === "boolean" ? Number(value) : value))
      ) as Row[];
    } catch (error) {
      throw new SqlError(query, error);
    }
  }

  get state(): State {
    return runtimeOf(this).state.value as State;
  }

  /** Replaces the whole state, stores it and sends it to every client. */
  setState(next: State): void {
    runtimeOf(this).state.set(next, "server");
  }

  // ── Connections ──

  getConnections(tag?: string): Iterable<Connection> {
    return runtimeOf(this).connections.list(tag);
  }

  getConnection(id: string): Connection | undefined {
    return runtimeOf(this).connections.get(id);
  }

  /** Sends to every client except those with the given ids. */
  broadcast(message: string | ArrayBuffer | ArrayBufferView, without?: string[]): void {
    runtimeOf(this).connections.broadcast(message, without);
  }

  setConnectionReadonly(connection: Connection, readonly = true): void {
    const socket = socketOf(connection);
    socket.setAttachment({ ...socket.attachment, readonly });
  }

  isConnectionReadonly(connection: Connection): boolean {
    return socketOf(connection).attachment.readonly;
  }

  isConnectionProtocolEnabled(connection: Connection): boolean {
    return socketOf(connection).attachment.protocol;
  }

  /** The methods a client may call. */
  getCallableMethods(): Map<string, CallableMetadata> {
    return listCallables(this);
  }

  // ── Time ──

  /** Tries again with growing random pauses; the last error is thrown. */
  retry<T>(work: (attempt: number) => Promise<T>, options?: RetryCallOptions): Promise<T> {
    const { options: defaults, clock, ids } = runtimeOf(this);
    return retry(work, { ...options, defaults: defaults.retry, clock, ids });
  }

  /** Keeps the agent in memory until the returned function is called. Does not protect from restarts. */
  keepAlive(): Promise<() => void> {
    return runtimeOf(this).keepAlive.acquire();
  }

  keepAliveWhile<T>(work: () => Promise<T>): Promise<T> {
    return runtimeOf(this).keepAlive.while(work);
  }

  // ── Sub-agents ──

  /** Gets or creates a child agent with its own storage. Agents nest at most 4 deep, the root included. */
  async subAgent<T extends AgentBase>(childClass: SubAgentClass<T>, name: string): Promise<SubAgentStub<T>> {
    const stub = await runtimeOf(this).tree.spawn({ className: childClass.name, name });
    // The facet is an instance of the class that was asked for.
    return stub as object as SubAgentStub<T>;
  }

  /** Stops a running child; its storage stays, and the next access starts it again. */
  abortSubAgent(childClass: SubAgentClass, name: string, reason?: unknown): void {
    const error =
      reason instanceof Error ? reason : new Error(reason === undefined ? "Sub-agent aborted" : String(reason));
    runtimeOf(this).tree.children.abort({ className: childClass.name, name }, error);
  }

  /** Deletes a child with its schedules, connections, storage and descendants. */
  async deleteSubAgent(childClass: SubAgentClass, name: string): Promise<void> {
    await runtimeOf(this).tree.remove({ className: childClass.name, name });
  }

  hasSubAgent(childClass: SubAgentClass | string, name: string): boolean {
    return runtimeOf(this).tree.children.has({ className: classNameOf(childClass), name });
  }

  /** Children in the order they were created. */
  listSubAgents(childClass?: SubAgentClass | string): SubAgentInfo[] {
    return runtimeOf(this).tree.list(childClass && classNameOf(childClass));
  }

  /** The parent; or a farther ancestor with `level` 2, 3. */
  async parentAgent<T extends AgentBase>(
    parentClass: SubAgentClass<T>,
    options?: { level?: number }
  ): Promise<SubAgentStub<T>> {
    return parentStub<T>(runtimeOf(this), parentClass.name, options?.level ?? 1);
  }

  /** Deletes everything this agent stored. The caller may see its connection break. */
  async destroy(): Promise<void> {
    await runtimeOf(this).destroy();
  }

  // ── Platform entries ──

  override fetch(request: Request): Promise<Response> {
    return runtimeOf(this).entry.fetch(request);
  }

  override alarm(info?: AlarmInvocationInfo): Promise<void> {
    return runtimeOf(this).wake(info);
  }

  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    return runtimeOf(this).entry.socketMessage(socket, message);
  }

  override webSocketClose(socket: WebSocket, code: number, reason: string, wasClean: boolean): Promise<void> {
    return runtimeOf(this).entry.socketClose(socket, { code, reason, wasClean });
  }

  override webSocketError(socket: WebSocket, error: unknown): Promise<void> {
    return runtimeOf(this).entry.socketError(socket, error);
  }

  /** Between agents of one tree and the routing helpers; not for users. */
  internalCall(envelope: InternalEnvelope): Promise<unknown> {
    return runtimeOf(this).entry.internalCall(envelope);
  }
}

/** How a call on a user's method gets in: at once from inside, through the gate from outside. */
function enterInstance(instance: object, call: () => unknown): unknown {
  const runtime = runtimeOf(instance);
  if (currentContext().agent === instance || !runtime.isConstructed) return call();
  const run = () => runtime.runAs({}, call);
  if (!runtime.activation.isStarted) {
    return runtime.tree.restoreConnections().then(() => runtime.activation.enter(async () => passOn(await run())));
  }
  runtime.assertAlive();
  const answer = run();
  return isThenable(answer) ? Promise.resolve(answer).then(passOn) : answer;
}

function classNameOf(childClass: SubAgentClass | string): string {
  return typeof childClass === "string" ? childClass : childClass.name;
}
