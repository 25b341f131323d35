// The inside of a `Think`: what every conversation is made of (stored transcript, journal, turn engine, chat protocol),
// its features, and its start. The class holds the public names and hands everything here.
import type { UIMessage } from "ai";
import { Connection } from "../host/connection.ts";
import { currentDurable, currentContext } from "../agent/context.ts";
import { runtimeOf, type AgentRuntime } from "../agent/runtime.ts";
import { getMessagesResponse, isGetMessagesRequest, OtherClient } from "../wire/index.ts";
import { Blobs } from "../host/blobs.ts";
import { Conversation } from "../journal/conversation.ts";
import { openJournal, type Journal } from "../journal/journal.ts";
import { installedSdk } from "../model/index.ts";
import { MediaEvictor } from "../session/media-evictor.ts";
import type { MessageStore } from "../session/message-store.ts";
import { provideSessionHost } from "../session/session-host.ts";
import { Session, type SessionAgent } from "../session/session.ts";
import { moveOriginalSession } from "../session/take-over.ts";
import { TurnEngine } from "../turn/engine.ts";
import { Idempotency } from "../session/idempotency.ts";
import { Assembly } from "./assemble.ts";
import type { AddMessagesOptions, ChatServices, TurnPreview } from "../feature/services.ts";
import { TurnFeatures } from "../feature/turn-features.ts";
import { chatFeature, type ChatFeature } from "./chat-protocol.ts";
import { readConfig } from "../agent/config.ts";
import { viewWithoutAdmission } from "../turn/turn.ts";
import { ContextOverflow } from "./context-overflow.ts";
import { contextFeature, contextPrompt } from "./context-tools.ts";
import { featureErrors } from "../feature/errors.ts";
import type { Features } from "../feature/features.ts";
import { LateOutcomes } from "../turn/late-outcomes.ts";
import type { Overrides } from "./overrides.ts";
import { postedMessages } from "./posted-messages.ts";
import { keyId, Programmatic } from "./programmatic.ts";
import type { PromptExplanation } from "../feature/prompt-explanation.ts";
import { RecoveryHooks } from "./chat-recovery.ts";
import { hasPendingInteraction, untilStable } from "./stability.ts";
import { StoredTranscript, type CountedTokens } from "../session/transcript.ts";
import { summarize } from "./summarize.ts";
import { UserTurnHooks } from "./turn-hooks.ts";
import { checkJson, checkMessages, type MessagesInput } from "../feature/turn-input.ts";
import { allowsPrivateNames } from "../util/inside-address.ts";

/** What this module uses of the class. */
export interface ThinkAgent extends Overrides, SessionAgent {
  configureSession(session: Session): Session | Promise<Session>;
}

/** What only the class itself can give. */
export interface ThinkRuntimeInit {
  /** Whether the class has a hook of its own. */
  readonly isOverridden: (hook: string) => boolean;
  /** Its `repairInterruptedToolPart`, which is protected. */
  readonly repairPart: (part: UIMessage["parts"][number]) => UIMessage["parts"][number];
}

/** What a conversation is made of. Opened once `configureSession` has said which one it is. */
interface ThinkParts {
  readonly store: MessageStore;
  readonly journal: Journal;
  readonly transcript: StoredTranscript;
  readonly turns: TurnEngine;
}

export class ThinkRuntime {
  readonly agent: AgentRuntime;
  readonly hooks: UserTurnHooks;
  readonly overflow: ContextOverflow;
  readonly features: Features;
  readonly turnFeatures: TurnFeatures;
  readonly overrides: ThinkAgent;
  readonly assembly: Assembly;
  readonly recoveryHooks: RecoveryHooks;
  readonly #init: ThinkRuntimeInit;
  #session: Session | undefined;
  #parts: ThinkParts | undefined;
  #programmatic: Programmatic | undefined;

  constructor(overrides: ThinkAgent, init: ThinkRuntimeInit) {
    this.overrides = overrides;
    this.#init = init;
    this.agent = runtimeOf(overrides);
    this.#provideSession();
    this.overflow = new ContextOverflow(this);
    this.features = this.agent.features;
    this.turnFeatures = new TurnFeatures(this.features);
    this.assembly = this.#openAssembly();
    this.recoveryHooks = this.#openRecoveryHooks();
    this.hooks = new UserTurnHooks(this);
    this.agent.conversation = this;
    this.features.add(
      {
        name: "conversation",
        start: () => this.start(),
        respond: (request) =>
          isGetMessagesRequest(request) ? getMessagesResponse(request, () => this.parts.turns.transcript()) : undefined
      },
      "conversation"
    );
  }

  /** What `configureSession` returned. */
  get session(): Session {
    if (!this.#session) throw featureErrors.NotStartedError(this.overrides.constructor.name);
    return this.#session;
  }

  /** Looked up when they are needed: they need the hooks, and the hooks need them. */
  get parts(): ThinkParts {
    return (this.#parts ??= this.#openParts());
  }

  /** Whether the class has a hook of its own. */
  isOverridden(hook: string): boolean {
    return this.#init.isOverridden(hook);
  }

  /** Runs `work` in the agent's context, with the connection behind `origin`. */
  runAs<T>(origin: unknown, work: () => T): T {
    return this.agent.runAs({ connection: connectionOf(origin) }, work);
  }

  /** The agent's context is current. */
  isInside(): boolean {
    return currentContext().agent === this.agent.agent;
  }

  /** The part of a start that comes before interrupted turns and the user's `onStart`. A throw of user code fails it. */
  async start(): Promise<void> {
    if (this.#parts) return;
    this.#session = await this.overrides.configureSession(Session.create(this.overrides));
    this.#session.summarizesWith((prompt) => this.#summarize(prompt));
    // Opened now: clients may connect as soon as the agent is up.
    void this.parts;
    this.features.add(contextFeature(this.session), "conversation");
  }

  #summarize(prompt: string): Promise<string> {
    return summarize(prompt, {
      sdk: installedSdk(),
      models: this.overrides.getModel(),
      resolveModel: (id) => this.overrides.resolveModel(id),
      meter: this.features.role("budgets")?.meter,
      clock: this.agent.clock
    });
  }

  /** An event of any kind has reached the agent, which is up. Records that are past their time go before it can see them. */
  entered(): void {
    this.#sweep(this.parts.journal);
  }

  stash(data: unknown): void {
    this.parts.turns.stash(checkJson(data));
  }

  /** A recovery hook runs before `onStart`. A turn that it starts must not: it waits for the end of the start. */
  startTurn<T>(call: (turns: Programmatic) => Promise<T>): Promise<T> {
    const isTooEarly = currentDurable() !== undefined && !this.agent.activation.isStarted;
    return isTooEarly ? this.agent.untilStarted().then(() => call(this.programmatic)) : call(this.programmatic);
  }

  get programmatic(): Programmatic {
    const { turns, transcript } = this.parts;
    const { agent, hooks, turnFeatures } = this;
    return (this.#programmatic ??= new Programmatic({ turns, transcript, ids: agent.ids, hooks, turnFeatures }));
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
    const isAdded = transcript.add(checked, { ...chain, idempotencyId });
    if (isAdded && broadcast && turns.streaming() === undefined) transcript.announce();
  }

  /** For a turn that does not run: the tools the client described last are part of it. */
  async explainPrompt(channel: string | undefined): Promise<PromptExplanation> {
    return (await this.previewTurn(channel, [])).explanation;
  }

  /** What a turn with this history would be given now. Nothing is stored. */
  previewTurn(channel: string | undefined, history: readonly UIMessage[]): Promise<TurnPreview> {
    const { turns } = this.parts;
    const asked = { body: turns.body, channel, clientTools: turns.clientTools };
    const turn = viewWithoutAdmission({ turnId: "", requestId: "", trigger: "programmatic", generation: 0, ...asked });
    return this.assembly.preview(turn, history);
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
        return agent.storageLabel;
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
      features: this.turnFeatures,
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

  #openRecoveryHooks(): RecoveryHooks {
    return new RecoveryHooks({
      overrides: this.overrides,
      messages: () => [...this.parts.transcript.messages()],
      repairPart: this.#init.repairPart,
      settledPart: (part, requestId) => this.turnFeatures.settledPart(part, requestId)
    });
  }

  #openParts(): ThinkParts {
    const { agent, session } = this;
    const features = this.turnFeatures;
    const { store } = session;
    if (!store) throw featureErrors.CustomSessionError();
    const { conversation, host } = store.scope;
    const journal = openJournal({
      sql: agent.sql,
      blobs: host.blobs,
      conversation,
      setAside: agent.quarantine,
      archive: () => features.archive(),
      now: () => agent.clock.now()
    });
    store.scope.log = journal.history;
    const idempotency = new Idempotency(agent.sql);
    const transcript: StoredTranscript = new StoredTranscript({
      store,
      idempotency,
      budgetBytes: () => this.overrides.hydrationByteBudget,
      announce: () => turns.announceTranscript(),
      onFailure: (error) => this.agent.degrade("transcript-hydration", error),
      repairPart: (part) => this.hooks.repairPart(part),
      onClear: () => features.cleared(),
      noteUsage: (messageId, usage) => noteUsage(session, messageId, usage),
      emit: (type, payload) => agent.emit(type, payload)
    });
    const onGiveUp = () => features.gaveUp();
    const turns: TurnEngine = this.#openEngine({ conversation, journal, transcript, idempotency, onGiveUp });
    this.#evictMedia(store);
    const parts = { store, journal, transcript, turns };
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
      allowsPrivateNames: allowsPrivateNames(agent.env),
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
      console.error(`${this.agent.storageLabel} could not delete records that are past their time:`, error);
    }
  }

  /** Wakes, frames and the end of the start. */
  #joinAgent(parts: ThinkParts): void {
    const { store, journal, transcript, turns } = parts;
    const { agent, features, hooks } = this;
    agent.wakes.add(() => journal.retention.nextWakeAt());
    agent.wakes.add((nowMs) => turns.nextWake(nowMs, agent.options.keepAliveIntervalMs));
    const chat = chatFeature({
      runtime: agent,
      turns,
      reconciler: postedMessages({ store, turns, transcript, ids: agent.ids }),
      clock: agent.clock,
      describeFailure: (error, context) => hooks.describeFailure(error, context),
      concurrency: () => this.overrides.messageConcurrency,
      steering: (sender, fields) => features.role("steering")?.(sender, fields),
      emit: (type, payload) => agent.emit(type, payload),
      atomically: (work) => store.scope.conversation.transaction(work),
      changes: store.scope.changes
    });
    features.serve(this.#services(parts, chat));
    features.add(chat, "last");
    features.add({ name: "turns", ready: () => turns.resume(), runDue: async () => turns.runDue() }, "last");
    turns.listen({ settled: (turn, outcome) => this.turnFeatures.settled(turn, outcome) });
  }

  #evictMedia(store: MessageStore): void {
    const { agent, turnFeatures: features } = this;
    const overrides = this.overrides;
    new MediaEvictor({
      store,
      options: overrides.mediaEviction,
      get preserve() {
        return features.preserve();
      },
      keeps: (call) => features.keptOutputs(overrides.historyTruncation.wholeOutputs)(call) !== undefined,
      defer: (work) => agent.background(agent.clock.sleep(0).then(work)),
      onEvicted: (summary) => agent.emit("chat:media:evicted", { ...summary })
    });
  }

  #services({ store, journal, transcript, turns }: ThinkParts, chat: ChatFeature): ChatServices {
    const { agent, overrides, session } = this;
    const { conversation } = store.scope;
    const sdk = installedSdk();
    return {
      agent: agent.agent,
      env: agent.env,
      features: this.features,
      overrides,
      isOverridden: this.#init.isOverridden,
      sql: agent.sql,
      blobs: store.scope.host.blobs,
      clock: agent.clock,
      ids: agent.ids,
      quarantine: agent.quarantine,
      session,
      store,
      journal,
      transcript,
      turns,
      conversation: new LateOutcomes(turns, { conversation, journal, transcript, ids: agent.ids }),
      emit: (type, payload) => agent.emit(type, payload),
      validate: (schema, value) => sdk.validateInput(schema, value),
      inAgent: (work) => agent.inAgent(work),
      background: (work) => agent.background(work),
      report: (error) => agent.report(error),
      rearm: () => agent.rearm(),
      degrade: (step, error) => agent.degrade(step, error),
      broadcast: (frame) => agent.broadcast(frame),
      assertCallerMayChange: () => agent.assertCallerMayChange(),
      actionFailed: (error, call) => this.hooks.actionFailed(error, call),
      addMessages: (messages, options) => this.addMessages(messages, options),
      previewTurn: (channel, history) => this.previewTurn(channel, history),
      submitCommand: chat.submitCommand,
      config: () => readConfig(agent),
      ownFeatures: () => overrides.getFeatures()
    };
  }
}

/** The conversation of an agent, for the package's own modules; user code has no name for it. */
export function thinkRuntimeOf(agent: object): ThinkRuntime {
  const { conversation } = runtimeOf(agent);
  if (!(conversation instanceof ThinkRuntime)) throw new TypeError("Not a Think.");
  return conversation;
}

/** The client behind a turn's origin, for `getCurrentAgent()` in hooks and tools; undefined if it was no client. */
function connectionOf(origin: unknown): Connection | undefined {
  const client = origin instanceof OtherClient ? origin.key : origin;
  return client instanceof Connection ? client : undefined;
}

/** What the provider counted is the one number that says when to compact. */
function noteUsage(session: Session, messageId: string, { inputTokens, outputTokens }: CountedTokens): void {
  if (inputTokens === undefined) return;
  session.noteUsage({ messageId, inputTokens, outputTokens });
}
