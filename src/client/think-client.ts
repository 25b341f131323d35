// The client of one agent: a store outside any framework over one connection. `getSnapshot` is everything there is to
// show; the methods are everything a user can do. This file only wires the parts.
import type { UIMessage } from "ai";
import { agentUrl, messagesUrl, socketUrl, subAgentUrl, type Query } from "./address.ts";
import { NO_RUNS, reduceRuns, shownRuns, type AgentRun, type AgentRuns } from "./agent-runs.ts";
import type { AgentState, CallableMethods } from "./callables.ts";
import { Calls, type CallOptions, type RepeatableCall } from "./calls.ts";
import type { TurnEnd } from "./chat-state.ts";
import { describeTools, ToolRunner } from "./client-tools.ts";
import { ClientConversation } from "./conversation.ts";
import { questionOfRun, sendDecision, type CallAgent, type DecidedQuestion } from "./decisions.ts";
import { diagnose, type Diagnosis } from "./diagnosis.ts";
import { CallMayHaveRunError, ClientClosedError } from "./errors.ts";
import {
  type AgentFrame,
  type ApprovalFrame,
  clientFrames,
  messageList,
  readFrame,
  type SteeringCommand
} from "./frames.ts";
import { isParked, toolPartsOf } from "./message-list.ts";
import {
  NO_AGENT,
  type AgentSide,
  type SteerOptions,
  type SubmitOptions,
  type SubmitResult,
  type ThinkClientOptions,
  type ThinkClientSettings,
  type ThinkSnapshot
} from "./options.ts";
import { Outbox } from "./outbox.ts";
import { type MessageInput, planEdit, planRegenerate, planSend, type PlannedRequest } from "./requests.ts";
import { type Closed, type ConnectionState, ReconnectingSocket, TOO_LARGE } from "./socket.ts";
import { withEnded, withoutWaiting, withReceipts, type ClientReceipt } from "./receipts.ts";
import { withSubmissions } from "./submissions.ts";
import { type WaitingApproval, viewOf } from "./view.ts";
import { pageOrigin, resolvePlatform, watchNetwork, type ThinkClientPlatform } from "./platform.ts";

/** Keys of states in the outbox. */
const STATE = "state:";
/** For methods that do the same when they are called again. */
const REPEATABLE: RepeatableCall = { onRepeat: () => undefined };

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
  readonly #outbox: Outbox;
  readonly #calls: Calls;
  readonly #conversation: ClientConversation;
  readonly #tools: ToolRunner;
  readonly #listeners = new Set<() => void>();
  /** Identifies this client's connection to the server, over reconnects. */
  readonly #connectionId = newId();
  #settings: ThinkClientSettings;
  #agent: AgentSide = NO_AGENT;
  #runs: AgentRuns = NO_RUNS;
  #snapshot: ThinkSnapshot<AgentState<Agent>> | undefined;

  constructor(options: ThinkClientOptions) {
    this.url = agentUrl(options, pageOrigin());
    this.#settings = options;
    this.#platform = resolvePlatform(options);
    const { timers } = this.#platform;
    const send = (text: string) => this.#socket.send(text);
    this.#outbox = new Outbox({ send, isGreeted: () => this.#conversation.isGreeted });
    this.#calls = new Calls({ outbox: this.#outbox, timers, newId });
    this.#conversation = new ClientConversation({
      send,
      outbox: this.#outbox,
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
      maxRetries: options.maxRetries ?? Infinity,
      url: () => this.#socketUrl(),
      diagnose: () => this.#diagnose(),
      onOpen: () => this.#opened(),
      onText: (text) => this.#receive(text),
      onDrop: (closed) => this.#dropped(closed),
      onState: (connection, problem) => this.#connectionChanged(connection, problem)
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
    const view = this.#snapshot ? undefined : viewOf(this.#conversation.state);
    this.#snapshot ??= {
      ...view,
      messages: withoutWaiting(view?.messages ?? [], this.#agent.queued),
      ...this.#agent,
      agentRuns: shownRuns(this.#runs)
    } as ThinkSnapshot<AgentState<Agent>>;
    return this.#snapshot;
  };

  // ── The connection ──

  readonly connect = (): void => {
    this.#outbox.reopen();
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
    this.#outbox.closed(new ClientClosedError());
    this.#conversation.close();
  };

  /** Changes settings; those not given stay. */
  readonly configure = (settings: ThinkClientSettings): void => {
    this.#settings = { ...this.#settings, ...settings };
    this.#lookForWork();
  };

  // ── The conversation ──

  /**
   * Adds a message and starts a turn. Resolves when the turn has ended, however it did, or when the server refuses this
   * client for good; never rejects for that.
   */
  readonly send = (input: MessageInput, options: { body?: Readonly<Record<string, unknown>> } = {}): Promise<TurnEnd> =>
    this.#request(planSend(newId(), input), options.body);

  /**
   * Submits a message: it is answered when the turns before it are over, whether or not this client stays. Resolves when
   * the agent has accepted it. For classes that list `submitMessages` among their callables.
   */
  readonly submit = (input: MessageInput, options: SubmitOptions = {}): Promise<SubmitResult> => {
    const { posted: messages } = planSend(newId(), input);
    // Sent again after a lost connection, it is the same submission.
    const idempotencyKey = options.idempotencyKey ?? messages[0]?.id;
    // What the agent's own method returns.
    return this.#call("submitMessages", [messages, { idempotencyKey }], REPEATABLE) as Promise<SubmitResult>;
  };

  /**
   * Gives a message to the running turn: the model reads it before its next call. Resolves with the receipt when the agent
   * has accepted it. A conversation that is idle begins a turn with it.
   */
  readonly steer = (input: MessageInput, options: SteerOptions = {}): Promise<ClientReceipt> =>
    this.#give("steer", input, options);

  /** Gives a message for after the turns that run and wait. Resolves with the receipt when the agent has accepted it. */
  readonly followUp = (input: MessageInput, options: SteerOptions = {}): Promise<ClientReceipt> =>
    this.#give("follow-up", input, options);

  /** Replaces what a message of `queued` says. Rejects if it has taken effect: then nothing was changed. */
  readonly editQueued = (id: string, input: MessageInput): Promise<ClientReceipt> =>
    this.#steering({ do: "edit", id, message: planSend(newId(), input).posted[0] }) as Promise<ClientReceipt>;

  /** Takes a message of `queued` back. Rejects if it has taken effect. */
  readonly withdraw = (id: string): Promise<ClientReceipt> =>
    this.#steering({ do: "withdraw", id }) as Promise<ClientReceipt>;

  /** Lets the running turn end before its next model call, with what it has. Resolves false when none runs. */
  readonly stopAfterStep = (requestId?: string): Promise<boolean> =>
    this.#steering({ do: "stop-after-step", id: requestId }) as Promise<boolean>;

  /** Stops what runs and what waits. The partial answer stays. Resolves when the agent has it. */
  readonly stop = (): Promise<void> => this.#conversation.stop();

  /** Another answer to the question before this message, or to the last one. The old answer stays as a branch. */
  readonly regenerate = (messageId?: string): Promise<TurnEnd> =>
    this.#request(planRegenerate(this.getSnapshot().messages, messageId));

  /** Writes a message of the user anew and answers it. What followed stays as a branch. */
  readonly edit = (messageId: string, input: MessageInput): Promise<TurnEnd> =>
    this.#request(planEdit(this.getSnapshot().messages, messageId, input));

  /** The messages shown that have other versions: the ids of all versions of each, oldest first. */
  readonly branches = (): Promise<Readonly<Record<string, readonly string[]>>> =>
    // What the agent's own method returns.
    this.#call("listBranches", [], REPEATABLE) as Promise<Readonly<Record<string, readonly string[]>>>;

  /** Shows all clients the branch through this message; the conversation goes on from there. Not while a turn is open. */
  readonly selectBranch = async (messageId: string): Promise<void> => {
    await this.#call("selectBranch", [messageId], REPEATABLE);
  };

  /** Empties the conversation, for all clients. Resolves when the agent has done so. */
  readonly clear = (): Promise<void> => {
    this.#tools.stop();
    this.#runs = NO_RUNS;
    return this.#conversation.clear();
  };

  /** The result of a client tool; the answer goes on. Resolves when the agent has it, and rejects if it refuses it. */
  readonly answerTool = (callId: string, output: unknown): Promise<void> =>
    this.#conversation.answerTool({ callId, toolName: this.#toolName(callId), output });

  /** A client tool failed, for a reason the model may read. */
  readonly failTool = (callId: string, errorText: string): Promise<void> =>
    this.#conversation.answerTool({ callId, toolName: this.#toolName(callId), errorText });

  /**
   * Agrees to a call. Takes an approval of `pendingApprovals`, then no other question is decided by it. A call id, or the
   * execution id of what is parked, stands for the question that waits there now, except for one that may have run: that
   * is a CallMayHaveRunError. With `input` the call runs with that, if its schema takes it. Resolves when the agent has the decision, for a parked action with its output; rejects if
   * the agent refuses it.
   */
  readonly approve = (of: string | DecidedQuestion, change: { readonly input?: unknown } = {}): Promise<unknown> =>
    this.#decide(of, { isApproved: true, input: change.input });

  /** Decides against a call, which then never runs. The model reads the reason. */
  readonly reject = (of: string | DecidedQuestion, reason?: string): Promise<unknown> =>
    this.#decide(of, { isApproved: false, reason });

  /**
   * Where the sub-agent of a run is found: another client, or `useThink`, opens its conversation, to follow it or to talk
   * to it. The parent's `onBeforeSubAgent` decides about access.
   *
   * @example
   * const child = createThinkClient(client.addressOf(run));
   */
  readonly addressOf = (run: Pick<AgentRun, "runId" | "agentType">): { readonly url: string } => ({
    url: subAgentUrl(this.url, { agent: run.agentType, name: run.runId })
  });

  // ── The agent ──

  /** Calls a method that the agent marks as callable. */
  readonly call = <Name extends keyof CallableMethods<Agent> & string>(
    method: Name,
    args: CallableMethods<Agent>[Name]["args"],
    options?: CallOptions
  ): Promise<CallableMethods<Agent>[Name]["result"]> =>
    // The result's type is the word of the class.
    this.#call(method, args, options) as Promise<CallableMethods<Agent>[Name]["result"]>;

  /** Replaces the agent's state, here at once and for all clients. If the agent refuses it, its own state comes back. */
  readonly setState = (state: AgentState<Agent>): void => {
    // A newer one makes the older superfluous, unless something was done between the two.
    const { newestUnsent } = this.#outbox;
    const key = newestUnsent?.startsWith(STATE) ? newestUnsent : STATE + newId();
    const onSent = () => this.#outbox.acknowledge(key);
    void this.#outbox.add({ key, frame: clientFrames.state(state), isChat: false, needsAnswer: true, onSent });
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
        // Not on the screen any more: another client answered first, or went to a branch where no answer is taken.
        if (!this.#isPending(callId)) return false;
        void this.#conversation.answerTool({ callId, toolName, ...outcome });
        return true;
      },
      decide: (approval, isApproved) => this.#decide(approval, { isApproved })
    });
  }

  #request(plan: PlannedRequest, body?: Readonly<Record<string, unknown>>): Promise<TurnEnd> {
    const clientTools = describeTools(this.#settings.tools);
    return this.#conversation.request(plan, {
      clientTools,
      body: { ...this.#settings.body, ...body }
    });
  }

  #decide(of: string | DecidedQuestion, decision: ApprovalFrame): Promise<unknown> {
    const given: DecidedQuestion = typeof of === "string" ? {} : of;
    const id = typeof of === "string" ? of : (of.executionId ?? of.callId ?? "");
    const shown = this.#approval(id);
    if (shown?.mayHaveRun && given.inputHash === undefined) {
      return this.#conversation.decide(undefined, () => Promise.reject(new CallMayHaveRunError(id)));
    }
    const asked = { ...shown, ...given };
    // Not on the screen: an action that was parked long ago is decided by its execution id all the same.
    const executionId = asked.executionId ?? (shown || typeof of !== "string" ? undefined : of);
    if (executionId === undefined) {
      const { callId: answered = "", approvalId } = asked;
      return this.#conversation.answerApproval(answered, { ...decision, approvalId });
    }
    // An older question than the one on the screen leaves that one there.
    const callId = asked.inputHash === shown?.inputHash ? shown?.callId : undefined;
    const call: CallAgent = (method, args, options) => this.#call(method, args, options);
    return this.#conversation.decide(callId, async () => {
      const question = shown || asked.inputHash !== undefined ? asked : await questionOfRun(call, executionId);
      const decided = await sendDecision(call, {
        reason: undefined,
        input: undefined,
        ...decision,
        executionId,
        question
      });
      // If the first one arrived, an action answers the second one that nothing is pending.
      const isAnswered = decided.isRepeated && decided.isRefused && callId !== undefined;
      return isAnswered ? { ...decided, output: this.#outputOf(callId) } : decided;
    });
  }

  /** Undefined while the call has none. */
  #outputOf(callId: string): unknown {
    const part = this.getSnapshot()
      .messages.flatMap(toolPartsOf)
      .findLast(({ toolCallId }) => toolCallId === callId);
    return part && !isParked(part) ? part.output : undefined;
  }

  #approval(id: string): WaitingApproval | undefined {
    return this.getSnapshot().pendingApprovals.find(({ callId, executionId }) => callId === id || executionId === id);
  }

  #isPending(callId: string): boolean {
    return this.getSnapshot().pendingToolCalls.some((call) => call.callId === callId);
  }

  #toolName(callId: string): string {
    return this.getSnapshot().pendingToolCalls.find((call) => call.callId === callId)?.toolName ?? "";
  }

  #call(method: string, args: readonly unknown[], options?: RepeatableCall): Promise<unknown> {
    const { connection, connectionError } = this.#agent;
    if (connection === "closed" || connection === "refused") {
      return Promise.reject(new ClientClosedError(connectionError));
    }
    return this.#calls.call(method, args, options);
  }

  #give(
    kind: ClientReceipt["kind"],
    input: MessageInput,
    { id = newId(), body }: SteerOptions
  ): Promise<ClientReceipt> {
    const [message] = planSend(newId(), input).posted;
    const given = { ...this.#settings.body, ...body };
    const fields = Object.keys(given).length > 0 ? given : undefined;
    // Sent again after a lost connection, it is the same message.
    return this.#steering({ do: kind, id, message, body: fields }) as Promise<ClientReceipt>;
  }

  #steering(command: SteeringCommand): Promise<unknown> {
    const { connection, connectionError } = this.#agent;
    if (connection === "closed" || connection === "refused") {
      return Promise.reject(new ClientClosedError(connectionError));
    }
    return this.#calls.send(command.do, (key) => clientFrames.steering(key, command), REPEATABLE);
  }

  #opened(): void {
    // What waits is sent again, if anything does.
    if (this.#agent.queued.length > 0) this.#setAgent({ queued: [] });
    this.#outbox.pump();
    this.#conversation.opened();
  }

  #dropped(closed: Closed | undefined): void {
    this.#conversation.dropped();
    this.#outbox.dropped(closed?.code === TOO_LARGE);
  }

  #connectionChanged(connection: ConnectionState, problem: string | undefined): void {
    this.#setAgent({ connection, connectionError: problem });
    if (connection !== "refused") return;
    this.#calls.closed(problem);
    this.#outbox.closeForGood(new ClientClosedError(problem));
    this.#conversation.closeForGood(problem ?? "");
  }

  #receive(text: string): void {
    const read = readFrame(text);
    if (read === undefined) this.#settings.onMessage?.(text);
    else if (read.kind === "agent") this.#receiveAgent(read.frame);
    else {
      // The runs of a conversation go with it.
      if (read.frame.type === "cleared") this.#runs = NO_RUNS;
      this.#conversation.receive(read.frame);
    }
  }

  #receiveAgent(frame: AgentFrame): void {
    switch (frame.type) {
      case "identity":
        return this.#setAgent({ identity: { agent: frame.agent, name: frame.name } });
      case "state":
        // What this client has changed meanwhile is newer, and on its way.
        return this.#outbox.hasAny(STATE) ? undefined : this.#setAgent({ state: frame.state });
      case "submissions":
        return this.#setAgent({ submissions: withSubmissions(this.#agent.submissions, frame.submissions) });
      case "receipts":
        return this.#setAgent({
          queued: withReceipts(this.#agent.queued, frame),
          receipts: withEnded(this.#agent.receipts, frame.receipts)
        });
      case "state-error":
        return this.#setAgent({ stateError: frame.error });
      case "answer":
        return this.#calls.answered(frame.callId, frame.answer);
      case "run":
        this.#runs = reduceRuns(this.#runs, frame);
        return this.#changed();
    }
  }

  #setAgent(change: Partial<AgentSide>): void {
    this.#agent = { ...this.#agent, ...change };
    this.#changed();
  }

  #changed(): void {
    this.#snapshot = undefined;
    for (const listener of [...this.#listeners]) notify(listener);
    this.#lookForWork();
  }

  #lookForWork(): void {
    const { tools, onApproval } = this.#settings;
    if (tools === undefined && onApproval === undefined) return;
    this.#tools.look(this.getSnapshot(), this.#conversation.state);
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
    const response = await this.#platform.fetch(await this.#messagesUrl());
    return response.ok ? messageList(await response.json()) : undefined;
  }

  async #messagesUrl(): Promise<string> {
    return messagesUrl(this.url, await this.#query());
  }

  #diagnose(): Promise<Diagnosis> {
    const { fetch, timers } = this.#platform;
    return diagnose({ url: () => this.#messagesUrl(), fetch, timers, pageOrigin: pageOrigin() });
  }
}

/** An error of a subscriber must not stop the conversation. */
function notify(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    console.error("A subscriber of a client failed:", error);
  }
}

function newId(): string {
  return crypto.randomUUID();
}
