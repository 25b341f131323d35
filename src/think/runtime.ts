// The inside of a `Think`: what every conversation is made of (stored transcript, journal, turn engine, chat protocol),
// its features, and its start. The class holds the public names and hands everything here.
import type { UIMessage } from "ai";
import { Connection } from "../agent/connections/connection.ts";
import { currentDurable, getCurrentAgent } from "../agent/context.ts";
import { pathBelowAgent } from "../agent/own-path.ts";
import { runtimeOf, type AgentRuntime } from "../agent/runtime.ts";
import { OtherClient } from "../wire/index.ts";
import { Blobs } from "../host/blobs.ts";
import { Conversation } from "../journal/conversation.ts";
import { openJournal, type Journal } from "../journal/journal.ts";
import { installedSdk } from "../model/index.ts";
import type { ChainOptions } from "../session/add-messages.ts";
import { MediaEvictor } from "../session/media-evictor.ts";
import type { MessageStore } from "../session/message-store.ts";
import { provideSessionHost } from "../session/session-host.ts";
import { Session, type SessionAgent } from "../session/session.ts";
import { moveOriginalSession } from "../session/take-over.ts";
import { TurnEngine } from "../turn/engine.ts";
import { Idempotency } from "../turn/idempotency.ts";
import type { CountedTokens } from "../turn/transcript.ts";
import { errorMessage } from "../util/errors.ts";
import { agentToolsFeature } from "../features/agent-tools/turn-feature.ts";
import { approvalsFeature } from "../features/approvals/approvals.ts";
import { Assembly, type TurnPreview } from "./assemble.ts";
import { bringersOf, hasChannels, openChannels } from "./bringers.ts";
import type { Channels } from "../features/channels/channels.ts";
import { chatExtensions } from "./chat-extension.ts";
import { ContextOverflow } from "./context-overflow.ts";
import { contextFeature, contextPrompt } from "./context-tools.ts";
import { DeferredTurns } from "./deferred-turns.ts";
import { CustomSessionError, NotStartedError } from "./errors.ts";
import type { ExtensionStorage } from "../features/extensions/manager.ts";
import { restoreExecutions } from "../features/execute/restore-executions.ts";
import { extensionsOf } from "../features/extensions/extensions.ts";
import { isDevelopment } from "./failure-log.ts";
import type { FeatureFactory, FeatureHost } from "../feature/feature.ts";
import { Features } from "../feature/features.ts";
import { inspectionFeature } from "../features/inspection/inspection.ts";
import { MessengerAccess } from "../features/channels/messenger-access.ts";
import { LateOutcomes } from "./late-outcomes.ts";
import { mcpFeature } from "../features/mcp/turn-feature.ts";
import type { OnStartDegradation, OptionalHook, ThinkOverrides } from "./overrides.ts";
import { postedMessages } from "./posted-messages.ts";
import { keyId, Programmatic } from "./programmatic.ts";
import type { PromptExplanation } from "./prompt.ts";
import { RecoveryHooks } from "./chat-recovery.ts";
import { hasPendingInteraction, untilStable } from "./stability.ts";
import { StoredTranscript } from "./stored-transcript.ts";
import { UserTurnHooks } from "./turn-hooks.ts";
import { skillsFeature } from "../features/skills/feature.ts";
import { checkMessages, type MessagesInput } from "./turn-input.ts";
import { preserveAsFile, workspaceFeature } from "../features/workspace/feature.ts";

export interface AddMessagesOptions extends ChainOptions {
  /** Whether clients are notified (default true). While a turn streams they are with what it sends next. */
  readonly broadcast?: boolean;
  /** A second call with the same key adds nothing. */
  readonly idempotencyKey?: string;
}

/** What this module uses of the class. */
export interface ThinkAgent extends ThinkOverrides, SessionAgent {
  configureSession(session: Session): Session | Promise<Session>;
}

/** What only the class itself can give. */
export interface ThinkRuntimeInit {
  /** Whether the class has a hook of its own. */
  readonly isOverridden: (hook: OptionalHook) => boolean;
  /** Its `repairInterruptedToolPart`, which is protected. */
  readonly repairPart: (part: UIMessage["parts"][number]) => UIMessage["parts"][number];
  readonly env: unknown;
  /** Of the object: where extensions are kept. */
  readonly storage: ExtensionStorage;
}

/** What a conversation is made of. Opened once `configureSession` has said which one it is. */
interface ThinkParts {
  readonly store: MessageStore;
  readonly journal: Journal;
  readonly transcript: StoredTranscript;
  readonly turns: TurnEngine;
  readonly deferred: DeferredTurns;
}

export class ThinkRuntime {
  readonly agent: AgentRuntime;
  readonly hooks: UserTurnHooks;
  readonly overflow: ContextOverflow;
  readonly channels: Channels;
  readonly features: Features;
  readonly messengerAccess: MessengerAccess;
  readonly overrides: ThinkAgent;
  readonly #init: ThinkRuntimeInit;
  readonly #degradations: OnStartDegradation[] = [];
  readonly #assembly: Assembly;
  #session: Session | undefined;
  #parts: ThinkParts | undefined;
  #programmatic: Programmatic | undefined;

  constructor(overrides: ThinkAgent, init: ThinkRuntimeInit) {
    this.overrides = overrides;
    this.#init = init;
    this.agent = runtimeOf(overrides);
    this.#provideSession();
    this.overflow = new ContextOverflow({
      session: () => this.session,
      clock: this.agent.clock,
      emit: (type, payload) => this.agent.emit(type, payload)
    });
    this.channels = openChannels(
      overrides,
      () => this.parts,
      (type, payload) => this.agent.emit(type, payload)
    );
    this.features = new Features({
      host: () => this.#featureHost(),
      bringers: bringersOf(overrides, init.isOverridden, this.channels),
      degrade: (step, error) => this.degrade(step, error),
      pathOf: (url) => pathBelowAgent(url, this.agent),
      isReadonly: (connection) => this.agent.agent.isConnectionReadonly(connection)
    });
    this.#assembly = this.#openAssembly();
    this.hooks = this.#openHooks();
    this.messengerAccess = new MessengerAccess(this, init.isOverridden);
    this.agent.extensions.push({ start: () => this.start() });
  }

  /** What `configureSession` returned. */
  get session(): Session {
    if (!this.#session) throw new NotStartedError(this.overrides.constructor.name);
    return this.#session;
  }

  /** Looked up when they are needed: they need the hooks, and the hooks need them. */
  get parts(): ThinkParts {
    return (this.#parts ??= this.#openParts());
  }

  /** The part of a start that comes before interrupted turns and the user's `onStart`. A throw of user code fails it. */
  async start(): Promise<void> {
    if (this.#parts) return;
    this.#session = await this.overrides.configureSession(Session.create(this.overrides));
    // Opened now: clients may connect as soon as the agent is up.
    void this.parts;
    this.features.add(contextFeature(this.session));
    for (const feature of this.parts.deferred.features()) this.features.add(feature);
    if (hasChannels(this.#init.isOverridden)) this.features.add(this.channels);
    this.features.add(approvalsFeature(this.overrides));
    const extensions = extensionsOf(this, this.#init);
    const skills = this.#init.isOverridden("getSkills") ? [skillsFeature(this.session)] : [];
    const tools = [workspaceFeature, mcpFeature, ...extensions, ...skills, this.#agentTools(), restoreExecutions];
    const builtIn = [...tools, inspectionFeature(this)];
    await this.features.start([...builtIn, ...this.overrides.getFeatures()]);
  }

  /** Every Think may be a parent of such runs, and a child. */
  #agentTools(): FeatureFactory {
    return agentToolsFeature({
      message: (messageId) => this.parts.transcript.get(messageId),
      post: (text, key) => {
        const message: UIMessage = { id: this.agent.ids.next(), role: "assistant", parts: [{ type: "text", text }] };
        return this.addMessages([message], { idempotencyKey: key });
      }
    });
  }

  /** A recovery hook runs before `onStart`. A turn that it starts must not: it waits for the end of the start. */
  startTurn<T>(call: (turns: Programmatic) => Promise<T>): Promise<T> {
    const isTooEarly = currentDurable() !== undefined && !this.agent.activation.isStarted;
    return isTooEarly ? this.agent.untilStarted().then(() => call(this.programmatic)) : call(this.programmatic);
  }

  get programmatic(): Programmatic {
    const { turns, transcript, deferred } = this.parts;
    this.#programmatic ??= new Programmatic({
      turns,
      leaf: () => transcript.leaf(),
      newId: () => this.agent.ids.next(),
      durableKey: () => currentDurable()?.work.nextKey(),
      submit: (input, options) => deferred.submit(input, options),
      describeFailure: (error, context) => this.hooks.describeFailure(error, context)
    });
    return this.#programmatic;
  }

  get degradations(): OnStartDegradation[] {
    return structuredClone(this.#degradations);
  }

  /** Logged and remembered once, however often it comes up. */
  degrade(step: OnStartDegradation["step"], error: unknown): void {
    if (this.#degradations.some((known) => known.step === step)) return;
    this.#degradations.push({ step, error: errorMessage(error) });
    this.agent.degraded(step, error);
  }

  async addMessages(messages: MessagesInput, options: AddMessagesOptions): Promise<void> {
    const { broadcast = true, idempotencyKey, ...chain } = options;
    const { transcript, turns } = this.parts;
    const idempotencyId = idempotencyKey === undefined ? undefined : keyId("messages", idempotencyKey);
    if (idempotencyId !== undefined && transcript.hasAdded(idempotencyId)) return;
    const given =
      typeof messages === "function" ? await messages(structuredClone([...transcript.messages()])) : messages;
    const checked = checkMessages(given);
    if (checked.length === 0) return;
    const isAdded = transcript.add(checked, { ...chain, ...(idempotencyId !== undefined && { idempotencyId }) });
    if (isAdded && broadcast && turns.streaming() === undefined) transcript.announce();
  }

  /** For a turn that does not run: the tools the client described last are part of it. */
  async explainPrompt(channel: string | undefined): Promise<PromptExplanation> {
    return (await this.previewTurn(channel, [])).explanation;
  }

  /** What a turn with this history would be given now. Nothing is stored. */
  previewTurn(channel: string | undefined, history: readonly UIMessage[]): Promise<TurnPreview> {
    const { turns } = this.parts;
    const turn = {
      ...EXPLAINED_TURN,
      body: turns.body,
      channel,
      clientTools: turns.clientTools,
      signal: new AbortController().signal
    };
    return this.#assembly.preview(turn, history);
  }

  hasPendingInteraction(): boolean {
    return hasPendingInteraction(this.#stability());
  }

  untilStable(timeoutMs: number | undefined): Promise<boolean> {
    return untilStable({ ...this.#stability(), clock: this.agent.clock }, timeoutMs);
  }

  #stability(): { turns: TurnEngine; messages: () => readonly UIMessage[] } {
    const { turns, transcript } = this.parts;
    return { turns, messages: () => transcript.messages() };
  }

  // ── Opening ──

  /** Where `Session.create(agent)` finds the agent's storage. */
  #provideSession(): void {
    const { agent } = this;
    const { sql, clock, quarantine, connections } = agent;
    const conversations = new Map<string, Conversation>();
    moveOriginalSession(sql);
    provideSessionHost(this.overrides, {
      sql,
      blobs: new Blobs(sql),
      setAside: quarantine,
      get label() {
        return agent.label;
      },
      now: () => clock.now(),
      pause: () => clock.sleep(0),
      conversation(id) {
        const known = conversations.get(id) ?? new Conversation(sql, id, quarantine);
        conversations.set(id, known);
        return known;
      },
      broadcast: (frame) => connections.broadcastProtocol(frame)
    });
  }

  #openAssembly(): Assembly {
    return new Assembly({
      overrides: this.overrides,
      sdk: installedSdk(),
      features: this.features,
      sessionPrompt: () => contextPrompt(this.session),
      peekedPrompt: () => contextPrompt({ promptSections: () => this.session.peekPromptSections() }),
      wholeMessage: (messageId) => this.parts.transcript.get(messageId),
      overflow: {
        compact: (turn, attempt) => this.hooks.compact(turn, attempt, "proactive"),
        path: (leafId) => this.parts.transcript.path(leafId),
        has: (messageId) => this.parts.transcript.has(messageId)
      }
    });
  }

  #openHooks(): UserTurnHooks {
    const { features } = this;
    const overrides = this.overrides;
    const { isOverridden, repairPart } = this.#init;
    return new UserTurnHooks({
      overrides,
      features,
      assembly: this.#assembly,
      isOverridden,
      runAs: (origin, work) => this.agent.runAs({ connection: connectionOf(origin) }, work),
      isInside: () => getCurrentAgent().agent === this.agent.agent,
      recovery: new RecoveryHooks({
        overrides,
        messages: () => [...this.parts.transcript.messages()],
        repairPart,
        settledPart: (part, requestId) => features.settledPart(part, requestId)
      }),
      compact: (event, leafId) => this.overflow.compact(event, leafId),
      prepare: () => (this.session.hasThreshold ? this.session.compactIfDue() : undefined),
      now: () => this.agent.clock.now(),
      isDevelopment: () => isDevelopment(this.#init.env),
      agentName: () => this.agent.label
    });
  }

  #openParts(): ThinkParts {
    const { agent, features, session } = this;
    const { store } = session;
    if (!store) throw new CustomSessionError();
    const { conversation, host } = store.scope;
    const deferred = new DeferredTurns({
      agent,
      overrides: this.overrides,
      isOverridden: this.#init.isOverridden,
      blobs: host.blobs,
      turns: () => turns,
      degrade: (step, error) => this.degrade(step, error)
    });
    const journal = openJournal({
      sql: agent.sql,
      blobs: host.blobs,
      conversation,
      setAside: agent.quarantine,
      archive: deferred.submissions,
      now: () => agent.clock.now()
    });
    store.scope.log = journal.history;
    const idempotency = new Idempotency(agent.sql);
    const transcript: StoredTranscript = new StoredTranscript({
      store,
      idempotency,
      budgetBytes: () => this.overrides.hydrationByteBudget,
      announce: () => turns.announceTranscript(),
      onFailure: (error) => this.degrade("transcript-hydration", error),
      repairPart: (part) => this.hooks.repairPart(part),
      onClear: () => features.cleared(),
      noteUsage: (messageId, usage) => noteUsage(session, messageId, usage),
      emit: (type, payload) => agent.emit(type, payload)
    });
    const onGiveUp = () => deferred.submissions.skipWaiting();
    const turns: TurnEngine = this.#openEngine({ conversation, journal, transcript, idempotency, onGiveUp });
    this.#evictMedia(store);
    const parts = { store, journal, transcript, turns, deferred };
    this.#joinAgent(parts);
    return parts;
  }

  #openEngine(
    stores: Pick<
      ConstructorParameters<typeof TurnEngine>[0],
      "conversation" | "journal" | "transcript" | "idempotency" | "onGiveUp"
    >
  ): TurnEngine {
    const { agent, hooks } = this;
    return new TurnEngine({
      ...stores,
      hooks,
      sdk: installedSdk(),
      clock: agent.clock,
      ids: agent.ids,
      emit: (type, payload) => agent.emit(type, payload),
      durable: async () => {
        await agent.lifecycle.durable();
        // workerd commits without a look at its sockets; it looks at them before a timer.
        await agent.clock.sleep(0);
      },
      background: (work) => agent.background(work),
      keepAlive: (work) => agent.keepAlive.whileActive(work),
      turnEnded: () => this.#sweep(stores.journal)
    });
  }

  /** On a full disk nothing can be deleted, and everything else must go on. */
  #sweep(journal: Journal): void {
    try {
      journal.retention.sweepDue(this.agent.clock.now());
    } catch (error) {
      console.error(`${this.agent.label} could not delete records that are past their time:`, error);
    }
  }

  /** Wakes, requests, frames and the end of the start. */
  #joinAgent({ store, journal, transcript, turns }: ThinkParts): void {
    const { agent, features, hooks } = this;
    agent.wakes.add(() => journal.retention.nextWakeAt());
    agent.wakes.add((nowMs) => turns.nextWake(nowMs, agent.options.keepAliveIntervalMs));
    agent.wakes.add((nowMs) => features.nextWake(nowMs));
    agent.extensions.push(
      this.messengerAccess,
      features.extension(),
      ...chatExtensions({
        runtime: agent,
        turns,
        reconciler: postedMessages({ store, turns, transcript, newId: () => agent.ids.next() }),
        clock: agent.clock,
        describeFailure: (error, context) => hooks.describeFailure(error, context),
        concurrency: () => this.overrides.messageConcurrency,
        emit: (type, payload) => agent.emit(type, payload),
        atomically: (work) => store.scope.conversation.transaction(work),
        messages: () => turns.transcript(),
        changes: store.scope.changes,
        sweep: () => this.#sweep(journal),
        plain: {
          settings: () => this.overrides,
          hasConnectHook: () => this.#init.isOverridden("onConnect")
        }
      }),
      { ready: () => turns.resume(), runDue: async () => turns.runDue() }
    );
    turns.listen({ settled: (turn, outcome) => features.settled(turn, outcome) });
  }

  #evictMedia(store: MessageStore): void {
    const { agent, features } = this;
    const overrides = this.overrides;
    const preserve = preserveAsFile(overrides);
    new MediaEvictor({
      store,
      options: overrides.mediaEviction,
      ...(preserve && { preserve }),
      keeps: (call) => features.keptOutputs(overrides.historyTruncation.wholeOutputs)(call) !== undefined,
      defer: (work) => agent.background(agent.clock.sleep(0).then(work)),
      onEvicted: (summary) => agent.emit("chat:media:evicted", { ...summary })
    });
  }

  #featureHost(): FeatureHost {
    const { agent } = this;
    const { store, journal, transcript, turns } = this.parts;
    const { conversation } = store.scope;
    const sdk = installedSdk();
    return {
      agent: agent.agent,
      env: this.#init.env,
      overrides: this.overrides,
      isOverridden: this.#init.isOverridden,
      sql: agent.sql,
      blobs: store.scope.host.blobs,
      clock: agent.clock,
      ids: agent.ids,
      quarantine: agent.quarantine,
      emit: (type, payload) => agent.emit(type, payload),
      turns,
      conversation: new LateOutcomes({ conversation, journal, transcript, turns, newId: () => agent.ids.next() }),
      messengers: () => this.channels.messengers,
      validate: (schema, value) => sdk.validateInput(schema, value),
      inAgent: (work) => agent.keepAlive.while(() => agent.runAs({}, work)),
      background: (work) => agent.background(work),
      rearm: () => void agent.wakes.rearm(),
      actionFailed: (error, call) => this.hooks.actionFailed(error, call),
      broadcast: (frame) => agent.connections.broadcastProtocol(JSON.stringify(frame))
    };
  }
}

const runtimes = new WeakMap<object, ThinkRuntime>();

export function provideRuntime(agent: ThinkAgent, init: ThinkRuntimeInit): void {
  runtimes.set(agent, new ThinkRuntime(agent, init));
}

/** The runtime of a Think, for the package's own modules; user code has no name for it. */
export function thinkRuntimeOf(agent: object): ThinkRuntime {
  const runtime = runtimes.get(agent);
  if (!runtime) throw new TypeError("Not a Think.");
  return runtime;
}

/** The client behind a turn's origin, for `getCurrentAgent()` in hooks and tools; undefined if it was no client. */
function connectionOf(origin: unknown): Connection | undefined {
  const client = origin instanceof OtherClient ? origin.key : origin;
  return client instanceof Connection ? client : undefined;
}

/** What the provider counted is the one number that says when to compact. */
function noteUsage(session: Session, messageId: string, { inputTokens, outputTokens }: CountedTokens): void {
  if (inputTokens === undefined) return;
  session.noteUsage({ messageId, inputTokens, ...(outputTokens !== undefined && { outputTokens }) });
}

const EXPLAINED_TURN = {
  turnId: "",
  requestId: "",
  messageId: "",
  attempt: 0,
  trigger: "programmatic",
  continuation: false,
  generation: 0,
  origin: undefined
} as const;
