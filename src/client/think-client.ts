// The client of one agent: a store outside any framework over one connection. `getSnapshot` is everything there is to
// show; the methods are everything a person can do. Here the parts are wired, each of them lives in a file of its own.
import type { UIMessage } from "ai";
import { agentUrl, messagesUrl, socketUrl, type AgentAddress, type Query } from "./address.ts";
import type { AgentState, CallableMethods } from "./callables.ts";
import { Calls, type CallOptions } from "./calls.ts";
import type { TurnEnd } from "./chat-state.ts";
import { type ApprovalHandler, type ClientTools, describeTools, ToolRunner } from "./client-tools.ts";
import { Conversation } from "./conversation.ts";
import { ClientClosedError, NoWebSocketError } from "./errors.ts";
import { type AgentFrame, clientFrames, messageList, readFrame } from "./frames.ts";
import { type MessageInput, planEdit, planRegenerate, planSend, type PlannedRequest } from "./requests.ts";
import { type ConnectionState, ReconnectingSocket, type WebSocketClass } from "./socket.ts";
import { realTimers, type Timers } from "./timers.ts";
import { type ChatView, type PendingApproval, viewOf } from "./view.ts";

/** May be changed while the client lives. */
export interface ThinkClientSettings {
  /** Tools that run here. The model is told of them with each message. */
  readonly tools?: ClientTools;
  /** Decides over approvals without a person. */
  readonly onApproval?: ApprovalHandler;
  /** Goes into the URL of each connection. A function is asked anew each time, for tokens that expire. */
  readonly query?: Query | (() => Query | Promise<Query>);
  /** Fields for the agent's hooks, sent with each request. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Text from the agent that is not of the protocol. */
  readonly onMessage?: (text: string) => void;
}

/** What the platform gives, where there is another. */
export interface ThinkClientPlatform {
  /** Default: the global one. */
  readonly WebSocket?: WebSocketClass;
  readonly fetch?: (url: string) => Promise<Response>;
  readonly timers?: Timers;
  readonly random?: () => number;
}

export type ThinkClientOptions = AgentAddress &
  ThinkClientSettings &
  ThinkClientPlatform & {
    /** False: nothing happens before `connect()`. */
    readonly autoConnect?: boolean;
  };

export interface ThinkSnapshot<State = unknown> extends ChatView {
  readonly connection: ConnectionState;
  /** Why the server refused this client. */
  readonly refusal: string | undefined;
  /** The agent's state; undefined until the agent sent it. */
  readonly state: State | undefined;
  /** Why the last change of the state was not accepted. */
  readonly stateError: string | undefined;
  /** What the agent is called, once it said so. */
  readonly identity: { readonly agent: string; readonly name: string } | undefined;
}

type AgentSide = Pick<ThinkSnapshot, "connection" | "refusal" | "state" | "stateError" | "identity">;

/**
 * Connects to an agent.
 *
 * @example
 * const client = createThinkClient<Assistant>({ host: "localhost:8787", agent: "assistant", name: "ada" });
 * client.subscribe(() => console.log(client.getSnapshot().status));
 * await client.send("Hello");
 */
export function createThinkClient<Agent = unknown>(options: ThinkClientOptions): ThinkClient<Agent> {
  const client = new ThinkClient<Agent>(options);
  if (options.autoConnect !== false) client.connect();
  return client;
}

/** Made by `createThinkClient`. The methods may be passed around by themselves. */
export class ThinkClient<Agent = unknown> {
  /** Of the agent, without query: two clients with the same one talk to the same agent. */
  readonly url: string;
  readonly #platform: Required<ThinkClientPlatform>;
  readonly #socket: ReconnectingSocket;
  readonly #calls: Calls;
  readonly #conversation: Conversation;
  readonly #tools: ToolRunner;
  readonly #listeners = new Set<() => void>();
  /** The server knows a connection by it, over reconnects. */
  readonly #connectionId = newId();
  #settings: ThinkClientSettings;
  #agent: AgentSide = {
    connection: "closed",
    refusal: undefined,
    state: undefined,
    stateError: undefined,
    identity: undefined
  };
  /** The newest state that could not be sent. */
  #unsentState: string | undefined;
  #snapshot: ThinkSnapshot<AgentState<Agent>> | undefined;

  constructor(options: ThinkClientOptions) {
    this.url = agentUrl(options, pageOrigin());
    this.#settings = options;
    this.#platform = platformOf(options);
    const { timers } = this.#platform;
    const send = (text: string) => this.#socket.send(text);
    this.#calls = new Calls({ send, timers, newId });
    this.#conversation = new Conversation({
      send,
      timers,
      newId,
      fetchMessages: () => this.#fetchMessages(),
      onChange: () => this.#changed()
    });
    this.#tools = this.#toolRunner();
    this.#socket = new ReconnectingSocket({
      WebSocket: this.#platform.WebSocket,
      timers,
      random: this.#platform.random,
      url: () => this.#socketUrl(),
      onOpen: () => this.#opened(),
      onText: (text) => this.#receive(text),
      onDrop: () => this.#dropped(),
      onState: (connection, reason) => this.#connectionChanged(connection, reason)
    });
  }

  // ── The store ──

  /** Calls back after each change, until the returned function is called. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** The same object until something changes. */
  readonly getSnapshot = (): ThinkSnapshot<AgentState<Agent>> => {
    // The state's type is the word of the class; the server sends what the class stored.
    this.#snapshot ??= { ...viewOf(this.#conversation.state), ...this.#agent } as ThinkSnapshot<AgentState<Agent>>;
    return this.#snapshot;
  };

  // ── The connection ──

  readonly connect = (): void => {
    this.#socket.connect();
    watchNetwork("addEventListener", this.retryNow);
  };

  /** Tries now if it is waiting to try again. Pages do this by themselves when the network is back. */
  readonly retryNow = (): void => this.#socket.retryNow();

  /** Ends the connection, not the turn: the agent goes on. Calls are rejected; `connect` begins anew. */
  readonly close = (): void => {
    watchNetwork("removeEventListener", this.retryNow);
    this.#tools.stop();
    this.#socket.close();
    this.#calls.closed();
    this.#conversation.close();
  };

  /** Changes settings; those not given stay. */
  readonly configure = (settings: ThinkClientSettings): void => {
    this.#settings = { ...this.#settings, ...settings };
    this.#lookForWork();
  };

  // ── The conversation ──

  /** Adds a message and starts a turn. Resolves when the turn has ended, however it did; never rejects for that. */
  readonly send = (input: MessageInput, options: { body?: Readonly<Record<string, unknown>> } = {}): Promise<TurnEnd> =>
    this.#request(planSend(newId(), input), options.body);

  /** Stops what runs and what waits. The partial answer stays. */
  readonly stop = (): void => this.#conversation.stop();

  /** Another answer to the question before this message, or to the last one. The old answer stays as a branch. */
  readonly regenerate = (messageId?: string): Promise<TurnEnd> =>
    this.#request(planRegenerate(this.getSnapshot().messages, messageId));

  /** Writes a message of the user anew and answers it. What followed stays as a branch. */
  readonly edit = (messageId: string, input: MessageInput): Promise<TurnEnd> =>
    this.#request(planEdit(this.getSnapshot().messages, messageId, input));

  /** The messages shown that have other versions: the ids of all versions of each, oldest first. */
  readonly branches = (): Promise<Readonly<Record<string, readonly string[]>>> =>
    // What the agent's own method returns.
    this.#call("listBranches", []) as Promise<Readonly<Record<string, readonly string[]>>>;

  /** Shows everybody the branch through this message; the conversation goes on from there. Not while a turn is open. */
  readonly selectBranch = async (messageId: string): Promise<void> => {
    await this.#call("selectBranch", [messageId]);
  };

  /** Empties the conversation, for everybody. */
  readonly clear = (): void => {
    this.#tools.stop();
    this.#conversation.clear();
  };

  /** The result of a client tool; the answer goes on. */
  readonly answerTool = (callId: string, output: unknown): void =>
    this.#conversation.answerTool({ callId, toolName: this.#toolName(callId), output });

  /** A client tool failed, for a reason the model may read. */
  readonly failTool = (callId: string, errorText: string): void =>
    this.#conversation.answerTool({ callId, toolName: this.#toolName(callId), errorText });

  /** Agrees to a call. Takes its call id, or the execution id of a parked action; resolves with a parked action's output. */
  readonly approve = (id: string): Promise<unknown> => this.#decide(id, true);

  /** Decides against a call, which then never runs. The reason is kept for parked actions. */
  readonly reject = (id: string, reason?: string): Promise<unknown> => this.#decide(id, false, reason);

  // ── The agent ──

  /** Calls a method that the agent marks as callable. */
  readonly call = <Name extends keyof CallableMethods<Agent> & string>(
    method: Name,
    args: CallableMethods<Agent>[Name]["args"],
    options?: CallOptions
  ): Promise<CallableMethods<Agent>[Name]["result"]> =>
    // The result's type is the word of the class.
    this.#call(method, args, options) as Promise<CallableMethods<Agent>[Name]["result"]>;

  /** Replaces the agent's state, here at once and for everybody. If the agent refuses it, what it has comes back. */
  readonly setState = (state: AgentState<Agent>): void => {
    const frame = clientFrames.state(state);
    this.#unsentState = this.#socket.send(frame) ? undefined : frame;
    this.#setAgent({ state, stateError: undefined });
  };

  // ── Wiring ──

  #toolRunner(): ToolRunner {
    const settings = () => this.#settings;
    return new ToolRunner({
      get tools() {
        return settings().tools;
      },
      get onApproval() {
        return settings().onApproval;
      },
      answer: ({ callId, toolName }, outcome) => {
        // Not on the screen any more: somebody answered first, or went to another branch, where nobody takes it.
        if (this.#isPending(callId)) this.#conversation.answerTool({ callId, toolName, ...outcome });
      },
      decide: ({ callId }, isApproved) => this.#decide(callId, isApproved)
    });
  }

  #request(plan: PlannedRequest, body?: Readonly<Record<string, unknown>>): Promise<TurnEnd> {
    const clientTools = describeTools(this.#settings.tools);
    return this.#conversation.request(plan, {
      ...(clientTools && { clientTools }),
      body: { ...this.#settings.body, ...body }
    });
  }

  #decide(id: string, isApproved: boolean, reason?: string): Promise<unknown> {
    const asked = this.#approval(id);
    if (asked !== undefined && asked.executionId === undefined) {
      this.#conversation.answerApproval(asked.callId, isApproved);
      return Promise.resolve();
    }
    // Not on the screen: an action that was parked long ago is decided by its execution id all the same.
    const executionId = asked?.executionId ?? id;
    const args = reason === undefined ? [executionId] : [executionId, reason];
    const method = isApproved ? "approveExecution" : "rejectExecution";
    return this.#conversation.decide(asked?.callId, () => this.#call(method, args, { timeoutMs: Infinity }));
  }

  #approval(id: string): PendingApproval | undefined {
    return this.getSnapshot().pendingApprovals.find(({ callId, executionId }) => callId === id || executionId === id);
  }

  #isPending(callId: string): boolean {
    return this.getSnapshot().pendingToolCalls.some((call) => call.callId === callId);
  }

  #toolName(callId: string): string {
    return this.getSnapshot().pendingToolCalls.find((call) => call.callId === callId)?.toolName ?? "";
  }

  #call(method: string, args: readonly unknown[], options?: CallOptions): Promise<unknown> {
    const { connection, refusal } = this.#agent;
    if (connection === "closed" || connection === "refused") return Promise.reject(new ClientClosedError(refusal));
    return this.#calls.call(method, args, options);
  }

  #opened(): void {
    if (this.#unsentState !== undefined && this.#socket.send(this.#unsentState)) this.#unsentState = undefined;
    this.#calls.opened();
    this.#conversation.opened();
  }

  #dropped(): void {
    this.#calls.dropped();
    this.#conversation.dropped();
  }

  #connectionChanged(connection: ConnectionState, reason: string | undefined): void {
    this.#setAgent({ connection, refusal: reason });
    if (connection !== "refused") return;
    this.#calls.closed(reason);
    this.#conversation.close();
  }

  #receive(text: string): void {
    const read = readFrame(text);
    if (read === undefined) this.#settings.onMessage?.(text);
    else if (read.kind === "chat") this.#conversation.receive(read.frame);
    else this.#receiveAgent(read.frame);
  }

  #receiveAgent(frame: AgentFrame): void {
    switch (frame.type) {
      case "identity":
        return this.#setAgent({ identity: { agent: frame.agent, name: frame.name } });
      case "state":
        // What this client has changed meanwhile is newer, and on its way.
        return this.#unsentState === undefined ? this.#setAgent({ state: frame.state }) : undefined;
      case "state-error":
        return this.#setAgent({ stateError: frame.error });
      case "answer":
        return this.#calls.answered(frame.callId, frame.answer);
    }
  }

  #setAgent(change: Partial<AgentSide>): void {
    this.#agent = { ...this.#agent, ...change };
    this.#changed();
  }

  #changed(): void {
    this.#snapshot = undefined;
    for (const listener of [...this.#listeners]) tell(listener);
    this.#lookForWork();
  }

  #lookForWork(): void {
    const { tools, onApproval } = this.#settings;
    if (tools === undefined && onApproval === undefined) return;
    this.#tools.look(this.getSnapshot(), this.#conversation.state.driver);
  }

  #socketUrl(): string | Promise<string> {
    const withId = (query: Query) => socketUrl(this.url, { ...query, _pk: this.#connectionId });
    const query = this.#query();
    return query instanceof Promise ? query.then(withId) : withId(query);
  }

  #query(): Query | Promise<Query> {
    const { query = {} } = this.#settings;
    return typeof query === "function" ? query() : query;
  }

  async #fetchMessages(): Promise<readonly UIMessage[] | undefined> {
    const response = await this.#platform.fetch(messagesUrl(this.url, await this.#query()));
    return response.ok ? messageList(await response.json()) : undefined;
  }
}

/** What a subscriber throws is its own affair: the conversation goes on. */
function tell(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    console.error("A subscriber of a client failed:", error);
  }
}

function platformOf(options: ThinkClientPlatform): Required<ThinkClientPlatform> {
  const WebSocket = options.WebSocket ?? globalThis.WebSocket;
  if (WebSocket === undefined) throw new NoWebSocketError();
  return {
    WebSocket,
    fetch: options.fetch ?? ((url) => fetch(url)),
    timers: options.timers ?? realTimers,
    random: options.random ?? Math.random
  };
}

/** Pages are told when the network is back; other places have no such event. Adding it twice is adding it once. */
function watchNetwork(method: "addEventListener" | "removeEventListener", listener: () => void): void {
  if (typeof globalThis[method] === "function") globalThis[method]("online", listener);
}

/** Where the page came from; outside a page, nothing. */
function pageOrigin(): string | undefined {
  return typeof location === "undefined" ? undefined : location.origin;
}

function newId(): string {
  return crypto.randomUUID();
}
